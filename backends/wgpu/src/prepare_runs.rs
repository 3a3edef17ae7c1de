//! Runs of equal keys in buffers on the caller's device, for the caller's command encoders.

use crate::ask::Ask;
use crate::bind::{Part, invalid};
use crate::prepared::Prepared;
use crate::sorter::{DeviceSorter, bits};
use crate::wait::{Waiting, blocking};
use polysort_core::{Error, MaskKey, Spec};
use polysort_shaders::plan::{Buffer as Role, FindRuns, Place, Request};

/// The buffers to which a device writes the runs of equal keys that it finds. Each needs the usage `STORAGE`.
///
/// In the sizes below, `max` is the maximum of the [`Ask`](crate::Ask): the search gets at most so many keys, and finds at most so many runs.
#[derive(Clone, Copy, Debug)]
pub struct RunBuffers<'a> {
    count: Part<'a>,
    unique: Option<Part<'a>>,
    offsets: Option<Part<'a>>,
    lengths: Option<Part<'a>>,
}

impl<'a> RunBuffers<'a> {
    /// Writes the number of runs to the first word of `count`, as a `u32`.
    ///
    /// A sort of segments can take this number from there: with [`Ask::counted_by`] and the index of the word in its
    /// buffer.
    pub fn counted_in(count: impl Into<Part<'a>>) -> Self {
        Self { count: count.into(), unique: None, offsets: None, lengths: None }
    }

    /// Also writes the first key of each run, with all of its bits. The buffer has room for `max` keys.
    #[must_use]
    pub fn unique(self, keys: impl Into<Part<'a>>) -> Self {
        Self { unique: Some(keys.into()), ..self }
    }

    /// Also writes the index of the first key of each run, and after the last one the number of keys. The buffer has room
    /// for `max + 1` numbers of type `u32`. [`Ask::segments`] takes it as it is.
    #[must_use]
    pub fn offsets(self, offsets: impl Into<Part<'a>>) -> Self {
        Self { offsets: Some(offsets.into()), ..self }
    }

    /// Also writes the number of keys of each run. The buffer has room for `max` numbers of type `u32`.
    #[must_use]
    pub fn lengths(self, lengths: impl Into<Part<'a>>) -> Self {
        Self { lengths: Some(lengths.into()), ..self }
    }

    /// Returns the buffer in a role.
    fn part(&self, role: Role) -> Option<Part<'a>> {
        match role {
            Role::RunCount => Some(self.count),
            Role::Unique => self.unique,
            Role::RunOffsets => self.offsets,
            Role::RunLengths => self.lengths,
            _ => None,
        }
    }
}

/// The roles of the outputs.
const OUTPUTS: [Role; 4] = [Role::RunCount, Role::Unique, Role::RunOffsets, Role::RunLengths];

impl DeviceSorter {
    /// Prepares to find the runs of equal neighboring keys. In sorted keys, each run has all keys of one value.
    ///
    /// Keys are equal if they have the same bits in the range of bits of `ask`; its order does not matter. The device
    /// writes the runs to the buffers of `runs`, and their number too, so the host need not read it. The keys stay as they
    /// are. The rest of each buffer stays as it is.
    ///
    /// The buffers may be parts of one buffer, if these parts do not overlap. The device reads each key once, and looks back
    /// over the runs of earlier keys (decoupled look-back: Merrill and Garland, 2016). Keys of 8 and 16 bits that are
    /// written to `unique` are read once more.
    ///
    /// ```no_run
    /// # fn demo(sorter: &polysort_wgpu::DeviceSorter, encoder: &mut wgpu::CommandEncoder, cells: &wgpu::Buffer, depths: &wgpu::Buffer,
    /// #     offsets: &wgpu::Buffer, count: &wgpu::Buffer) -> Result<(), polysort_core::Error> {
    /// use polysort_wgpu::{Ask, Count, RunBuffers};
    ///
    /// // `cells` are sorted. Sorts the depths of each cell.
    /// const MAX: u32 = 1_000_000;
    /// let runs = sorter.prepare_runs::<u32>(cells, RunBuffers::counted_in(count).offsets(offsets), Ask::up_to(MAX))?;
    /// let ask = Ask::up_to(MAX).segments(offsets, MAX).counted_by(count, 0);
    /// let sort = sorter.prepare_sort::<f32>(depths, ask)?;
    /// runs.record_in(encoder, Count::Fixed(900_000))?;
    /// sort.record_in(encoder, Count::OnDevice)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::InvalidBuffer`] if a buffer is too small, lacks a usage, does not start at a multiple of 4 bytes, or overlaps
    ///   another one, or if the count of `ask` lies in a buffer of `runs`.
    /// - [`Error::Unsupported`] if `ask` has segments or [wide indices](Ask::wide_indices).
    /// - The other errors of [`prepare_sort`](DeviceSorter::prepare_sort).
    pub fn prepare_runs<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        runs: RunBuffers<'a>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        blocking(self.prepare_run_buffers::<K>(Waiting::Here, keys.into(), runs, ask))
    }

    /// Async variant of [`prepare_runs`](DeviceSorter::prepare_runs).
    ///
    /// # Errors
    /// The same as those of [`prepare_runs`](DeviceSorter::prepare_runs).
    pub async fn prepare_runs_async<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        runs: RunBuffers<'a>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        self.prepare_run_buffers::<K>(Waiting::Elsewhere, keys.into(), runs, ask).await
    }

    async fn prepare_run_buffers<K: MaskKey>(
        &self,
        waiting: Waiting,
        keys: Part<'_>,
        runs: RunBuffers<'_>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        if ask.segments.is_some() {
            return Err(Error::Unsupported { what: "a search for runs in segments; search all keys".into() });
        }
        let place = |role| runs.part(role).map(|part| part.place(self.gpu(), role)).transpose();
        let outputs = FindRuns {
            count: runs.count.place(self.gpu(), Role::RunCount)?,
            unique: place(Role::Unique)?,
            offsets: place(Role::RunOffsets)?,
            lengths: place(Role::RunLengths)?,
        };
        let keys_place: Place = keys.place(self.gpu(), Role::Keys)?;
        let request = Request::keys(bits::<K>(), Spec::of_masks::<K>(ask.options)?, ask.max.into()).find_runs(outputs);
        let key_bytes = u64::from(ask.max) * size_of::<K>() as u64;
        let bytes = |role| request.run_output(role).map_or(0, |(_, bytes)| bytes);
        let mut parts = vec![(Role::Keys, keys, key_bytes)];
        parts.extend(OUTPUTS.into_iter().filter_map(|role| Some((role, runs.part(role)?, bytes(role)))));
        let mut aliased = false;
        for (i, (role, part, bytes)) in parts.iter().enumerate() {
            for (other_role, other, other_bytes) in &parts[..i] {
                if part.overlaps(*bytes, other, *other_bytes) {
                    let why = format!("{role:?} and {other_role:?} overlap; give them ranges of their own");
                    return Err(invalid(why));
                }
                aliased |= part.buffer == other.buffer;
            }
        }
        if ask.count.is_some_and(|(count, _)| parts[1..].iter().any(|(_, part, _)| part.buffer == count)) {
            return Err(invalid("the count lies in a buffer that receives the runs; give it one of its own".into()));
        }
        // The plan refuses them.
        let wide_indices = ask.wide_indices.then(Place::default);
        let request = Request { keys: keys_place, aliased, algorithm: ask.algorithm, wide_indices, ..request };
        let callers = |role| if role == Role::Keys { Some(keys) } else { runs.part(role) };
        self.prepare_on(waiting, request, ask.count, &callers).await
    }
}
