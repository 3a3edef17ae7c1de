//! [`Sink`]: the output of a sort, with what comes before its records.

use crate::output::Writing;
use std::io::{self, Write};

/// Writes part of an output.
pub(super) type Before<'w> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'w>;

/// Converts bytes of whole records to what the file has.
pub(super) type Convert = fn(&[u8], &mut dyn Write) -> io::Result<()>;

/// An output that gets records. What comes before the first is written when the first comes, since only then it is known.
pub(super) struct Sink<'w> {
    writing: &'w mut Writing,
    before: Option<Before<'w>>,
    convert: Option<Convert>,
}

impl<'w> Sink<'w> {
    pub(super) fn new(writing: &'w mut Writing, before: Before<'w>, convert: Option<Convert>) -> Self {
        Self { writing, before: Some(before), convert }
    }

    fn begin(&mut self) -> io::Result<()> {
        self.before.take().map_or(Ok(()), |before| before(self.writing))
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, records: &[u8]) -> io::Result<usize> {
        self.begin()?;
        match self.convert {
            None => self.writing.write(records),
            Some(convert) => convert(records, self.writing).map(|()| records.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.writing.flush()
    }
}
