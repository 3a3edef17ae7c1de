//! Tables: the rows of a .csv, each kept byte for byte, and the fields of one column of them as keys.
//!
//! The text stays as it was read, quotes and all; a row is a range of it. So rows are written as they came, in another order.

use super::Source;
use crate::dtype::{Dtype, Key};
use crate::output::note;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use core::ops::Range;
use csv::{ByteRecord, ReaderBuilder};
use std::borrow::Cow;
use std::io::{self, Read, Write};

/// What an empty key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Empty {
    /// not a number: last in ascending order
    Nan,
}

/// How to read a table.
pub(crate) struct TableArgs<'a> {
    /// The key column; needed if there is more than one.
    pub(crate) column: Option<&'a str>,
    /// Whether the first line is a header.
    pub(crate) header: bool,
    /// The type of the keys; found out if it is not given.
    pub(crate) dtype: Option<Dtype>,
    /// What an empty key is; an error if nothing is said.
    pub(crate) empty: Option<Empty>,
}

/// A table that has been read.
pub(crate) struct Table {
    pub(crate) name: String,
    /// The type of the keys.
    pub(crate) dtype: Dtype,
    text: Vec<u8>,
    /// Where in the text the header is.
    header: Option<Range<usize>>,
    /// Where in the text each row is, without its end of line.
    rows: Vec<Range<usize>>,
    /// The key column as messages call it.
    column: String,
    /// The fields of the key column, one after another, and where each ends.
    fields: Vec<u8>,
    ends: Vec<usize>,
}

impl Table {
    /// Reads all of `source` and splits it in rows and fields.
    pub(crate) fn read(mut source: Source, args: &TableArgs<'_>) -> Result<Self> {
        let name = source.name;
        let mut text = vec![];
        source.reader.read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
        let mut table = Self {
            name,
            dtype: Dtype::I64,
            text,
            header: None,
            rows: vec![],
            column: String::new(),
            fields: vec![],
            ends: vec![],
        };
        table.split(args)?;
        table.dtype = table.choose_dtype(args)?;
        Ok(table)
    }

    /// Finds the rows, the key column and its fields.
    fn split(&mut self, args: &TableArgs<'_>) -> Result<()> {
        let (name, text) = (&self.name, &self.text);
        let (mut rows, mut fields, mut ends, mut header, mut column) = (vec![], vec![], vec![], None, None);
        let (mut record, mut width, mut begin) = (ByteRecord::new(), 0, bom(text));
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
        while reader.read_byte_record(&mut record).with_context(|| format!("cannot read {name}"))? {
            let end = reader.position().byte() as usize;
            let row = trim_lines(text, begin..end);
            begin = end;
            let (index, is_header) = match column {
                Some(index) => (index, false),
                None => {
                    width = record.len();
                    (*column.insert(find_column(&record, args).with_context(|| name.clone())?), args.header)
                }
            };
            if is_header {
                self.column = lossy(&record[index]).trim().to_string();
                header = Some(row);
                continue;
            }
            if record.len() != width {
                let (line, found) = (line_of(text, row.start), record.len());
                bail!("{name}, line {line}: the number of fields is {found}, but {width} in the first line; is a quote missing?");
            }
            fields.extend_from_slice(record[index].trim_ascii());
            ends.push(fields.len());
            rows.push(row);
        }
        match (column, args.header) {
            (None, true) => bail!("{name} is empty: it has no header to find a column in"),
            (Some(index), false) => self.column = index.to_string(),
            _ => warn_if_headless(name, &self.column),
        }
        (self.header, self.rows, self.fields, self.ends) = (header, rows, fields, ends);
        Ok(())
    }

    /// The type that was asked for, else the first of `i64`, `i128` and `f64` that all keys have.
    fn choose_dtype(&self, args: &TableArgs<'_>) -> Result<Dtype> {
        let empty = (0..self.len()).find(|&row| self.field(row).is_empty());
        let fits = |parses: fn(&str) -> bool| (0..self.len()).all(|row| parses(&self.field(row)));
        let dtype = match args.dtype {
            Some(dtype) => dtype,
            None if empty.is_some() => Dtype::F64,
            None if fits(|field| field.parse::<i64>().is_ok()) => Dtype::I64,
            None if fits(|field| field.parse::<i128>().is_ok()) => Dtype::I128,
            None => Dtype::F64,
        };
        match empty {
            Some(row) if args.empty.is_none() => {
                let (name, line, column) = (&self.name, self.line(row), &self.column);
                bail!(
                    "{name}, line {line}: column {column} is empty; to take empty fields as not a number: --dtype f64 --empty nan"
                )
            }
            _ => Ok(dtype),
        }
    }

