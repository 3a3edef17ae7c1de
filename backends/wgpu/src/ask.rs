//! `Ask`: the request that a caller makes to a [`DeviceSorter`](crate::DeviceSorter).

use crate::bind::Part;
use polysort_core::Options;
use polysort_shaders::plan::Algorithm;
use wgpu::Buffer;

/// A request for a prepared sort: the largest number of keys, the order, and where counts and segments come from.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub(crate) max: u32,
    pub(crate) options: Options,
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) quick: bool,
    pub(crate) count: Option<(&'a Buffer, u32)>,
    pub(crate) segments: Option<Bounds<'a>>,
    pub(crate) wide_indices: bool,
}

/// Where the segments of a request begin and end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bounds<'a> {
    /// In two arrays of the caller's buffers, with room for `max` numbers each.
    Given { begins: Part<'a>, ends: Part<'a>, max: u32 },
    /// Every `stride` keys, after `len` keys.
    Rows { rows: u32, len: u32, stride: u32 },
}

impl<'a> Ask<'a> {
    /// Requests a sort of up to `max` keys, in ascending order, by all bits.
    pub fn up_to(max: u32) -> Self {
        Self {
            max,
            options: Options::ascending(),
            algorithm: None,
            quick: false,
            count: None,
            segments: None,
            wide_indices: false,
        }
    }

    /// Requests a sort of each row of a matrix by itself, in ascending order, by all bits. Row `i` has the `len` keys from
    /// key `i * stride` on. The keys between rows stay where they are. The buffer needs `(rows - 1) * stride + len` keys.
    ///
    /// ```no_run
    /// # fn demo(sorter: &polysort_wgpu::DeviceSorter, scores: &wgpu::Buffer) -> Result<(), polysort_core::Error> {
    /// use polysort_wgpu::Ask;
    ///
    /// // 100 rows of 30 keys, each padded to 32.
    /// let sort = sorter.prepare_sort::<f32>(scores, Ask::rows(100, 30, 32))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The [`Count`](crate::Count) of a recording is a number of rows, up to `rows`. If there are several rows and `len` is
    /// more than `stride`, rows overlap, and each `prepare_…` call returns
    /// [`Error::InvalidOffsets`](polysort_core::Error::InvalidOffsets). The prepared sort keeps a buffer of 8 bytes for each
    /// row, beside its scratch.
    pub fn rows(rows: u32, len: u32, stride: u32) -> Self {
        // A number of keys that saturates is more than a sort takes.
        let max = if rows == 0 { 0 } else { (rows - 1).saturating_mul(stride).saturating_add(len) };
        Self { segments: Some(Bounds::Rows { rows, len, stride }), ..Self::up_to(max) }
    }

    /// Sets the order and the window of bits.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Forces this algorithm for every number of keys.
    #[must_use]
    pub fn algorithm(self, algorithm: Algorithm) -> Self {
        Self { algorithm: Some(algorithm), ..self }
    }

    /// Requests kernels that the driver compiles in less time, but that run longer.
    ///
    /// This applies to sorts, also of segments, on NVIDIA's GPUs. For other calls, and on other GPUs, where such kernels were not measured, this setting changes nothing.
    /// With an empty cache of the driver, an H200 prepares a sort of 6 000 000 pairs of `u32` in 0.4 to 0.7 s instead of 1.5 to 2.2 s. A sort of pairs then
    /// takes 1.2 (2^20) to 1.4 times (2^24) as long, and one of `u32` alone up to 1.55 times (2^26). Sorts of up to 2^18 keys gain little.
    #[must_use]
    pub fn quick_to_compile(self) -> Self {
        Self { quick: true, ..self }
    }

    /// Writes indices as numbers of 64 bits, as tensor libraries have them. This applies to argsorts and selections.
    ///
    /// The buffer of the indices needs 8 bytes for each index, and may start at any multiple of 4 bytes. The first 4 bytes of
    /// an index are the number that a sort without this setting writes, and the others are 0. Where a selection has fewer
    /// keys than indices, this number is [`u32::MAX`].
    ///
    /// The device sorts indices of 32 bits in scratch, and one more launch writes the result. The scratch needs 4 more
    /// bytes for each index. If the device cannot bind so many indices, the call returns
    /// [`Error::TooLong`](polysort_core::Error::TooLong); if the buffer is too small, [`Error::InvalidBuffer`](polysort_core::Error::InvalidBuffer).
    ///
    /// Calls that write no indices return [`Error::Unsupported`](polysort_core::Error::Unsupported). A gather reads indices
    /// of 32 bits.
    ///
    /// ```no_run
    /// # fn demo(sorter: &polysort_wgpu::DeviceSorter, scores: &wgpu::Buffer, order: &wgpu::Buffer) -> Result<(), polysort_core::Error> {
    /// use polysort_wgpu::Ask;
    ///
    /// // `order` has 8 bytes for each of 1000 keys.
    /// let argsort = sorter.prepare_argsort::<f32>(scores, order, Ask::up_to(1000).wide_indices())?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn wide_indices(self) -> Self {
        Self { wide_indices: true, ..self }
    }

    /// Sorts each of up to `max` segments by itself. Segment `i` is the keys from `offsets[i]` to before `offsets[i +
    /// 1]`, where `offsets` is an array of `max + 1` numbers of type `u32`.
    ///
    /// The device reads the offsets when the sort runs. The sort's [`Count`](crate::Count) is then the number of
    /// segments. Keys that lie in no segment stay where they are. If a segment extends beyond the `max` keys of
    /// [`up_to`](Ask::up_to), only its part within them is sorted.
    ///
    /// Segments must not overlap. If they do, the sort may write any value to any key of the buffer, also to keys of no
    /// segment. It writes nothing outside the keys.
    ///
    /// The buffer of the offsets needs the usage `STORAGE`, and must not be one that the sort writes. Each offset buffer must fit in one
    /// storage binding. Otherwise the call returns [`Error::TooLong`](polysort_core::Error::TooLong), whose `limit` is
    /// the largest supported number of segments.
    #[must_use]
    pub fn segments(self, offsets: impl Into<Part<'a>>, max: u32) -> Self {
        let begins: Part<'a> = offsets.into();
        // An offset that saturates lies in no buffer: preparing the sort then fails.
        self.segments_between(begins, Part { offset: begins.offset.saturating_add(4), ..begins }, max)
    }

    /// Sorts each of up to `max` segments by itself, with gaps between them. Segment `i` is the keys from `begins[i]`
    /// to before `ends[i]`. Both arrays have `max` numbers of type `u32`. The other rules of [`segments`](Ask::segments)
    /// apply.
    #[must_use]
    pub fn segments_between(self, begins: impl Into<Part<'a>>, ends: impl Into<Part<'a>>, max: u32) -> Self {
        Self { segments: Some(Bounds::Given { begins: begins.into(), ends: ends.into(), max }), ..self }
    }

    /// Takes the number of keys, or of segments, from word `index` of `buffer` when the sort runs. This applies to
    /// recordings with [`Count::OnDevice`](crate::Count::OnDevice). The buffer needs the usage `STORAGE`, and must not
    /// be one that the sort writes.
    #[must_use]
    pub fn counted_by(self, buffer: &'a Buffer, index: u32) -> Self {
        Self { count: Some((buffer, index)), ..self }
    }
}
