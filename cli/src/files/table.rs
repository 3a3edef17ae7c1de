//! Tables: the rows of a .csv, and the fields of one column as keys.
//!
//! The text of the file stays as it was read. A row is a range of it, so rows are written byte for byte in another order.

use super::records::{Record, Records, line_of};
use super::rules::{Choice, Line, Rules, TableArgs, bom, lossy};
use super::source::Source;
use crate::dtype::{Dtype, Key};
use anyhow::{Context, Result, anyhow};
use std::borrow::Cow;
use std::io::{self, Read, Write};

/// A table that has been read.
pub(crate) struct Table {
    /// The type of the keys.
    pub(crate) dtype: Dtype,
    rules: Rules,
    text: Vec<u8>,
    header: Option<Record>,
    rows: Vec<Record>,
    /// The fields of the key column one after another, without spaces around them, and the index where each ends.
    fields: Vec<u8>,
    ends: Vec<usize>,
}

impl Table {
    /// Reads all of `source`.
    pub(crate) fn read(mut source: Source, args: &TableArgs<'_>) -> Result<Self> {
        let name = source.name;
        let mut text = vec![];
        source.reader.read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
        let width = width(&text).map_err(|error| anyhow!("{name}, {error}"))?;
        let rules = Rules::new(name, args, width);
        let mut table = Self { dtype: Dtype::I64, rules, text, header: None, rows: vec![], fields: vec![], ends: vec![] };
        table.split()?;
        let mut choice = Choice::new(args);
        (0..table.len()).for_each(|row| choice.see(&table.field(row), || table.line(row)));
        table.dtype = choice.dtype(&table.rules)?;
        Ok(table)
    }

    /// Finds the rows and their keys.
    fn split(&mut self) -> Result<()> {
        let mut records = Records::new(&self.text, bom(&self.text), 0);
        while let Some((record, fields)) = records.next().map_err(|error| anyhow!("{}, {error}", self.rules.name))? {
            match self.rules.take(&record, fields, || line_of(&self.text, record.content.start))? {
                Line::LeftOut => {}
                Line::Header => self.header = Some(record),
                Line::Row => {
                    self.fields.extend_from_slice(self.rules.field(fields));
                    self.ends.push(self.fields.len());
                    self.rows.push(record);
                }
            }
        }
        self.rules.check_header()?;
        self.rules.note_lines();
        Ok(())
    }

    /// Returns the keys. `K` must be the type of the dtype.
    ///
    /// # Errors
    /// If a field is no value of the dtype. A dtype that the user chose rounds integers, with a note.
    pub(crate) fn keys<K: Key>(&self) -> Result<Vec<K>> {
        let (mut keys, mut rounded) = (Vec::with_capacity(self.len()), vec![]);
        for row in 0..self.len() {
            let (key, is_rounded) = self.rules.key::<K>(&self.field(row), self.dtype, || self.line(row))?;
            if is_rounded {
                rounded.push(row);
            }
            keys.push(key);
        }
        if let Some(&first) = rounded.first() {
            self.rules.note_rounded(self.dtype, rounded.len(), &self.field(first), self.line(first));
        }
        Ok(keys)
    }

    /// Returns the name of the input in messages.
    pub(crate) fn name(&self) -> &str {
        &self.rules.name
    }

    /// Returns the number of bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the line of the file that a row begins in, counted from 1.
    pub(crate) fn line(&self, row: usize) -> usize {
        line_of(&self.text, self.rows[row].content.start)
    }

    fn field(&self, row: usize) -> Cow<'_, str> {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        lossy(&self.fields[begin..self.ends[row]])
    }

    /// Writes the header and then the rows with the indices `order`. Each keeps its end of line; one without gets that of the first line.
    pub(crate) fn write(&self, out: &mut dyn Write, order: &[u32]) -> io::Result<()> {
        let first = self.header.iter().chain(&self.rows).next();
        let line_end = first.map(|record| &self.text[record.line_end()]).filter(|end| !end.is_empty()).unwrap_or(b"\n");
        out.write_all(&self.text[..bom(&self.text)])?;
        let rows = order.iter().map(|&row| &self.rows[row as usize]);
        for record in self.header.iter().chain(rows) {
            out.write_all(&self.text[record.content.start..record.end])?;
            if record.line_end().is_empty() {
                out.write_all(line_end)?;
            }
        }
        Ok(())
    }
}

/// Returns the number of columns: the fields of the first line that is not blank, or one.
fn width(text: &[u8]) -> Result<usize> {
    let mut records = Records::new(text, bom(text), 0);
    while let Some((record, fields)) = records.next()? {
        if !record.is_blank() {
            return Ok(fields.len());
        }
    }
    Ok(1)
}
