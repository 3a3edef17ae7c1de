//! The rows of a table one after another, for programs that do not hold all of them.
//!
//! ```text
//! buffer   rows that were given | rows of the queue | the begin of a row whose end is not read yet
//! ```
//!
//! The stream reads a chunk of the text, splits it into records, and keeps the last record until its end is certain.

use super::records::{Record, Records, line_of};
use super::rules::{Choice, Line, Rules, TableArgs, bom, lossy};
use super::source::Source;
use crate::dtype::{Dtype, Key};
use anyhow::{Context, Result, anyhow, bail};
use core::ops::Range;
use std::collections::VecDeque;
use std::io::Read;

/// Bytes that are read at a time, at most: so many as the longest row has, within these bounds.
const LEAST_CHUNK: usize = 1 << 14;
const LARGEST_CHUNK: usize = 1 << 17;

/// A row of the buffer.
struct Row {
    record: Record,
    /// Where the key is in the fields.
    field: Range<usize>,
}

/// A table of which only a part is in memory.
pub(crate) struct RowStream {
    rules: Rules,
    reader: Box<dyn Read + Send>,
    has_ended: bool,
    /// The most bytes of a row.
    longest: usize,
    buffer: Vec<u8>,
    /// The index in the buffer where the next record to split begins.
    next: usize,
    /// Lines of the input before the buffer.
    lines_before: usize,
    queue: VecDeque<Row>,
    /// The keys of the queue's rows, one after another.
    fields: Vec<u8>,
    /// What comes before the rows: the byte order mark and the header.
    head: Vec<u8>,
    /// The end of line of the first line, which a last line without one gets.
    line_end: Option<Vec<u8>>,
    /// Keys that the dtype rounds: how many, and the first one and its line.
    rounded: Option<(usize, String, usize)>,
}

impl RowStream {
    /// Reads the first rows of a table, in which a row has at most `longest` bytes.
    pub(crate) fn open(source: Source, args: &TableArgs<'_>, longest: usize) -> Result<Self> {
        let mut stream = Self {
            rules: Rules::new(source.name, args, 1),
            reader: source.reader,
            has_ended: false,
            longest,
            buffer: vec![],
            next: 0,
            lines_before: 0,
            queue: VecDeque::new(),
            fields: vec![],
            head: vec![],
            line_end: None,
            rounded: None,
        };
        stream.read_chunk()?;
        let width = loop {
            if let Some(width) = stream.width()? {
                break width;
            }
            // Nothing but blank lines, or the begin of a line.
            stream.read_chunk()?;
        };
        stream.rules = Rules::new(std::mem::take(&mut stream.rules.name), args, width);
        stream.next = bom(&stream.buffer);
        stream.head = stream.buffer[..stream.next].to_vec();
        stream.split()?;
        stream.read_to_row()?;
        stream.rules.check_header()?;
        Ok(stream)
    }

    /// Returns the name of the input in messages.
    pub(crate) fn name(&self) -> &str {
        &self.rules.name
    }

    /// Returns what comes before the rows: the byte order mark and the header.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Reads all rows, and returns the type that `choice` finds for their keys.
    pub(crate) fn choose(mut self, choice: &mut Choice) -> Result<Dtype> {
        while self.read_to_row()? {
            while let Some(Row { record, field }) = self.queue.pop_front() {
                let line = || self.lines_before + line_of(&self.buffer, record.content.start);
                choice.see(&lossy(&self.fields[field]), line);
            }
        }
        choice.dtype(&self.rules)
    }