    /// The keys. `K` is the type of the dtype.
    pub(crate) fn keys<K: Key>(&self) -> Result<Vec<K>> {
        (0..self.len()).map(|row| self.key(row)).collect()
    }

    fn key<K: Key>(&self, row: usize) -> Result<K> {
        let field = self.field(row);
        let key = if field.is_empty() { K::NAN } else { K::from_str(&field).ok() };
        let Some(key) = key else {
            let (name, line, column, dtype) = (&self.name, self.line(row), &self.column, self.dtype.name());
            if field.is_empty() {
                bail!("{name}, line {line}: column {column} is empty, and {dtype} has no NaN for --empty nan: add --dtype f64");
            }
            bail!(
                "{name}, line {line}: {field:?} in column {column} does not fit dtype {dtype}; correct it, or choose another --column or --dtype"
            );
        };
        Ok(key)
    }

    /// The number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The line of the file that a row begins in, from 1.
    pub(crate) fn line(&self, row: usize) -> usize {
        line_of(&self.text, self.rows[row].start)
    }

    fn field(&self, row: usize) -> Cow<'_, str> {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        lossy(&self.fields[begin..self.ends[row]])
    }

    /// Writes the header and then the rows that `order` names.
    pub(crate) fn write(&self, out: &mut dyn Write, order: &[u32]) -> io::Result<()> {
        let first_line = self.text.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
        let newline: &[u8] = if first_line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
        out.write_all(&self.text[..bom(&self.text)])?;
        let rows = order.iter().map(|&row| &self.rows[row as usize]);
        for row in self.header.iter().chain(rows) {
            out.write_all(&self.text[row.clone()])?;
            out.write_all(newline)?;
        }
        Ok(())
    }
}

/// The index of the column that the user means.
fn find_column(first: &ByteRecord, args: &TableArgs<'_>) -> Result<usize> {
    let names: Vec<String> = if args.header { first.iter().map(|name| lossy(name).trim().to_string()).collect() } else { vec![] };
    let listed = || match names.len() {
        0 => format!("it has {} columns, from 0", first.len()),
        _ => {
            let listed: Vec<String> = names.iter().enumerate().map(|(index, name)| format!("{index} {name}")).collect();
            format!("it has {}", listed.join(", "))
        }
    };
    let Some(asked) = args.column else {
        return if first.len() == 1 { Ok(0) } else { bail!("add --column, the one to go by; {}", listed()) };
    };
    let named: Vec<usize> = (0..names.len()).filter(|&index| names[index] == asked).collect();
    match (&named[..], asked.parse::<usize>()) {
        ([index], _) => Ok(*index),
        ([], Ok(index)) if index < first.len() => Ok(index),
        ([], _) => bail!("there is no column {asked}; {}", listed()),
        _ => bail!("{} columns are called {asked}; give the index of one; {}", named.len(), listed()),
    }
}

/// Says so if a header looks like a row: a row that is taken for a header stays on top.
fn warn_if_headless(name: &str, column: &str) {
    if column.parse::<f64>().is_ok() {
        note(&format!(
            "the first line of {name} is read as a header, with {column} in the key column; if it is a row: --no-header"
        ));
    }
}

/// The bytes of a byte order mark, which stays where it is.
fn bom(text: &[u8]) -> usize {
    if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// A range of text without the ends of lines around it. (A field that begins or ends in one is in quotes.)
fn trim_lines(text: &[u8], range: Range<usize>) -> Range<usize> {
    let is_end = |byte: &u8| *byte == b'\n' || *byte == b'\r';
    let row = &text[range.clone()];
    let before = row.iter().take_while(|byte| is_end(byte)).count();
    let after = row[before..].iter().rev().take_while(|byte| is_end(byte)).count();
    range.start + before..range.end - after
}

/// The line that a position is in, from 1. Only messages ask, so nobody counts before there is one.
fn line_of(text: &[u8], position: usize) -> usize {
    1 + text[..position].iter().filter(|&&byte| byte == b'\n').count()
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
