//! The error type.

use core::ops::Range;
use std::sync::Arc;

/// Why a call failed. The caller's slices are exactly as they were before, and the next call works.
///
/// [`is_misuse`](Error::is_misuse) separates the caller's mistakes from the failures of a device. After a failure, another backend may succeed:
/// `Fallback` of the crate `polysort` tries one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend cannot be opened on this machine.
    #[error("{backend} is unavailable: {why}; choose another backend")]
    Unavailable {
        /// The backend's name.
        backend: String,
        /// What is missing.
        why: String,
        /// The error below this one, if there is one.
        source: Option<Cause>,
    },
    /// The device was lost during the call. The next call through `Backend::global` opens it again.
    #[error("the device of {backend} was lost: {why}; call again, or sort on another backend")]
    DeviceLost {
        /// The backend's name.
        backend: String,
        /// What the driver reported.
        why: String,
        /// The error below this one, if there is one.
        source: Option<Cause>,
    },
    /// The call needs more memory than there is.
    #[error("out of memory: {asked} bytes were asked for{}; sort fewer keys at a time", limit_text(*limit))]
    OutOfMemory {
        /// The bytes that the call needs.
        asked: u64,
        /// The bytes that are available, if known.
        limit: Option<u64>,
    },
    /// Two slices that must have one length differ in length.
    #[error("{left} and {right} differ in length: {left_len} and {right_len}")]
    #[non_exhaustive]
    LengthMismatch {
        /// The contents of the first slice.
        left: &'static str,
        /// Its length.
        left_len: usize,
        /// The contents of the second slice.
        right: &'static str,
        /// Its length.
        right_len: usize,
    },
    /// The input has more keys than the operation or the device takes in one call.
    #[error("{asked} keys are too many for {what}, which takes at most {limit}; sort them in parts")]
    TooLong {
        /// The operation or device that sets the limit.
        what: String,
        /// The number of keys.
        asked: u64,
        /// The largest number of keys.
        limit: u64,
    },
    /// A segment starts before the end of the segment before it, ends before its start, or ends after the last key.
    #[error("segment {index} is {begin}..{end}, but must lie in {at_least}..{keys}, after its predecessor and within the keys")]
    #[non_exhaustive]
    InvalidOffsets {
        /// The index of the first wrong segment.
        index: usize,
        /// Its begin.
        begin: usize,
        /// Its end.
        end: usize,
        /// The end of the segment before it.
        at_least: usize,
        /// The number of keys.
        keys: usize,
    },
    /// A range of bits does not lie in the key.
    #[error("the bit range {begin}..{end} is not a range of a key of {width} bits")]
    #[non_exhaustive]
    InvalidRange {
        /// The first bit.
        begin: u32,
        /// The bit after the last one.
        end: u32,
        /// The number of bits in the key.
        width: u32,
    },
    /// A selection asks for the key at a position behind the last key.
    #[error("there is no key at position {position} of {len}")]
    #[non_exhaustive]
    InvalidPosition {
        /// The position.
        position: usize,
        /// The number of keys.
        len: usize,
    },
    /// A permutation has an index that is out of range or occurs twice.
    #[error("no permutation of {len} elements: position {position} holds {index}, which is out of range or occurs twice")]
    #[non_exhaustive]
    InvalidPermutation {
        /// The position of the wrong index.
        position: usize,
        /// The wrong index.
        index: u32,
        /// The number of elements.
        len: usize,
    },
    /// The bits of a key break the contract of [`Sortable`](crate::Sortable).
    #[error("key {index} has the bits {bits:#x}: {why}; check the key with `polysort::laws::check`")]
    #[non_exhaustive]
    InvalidKey {
        /// The position of the key in the input.
        index: usize,
        /// The bits that its `to_bits` returned.
        bits: u128,
        /// The rule that they break.
        why: String,
    },
    /// A device buffer cannot be sorted.
    #[error("the buffer cannot be used: {why}")]
    InvalidBuffer {
        /// What is wrong, and what would be right.
        why: String,
    },
    /// This backend or device does not support what was asked for.
    #[error("unsupported: {what}")]
    Unsupported {
        /// What was asked for.
        what: String,
    },
    /// A device sorted known data wrongly and is not used.
    #[error("{backend} failed its self-test of {what}: {why}; it is not used")]
    SelfTest {
        /// The backend's name.
        backend: String,
        /// The kernel or operation that was tested.
        what: String,
        /// How the answer was wrong.
        why: String,
    },
    /// A driver reported an error that is none of the above.
    #[error("{backend} failed: {why}")]
    Backend {
        /// The backend's name.
        backend: String,
        /// What the driver reported.
        why: String,
        /// The error below this one, if there is one.
        source: Option<Cause>,
    },
}

/// An error of another crate below one of ours: what [`source`](std::error::Error::source) returns.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

fn limit_text(limit: Option<u64>) -> String {
    limit.map_or_else(String::new, |limit| format!(", {limit} are available"))
}

impl Error {
    /// Checks that two slices have the same length. `left` and `right` name them in the error.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] with both lengths if they differ.
    #[inline]
    pub fn check_lengths(left: &'static str, left_len: usize, right: &'static str, right_len: usize) -> Result<(), Self> {
        if left_len == right_len { Ok(()) } else { Err(Error::LengthMismatch { left, left_len, right, right_len }) }
    }

    /// Checks that segment `index`, with this `range`, does not start before `at_least`, which is the end of the segment before it, and lies within
    /// the `keys` keys.
    ///
    /// # Errors
    /// [`Error::InvalidOffsets`] if it starts before that, ends before its start, or ends after the last key.
    pub fn check_segment(index: usize, range: Range<usize>, at_least: usize, keys: usize) -> Result<(), Self> {
        let Range { start: begin, end } = range;
        if at_least <= begin && begin <= end && end <= keys {
            return Ok(());
        }
        Err(Error::InvalidOffsets { index, begin, end, at_least, keys })
    }

    /// Whether the call itself is wrong, so that no backend could answer it.
    pub fn is_misuse(&self) -> bool {
        matches!(
            self,
            Error::LengthMismatch { .. }
                | Error::InvalidOffsets { .. }
                | Error::InvalidRange { .. }
                | Error::InvalidPosition { .. }
                | Error::InvalidPermutation { .. }
                | Error::InvalidKey { .. }
                | Error::InvalidBuffer { .. }
        )
    }
}
