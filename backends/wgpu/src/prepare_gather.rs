//! Gathers of elements by indices on the caller's device, for the caller's command encoders.

use crate::ask::Ask;
use crate::bind::{Part, invalid};
use crate::prepared::Prepared;
use crate::sorter::DeviceSorter;
use crate::wait::{Waiting, blocking};
use bytemuck::Pod;
use polysort_core::{Error, Spec};
use polysort_shaders::plan::{Buffer as Role, Gather, Place, Request};

/// The elements that a gather reads: where they start, and how many there are.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The elements. The buffer needs the usage `STORAGE`.
    pub elements: Part<'a>,
    /// The number of elements.
    pub len: u32,
}

impl DeviceSorter {
    /// Prepares to gather elements of type `T`: `to[i] = column[indices[i]]`. An element has 1 or 2 bytes, or a multiple of 4 bytes up to 4096.
    ///
    /// The indices are numbers of type `u32`, for example the result of an argsort or a selection. Their number
    /// is the [`Count`](crate::Count) of the recording, at most the maximum of `ask`. The direction and the bits of `ask` do
    /// not matter. Indices may occur several times. An index that is not below `column.len` gives an element of zeros; the
    /// device reads nothing outside the column. The bytes of `to` after the gathered elements stay as they are.
    ///
    /// To gather several columns by one permutation, prepare a gather for each, and record them one after the other. The
    /// column, the indices and `to` may be parts of one buffer, if `to` overlaps none of the others.
    ///
    /// ```no_run
    /// # fn demo(sorter: &polysort_wgpu::DeviceSorter, encoder: &mut wgpu::CommandEncoder, keys: &wgpu::Buffer, order: &wgpu::Buffer,
    /// #     colors: &wgpu::Buffer, places: &wgpu::Buffer, sorted: [&wgpu::Buffer; 2]) -> Result<(), polysort_core::Error> {
    /// use polysort_wgpu::{Ask, Column, Count};
    ///
    /// const LEN: u32 = 1_000_000;
    /// let ask = Ask::up_to(LEN);
    /// let argsort = sorter.prepare_argsort::<f32>(keys, order, ask)?;
    /// let (colors, places) = (Column { elements: colors.into(), len: LEN }, Column { elements: places.into(), len: LEN });
    /// let colors = sorter.prepare_gather::<u16>(colors, order, sorted[0], ask)?;
    /// let places = sorter.prepare_gather::<[f32; 3]>(places, order, sorted[1], ask)?;
    /// for step in [&argsort, &colors, &places] {
    ///     step.record_in(encoder, Count::Fixed(LEN))?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::InvalidBuffer`] if a buffer is too small, lacks a usage, or does not start at a multiple of 4 bytes, if `to`
    ///   overlaps another buffer, or if the count of `ask` lies in the buffer of `to`.
    /// - [`Error::Unsupported`] for elements of another size, or if `ask` has segments or [wide indices](Ask::wide_indices).
    /// - The other errors of [`prepare_sort`](DeviceSorter::prepare_sort).
    pub fn prepare_gather<'a, T: Pod>(
        &self,
        column: Column<'a>,
        indices: impl Into<Part<'a>>,
        to: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        blocking(self.prepare_column::<T>(Waiting::Here, column, indices.into(), to.into(), ask))
    }

    /// Async variant of [`prepare_gather`](DeviceSorter::prepare_gather).
    ///
    /// # Errors
    /// The same as those of [`prepare_gather`](DeviceSorter::prepare_gather).
    pub async fn prepare_gather_async<'a, T: Pod>(
        &self,
        column: Column<'a>,
        indices: impl Into<Part<'a>>,
        to: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        self.prepare_column::<T>(Waiting::Elsewhere, column, indices.into(), to.into(), ask).await
    }

    async fn prepare_column<T: Pod>(
        &self,
        waiting: Waiting,
        column: Column<'_>,
        indices: Part<'_>,
        to: Part<'_>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        if ask.segments.is_some() {
            return Err(Error::Unsupported { what: "a gather in segments; gather by all indices".into() });
        }
        let Column { elements, len } = column;
        let bytes = |count: u32, size: usize| u64::from(count) * size as u64;
        let (to_bytes, size) = (bytes(ask.max, size_of::<T>()), size_of::<T>());
        for (name, part, bytes) in [("elements", elements, bytes(len, size)), ("indices", indices, bytes(ask.max, 4))] {
            if to.overlaps(to_bytes, &part, bytes) {
                return Err(invalid(format!("the result of the gather overlaps the {name}; give it a range of its own")));
            }
        }
        if ask.count.is_some_and(|(count, _)| count == to.buffer) {
            return Err(invalid("the count lies in the buffer of the result; give it one of its own".into()));
        }
        let gather = Gather {
            element_bytes: u32::try_from(size).unwrap_or(u32::MAX),
            elements: len,
            from: elements.place(self.gpu(), Role::GatherFrom)?,
            to: to.place(self.gpu(), Role::GatherTo)?,
        };
        let request = Request {
            keys: indices.place(self.gpu(), Role::Keys)?,
            aliased: to.buffer == elements.buffer || to.buffer == indices.buffer,
            algorithm: ask.algorithm,
            // The plan refuses it.
            wide_indices: ask.wide_indices.then(Place::default),
            ..Request::keys(u32::BITS, Spec::unsigned::<u32>(), ask.max.into()).gather(gather)
        };
        let callers = |role| match role {
            Role::Keys => Some(indices),
            Role::GatherFrom => Some(elements),
            Role::GatherTo => Some(to),
            _ => None,
        };
        self.prepare_on(waiting, request, ask.count, &callers).await
    }
}