    /// Appends the next row to `text`, with its end of line, and returns its key. `K` must be the type of `dtype`.
    pub(crate) fn next<K: Key>(&mut self, dtype: Dtype, text: &mut Vec<u8>) -> Result<Option<K>> {
        if !self.read_to_row()? {
            self.rules.note_lines();
            if let Some((count, field, line)) = &self.rounded {
                self.rules.note_rounded(dtype, *count, field, *line);
            }
            return Ok(None);
        }
        let Row { record, field } = self.queue.pop_front().expect("a row was read");
        let line = || self.lines_before + line_of(&self.buffer, record.content.start);
        let field = lossy(&self.fields[field]);
        if field.is_empty() && !self.rules.takes_empty() {
            return Err(self.rules.empty_key(line()));
        }
        let (key, is_rounded) = self.rules.key::<K>(&field, dtype, line)?;
        if is_rounded {
            let (count, ..) = self.rounded.get_or_insert_with(|| (0, field.to_string(), line()));
            *count += 1;
        }
        text.extend_from_slice(&self.buffer[record.content.start..record.end]);
        if record.line_end().is_empty() {
            text.extend_from_slice(self.line_end.as_deref().unwrap_or(b"\n"));
        }
        Ok(Some(key))
    }

    /// Reads until the queue has a row. Returns whether it has one: it has none at the end.
    fn read_to_row(&mut self) -> Result<bool> {
        while self.queue.is_empty() && !(self.has_ended && self.next == self.buffer.len()) {
            self.read_chunk()?;
            self.split()?;
        }
        Ok(!self.queue.is_empty())
    }

    /// Drops the records of the buffer, and reads a chunk behind what is left.
    fn read_chunk(&mut self) -> Result<()> {
        let (name, longest) = (&self.rules.name, self.longest);
        // A line end that is cut in two is not split yet, so the count is right.
        self.lines_before += line_of(&self.buffer, self.next) - 1;
        self.buffer.drain(..self.next);
        self.next = 0;
        self.fields.clear();
        let left = self.buffer.len();
        if left > longest {
            let line = self.lines_before + 1;
            bail!(
                "{name}, line {line}: the row that begins here has more than {longest} bytes, the most that fits; is a quote not \
                closed? if not, use a larger --memory"
            );
        }
        let chunk = longest.clamp(LEAST_CHUNK, LARGEST_CHUNK);
        let read = self.reader.by_ref().take(chunk as u64).read_to_end(&mut self.buffer);
        self.has_ended = read.with_context(|| format!("cannot read {name}"))? < chunk;
        Ok(())
    }

    /// Returns the number of fields of the first line that is not blank; none if its end is not read yet.
    fn width(&self) -> Result<Option<usize>> {
        let name = &self.rules.name;
        let mut records = Records::new(&self.buffer, bom(&self.buffer), 0);
        loop {
            match records.next() {
                Ok(Some((record, fields))) if !record.is_blank() => {
                    let is_whole = self.has_ended || record.end < self.buffer.len();
                    return Ok(is_whole.then_some(fields.len()));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(self.has_ended.then_some(1)),
                Err(error) if self.has_ended => return Err(anyhow!("{name}, {error}")),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Splits the buffer into records as far as their ends are certain.
    fn split(&mut self) -> Result<()> {
        let Self { rules, buffer, next, queue, fields: keys, has_ended, lines_before, .. } = self;
        let mut records = Records::new(buffer, *next, *lines_before);
        loop {
            let (record, fields) = match records.next() {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(()),
                Err(error) if *has_ended => return Err(anyhow!("{}, {error}", rules.name)),
                // The quote may be closed in what is not read yet.
                Err(_) => return Ok(()),
            };
            if record.end == buffer.len() && !*has_ended {
                return Ok(());
            }
            let line = rules.take(&record, fields, || *lines_before + line_of(buffer, record.content.start))?;
            *next = record.end;
            if line != Line::LeftOut && self.line_end.is_none() {
                self.line_end = Some(buffer[record.line_end()].to_vec()).filter(|end| !end.is_empty());
            }
            match line {
                Line::LeftOut => {}
                Line::Header => {
                    self.head.extend_from_slice(&buffer[record.content.start..record.end]);
                    if record.line_end().is_empty() {
                        self.head.push(b'\n');
                    }
                }
                Line::Row => {
                    let begin = keys.len();
                    keys.extend_from_slice(rules.field(fields));
                    queue.push_back(Row { record, field: begin..keys.len() });
                }
            }
        }
    }
}
