//! [`Kind`]: what both phases do with records, of constant size or not.

use crate::ExternalError;
use core::ops::Range;
use polysort_core::{Backend, Error};
use std::io::{self, Write};

// Outputs and functions of callers are `dyn`, so the compiler makes both phases once for each kind and backend, and not for each caller. One call handles many
// records.

/// What a result is written to.
pub(crate) type Output<'a> = &'a mut (dyn Write + Send);

/// Replaces records by the next run of an input, and returns whether the input has ended. The thread that reads drops the function, with what the function owns.
pub(crate) type Fill<'a, R> = Box<dyn FnMut(&mut R) -> Result<bool, ExternalError> + Send + 'a>;

/// Replaces records by the next block of the run with this number, or by none at its end.
pub(crate) type Next<'a, R> = &'a mut (dyn FnMut(usize, &mut R) -> Result<(), ExternalError> + Send);

/// Neighboring records in memory.
pub(crate) type Part<'r, R> = (&'r R, Range<usize>);

/// How records of one kind are sorted, merged, stored in blocks, and written.
pub(crate) trait Kind: Sync {
    /// Records in memory: of a run, of a block of a run, or merged ones.
    type Records: Default + Send;

    /// The number of records.
    fn len(&self, records: &Self::Records) -> usize;

    /// Removes all records, and keeps their memory.
    fn clear(&self, records: &mut Self::Records);

    /// What a record is sorted by, ascending.
    fn rank(&self, records: &Self::Records, at: usize) -> u128;

    /// Sorts records stably.
    fn sort(&self, backend: &impl Backend, records: &mut Self::Records) -> Result<(), Error>;

    /// Whether merged records are as many as are to be written at once.
    fn is_full(&self, merged: &Self::Records) -> bool;

    /// Appends the first records of the stable merge of sorted parts, one or more, until `merged` is full or the parts end. `parts` has one part of each
    /// run, in their order, and some part is not empty. Returns how many records of each part it took.
    fn merge(&self, parts: &[Part<'_, Self::Records>], merged: &mut Self::Records) -> Result<Vec<usize>, Error>;

    /// Hands over records in blocks of bytes.
    fn store(
        &self,
        records: &Self::Records,
        append: &mut dyn FnMut(&[u8]) -> Result<(), ExternalError>,
    ) -> Result<(), ExternalError>;

    /// Replaces `records` by those of a block of `bytes` bytes, which `read` reads.
    fn load(
        &self,
        bytes: usize,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), ExternalError>,
        records: &mut Self::Records,
    ) -> Result<(), ExternalError>;

    /// Prepares a block for a merge, in which it is part of the run with the number `run`.
    fn place(&self, run: usize, block: &mut Self::Records);

    /// Writes records as they are in the output.
    fn write(&self, records: &Self::Records, output: &mut dyn Write) -> io::Result<()>;
}
