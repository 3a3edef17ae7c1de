//! Indices of 64 bits.
//!
//! ```text
//! …               an argsort or a selection writes indices of 32 bits to scratch
//! widen_indices   writes each of them as a number of 64 bits to the caller's buffer
//! ```
//!
//! If a sort of the selected keys follows a selection, the sort moves the numbers of 64 bits in the caller's buffer.

use super::builder::Builder;
use super::command::{Buffer, COUNT_DIGITS, Groups, Number, fixed_digits};
use super::kernel_shape::KernelShape;
use super::request::{Payload, Place, Request};
use super::tuning::{COPY_GROUPS, COPY_TILE};
use polysort_core::Error;

/// Words of an index of 64 bits.
const INDEX_WORDS: u32 = 2;

/// Indices that a workgroup writes at a time.
const INDEX_TILE: u32 = COPY_TILE / INDEX_WORDS;

impl Request {
    /// Returns this request with indices of 64 bits. The first is at `place` in its binding.
    #[must_use]
    pub fn with_wide_indices(self, place: Place) -> Self {
        Self { wide_indices: Some(place), ..self }
    }

    /// Returns the words of 32 bits of a value, or of an index, in the caller's buffer.
    pub fn value_words(&self) -> u32 {
        if self.wide_indices.is_some() { INDEX_WORDS } else { self.payload.words() }
    }

    /// Returns the caller's buffer of values, or of indices.
    pub fn value_buffer(&self) -> Buffer {
        if self.wide_indices.is_some() { Buffer::WideIndices } else { Buffer::Values }
    }

    /// Checks that a request with indices of 64 bits writes indices.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it writes none.
    pub fn check_writes_indices(&self) -> Result<(), Error> {
        if self.wide_indices.is_some() && self.payload != Payload::Indices {
            return Err(Error::Unsupported { what: "indices of 64 bits of a request that writes no indices".into() });
        }
        Ok(())
    }

    /// Fails if the request has indices of 64 bits, but writes none, or more than fit a binding. The indices of 32 bits
    /// start at the begin of the scratch.
    pub(super) fn check_wide_indices(&self, max_binding: u64) -> Result<(), Error> {
        self.check_writes_indices()?;
        if self.wide_indices.is_none() {
            return Ok(());
        }
        if self.values != Place::default() {
            return Err(Error::Unsupported { what: "an offset of values beside indices of 64 bits".into() });
        }
        let (asked, limit) = (self.results(), max_binding / u64::from(4 * INDEX_WORDS));
        if asked <= limit {
            return Ok(());
        }
        Err(Error::TooLong { what: "the device, as a number of indices of 64 bits".into(), asked, limit })
    }
}

impl Builder<'_> {
    /// Adds the launch that writes indices of 64 bits, if the request has them.
    pub(super) fn widen_indices(&mut self) {
        let request = self.plan.request;
        let Some(to) = request.wide_indices else { return };
        let at_most = |of: u32| Groups::AtMost { most: COPY_GROUPS, of, team: 1 };
        let (count, groups) = match request.top {
            Some(top) if top.segmented => (COUNT_DIGITS, at_most((INDEX_TILE / top.k).max(1))),
            Some(top) => (fixed_digits(top.k), Groups::Fixed(top.k.div_ceil(INDEX_TILE).min(COPY_GROUPS))),
            // An argsort of segments writes an index for each key, also for those in no segment.
            None if request.segments.is_some() => (fixed_digits(request.max as u32), at_most(INDEX_TILE)),
            None => (COUNT_DIGITS, at_most(INDEX_TILE)),
        };
        let segmented = request.top.is_some_and(|top| top.segmented);
        let variant = self.shapes.plain(KernelShape::WidenIndices { segmented });
        let numbers = count.into_iter().chain([Number::Is(to.first)]);
        let mut bindings = vec![Buffer::Number; COUNT_DIGITS.len() + 1];
        bindings.extend([Buffer::Sort, Buffer::Count, Buffer::Values, Buffer::WideIndices]);
        self.push(variant, bindings, numbers, groups);
    }
}
