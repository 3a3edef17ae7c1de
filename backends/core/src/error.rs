//! The one error type.

use std::sync::Arc;

/// Why a sort did not happen. Whatever it is, the caller's slices are exactly as they were, and the next call works.
///
/// [`is_misuse`](Error::is_misuse) tells the caller's mistakes from the failures of a device, which another backend may
/// well not have: [`Fallback`](crate::Fallback) goes on after those.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend cannot be opened on this machine.
    #[error("{backend} is unavailable: {why}; choose another backend or `Fallback`")]
    Unavailable {
        /// The backend's name.
        backend: String,
        /// What is missing.
        why: String,
        /// The error beneath, if there is one.
        source: Option<Cause>,
    },
    /// The device went away during the call; the next call opens it again.
    #[error("the device of {backend} was lost: {why}; call again, or sort on another backend")]
    DeviceLost {
        /// The backend's name.
        backend: String,
        /// What the driver said.
        why: String,
        /// The error beneath, if there is one.
        source: Option<Cause>,
    },
    /// The device has not the memory for the call.
    #[error("out of memory: {asked} bytes were asked for{}; sort fewer keys at a time", limit_text(*limit))]
    OutOfMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that there are, if known.
        limit: Option<u64>,
    },
    /// Two slices that belong together differ in length.
    #[error("{left} and {right} differ in length: {left_len} and {right_len}")]
    LengthMismatch {
        /// What the first slice holds.
        left: &'static str,
        /// Its length.
        left_len: usize,
        /// What the second slice holds.
        right: &'static str,
        /// Its length.
        right_len: usize,
    },
    /// More keys than the operation or the device takes in one call.
    #[error("{asked} keys are too many for {what}, which takes at most {limit}; sort them in parts")]
    TooLong {
        /// The operation or device that sets the limit.
        what: String,
        /// Keys asked for.
        asked: u64,
        /// Keys that it takes.
        limit: u64,
    },
    /// A segment starts before its predecessor's end, ends before its start, or passes the last key.
    #[error("segment {index} is {begin}..{end}, but must lie in {at_least}..{keys}, after its predecessor and within the keys")]
    InvalidOffsets {
        /// The first wrong segment.
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
    /// A bit window that does not lie in the key.
    #[error("the bit range {begin}..{end} is not a range of a key of {width} bits")]
    InvalidRange {
        /// First bit.
        begin: u32,
        /// End bit.
        end: u32,
        /// Bits in the key.
        width: u32,
    },
    /// A permutation with an index that is out of range or comes twice.
    #[error("no permutation of {len} elements: position {position} holds {index}, which is out of range or there already")]
    InvalidPermutation {
        /// The position of the wrong index.
        position: usize,
        /// The wrong index.
        index: u32,
        /// The number of elements.
        len: usize,
    },
    /// A key whose `to_bits` or `from_bits` breaks the contract of [`Sortable`](crate::Sortable).
    #[error("key {index} has the bits {bits:#x}: {why}; check the key with `laws::check`")]
    InvalidKey {
        /// The key's position: in the input, or in the sorted order for a key that does not come back.
        index: usize,
        /// Its bits.
        bits: u128,
        /// What is wrong with them.
        why: String,
    },
    /// An index that names nothing.
    #[error("{what}: number {index} is {value}, but must be below {limit}")]
    OutOfRange {
        /// The list that holds it.
        what: &'static str,
        /// Its place in the list.
        index: usize,
        /// The index.
        value: u64,
        /// How many things there are.
        limit: u64,
    },
    /// Candidates of a vector search that are no entries, or whose slots are not there.
    #[error("{count} candidates name entries, or these slots, that are not there; `Check::Host` tells which")]
    BadCandidates {
        /// How many there are.
        count: u64,
    },
    /// A device buffer that cannot be sorted.
    #[error("the buffer cannot be used: {why}")]
    InvalidBuffer {
        /// What is wrong and what would be right.
        why: String,
    },
    /// Something that this backend or device cannot do.
    #[error("unsupported: {what}")]
    Unsupported {
        /// What was asked for.
        what: String,
    },
    /// A device gave a wrong answer to a known sort and is not used.
    #[error("{backend} failed its self-test of {what}: {why}; it is not used")]
    SelfTest {
        /// The backend's name.
        backend: String,
        /// The kernel or operation tested.
        what: String,
        /// How the answer was wrong.
        why: String,
    },
    /// A driver's error that is none of the above.
    #[error("{backend} failed: {why}")]
    Backend {
        /// The backend's name.
        backend: String,
        /// What it said.
        why: String,
        /// The error beneath, if there is one.
        source: Option<Cause>,
    },
}

/// A third-party error under one of ours, reached by [`source`](std::error::Error::source).
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

fn limit_text(limit: Option<u64>) -> String {
    limit.map_or_else(String::new, |limit| format!(", {limit} are to be had"))
}

impl Error {
    /// Whether two slices, of which one moves along with the other, are of one length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] with both if they are not.
    pub fn check_lengths(left: &'static str, left_len: usize, right: &'static str, right_len: usize) -> Result<(), Self> {
        if left_len == right_len { Ok(()) } else { Err(Error::LengthMismatch { left, left_len, right, right_len }) }
    }

    /// Whether the call itself is wrong, so that no backend could answer it.
    pub fn is_misuse(&self) -> bool {
        matches!(
            self,
            Error::LengthMismatch { .. }
                | Error::InvalidOffsets { .. }
                | Error::InvalidRange { .. }
                | Error::InvalidPermutation { .. }
                | Error::InvalidKey { .. }
                | Error::InvalidBuffer { .. }
                | Error::OutOfRange { .. }
                | Error::BadCandidates { .. }
        )
    }
}
