//! `MergeAsk`: the request for a merge that a caller makes to a [`DeviceSorter`](crate::DeviceSorter).

use polysort_core::Options;
use wgpu::Buffer;

/// A request for a prepared merge: the largest numbers of keys of both runs, the order, and where the numbers come from.
#[derive(Clone, Copy, Debug)]
pub struct MergeAsk<'a> {
    pub(crate) max: [u32; 2],
    pub(crate) options: Options,
    pub(crate) counts: [Option<(&'a Buffer, u32)>; 2],
    pub(crate) keys_per_thread: Option<u32>,
}

impl<'a> MergeAsk<'a> {
    /// Requests a merge of a first run of up to `first` keys and a second run of up to `second` keys, in ascending order, by
    /// all bits.
    pub fn up_to(first: u32, second: u32) -> Self {
        Self { max: [first, second], options: Options::ascending(), counts: [None; 2], keys_per_thread: None }
    }

    /// Sets the order and the window of bits by which the runs are sorted.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Takes the number of keys of the first run from word `index` of `buffer` when the merge runs. This applies to recordings
    /// whose first count is [`Count::OnDevice`](crate::Count::OnDevice). The buffer needs the usage `STORAGE`, and must not be
    /// one that the merge writes.
    #[must_use]
    pub fn first_counted_by(self, buffer: &'a Buffer, index: u32) -> Self {
        Self { counts: [Some((buffer, index)), self.counts[1]], ..self }
    }

    /// Takes the number of keys of the second run from word `index` of `buffer`, as
    /// [`first_counted_by`](MergeAsk::first_counted_by) does for the first run.
    #[must_use]
    pub fn second_counted_by(self, buffer: &'a Buffer, index: u32) -> Self {
        Self { counts: [self.counts[0], Some((buffer, index))], ..self }
    }

    /// Sets the number of keys that a thread merges, for measurements. A plan takes fewer if they do not fit workgroup memory.
    #[must_use]
    pub fn keys_per_thread(self, keys: u32) -> Self {
        Self { keys_per_thread: Some(keys), ..self }
    }
}
