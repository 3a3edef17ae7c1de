//! Tables: the rows of a .csv, and the fields of one column as keys.
//!
//! The text of the file stays as it was read. A row is a range of it, so rows are written byte for byte in another order.

use super::records::{Record, Records, line_of};
use super::rounding::{is_rounded, overflows};
use super::source::Source;
use crate::dtype::{Dtype, Key};
use crate::message::note;
use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use csv::ByteRecord;
use std::borrow::Cow;
use std::io::{self, Read, Write};

/// The key that an empty field stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Empty {
    /// not a number, which is last in ascending order
    Nan,
}

/// How to read a table.
pub(crate) struct TableArgs<'a> {
    /// The name or index of the key column. A table of one column needs none.
    pub(crate) column: Option<&'a str>,
    /// Whether the first line is a header.
    pub(crate) header: bool,
    /// The type of the keys. Without it, the fields decide.
    pub(crate) dtype: Option<Dtype>,
    /// The key that an empty field stands for. Without it, an empty field is an error.
    pub(crate) empty: Option<Empty>,
}

/// The most columns that a message lists.
const LISTED_COLUMNS: usize = 20;

/// A table that has been read.
pub(crate) struct Table {
    pub(crate) name: String,
    /// The type of the keys.
    pub(crate) dtype: Dtype,
    /// Whether the user chose that type, and so accepts that it rounds integers.
    is_dtype_given: bool,
    text: Vec<u8>,
    header: Option<Record>,
    rows: Vec<Record>,
    /// The key column as messages call it.
    column: String,
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
        let mut table = Self {
            name,
            dtype: Dtype::I64,
            is_dtype_given: args.dtype.is_some(),
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
        let locate = |error| anyhow!("{name}, {error}");
        let width = width(text).map_err(locate)?;
        let (mut column, mut left_out) = (None, vec![]);
        let mut records = Records::new(text, bom(text));
        while let Some((record, fields)) = records.next().map_err(locate)? {
            // In a table of one column a blank line is an empty field. In any other it is no row.
            if record.is_blank() && width > 1 {
                left_out.push(record);
                continue;
            }
            if fields.len() != width {
                let (line, found) = (line_of(text, record.content.start), fields.len());
                bail!("{name}, line {line}: the number of fields is {found}, but {width} in the first line; is a quote missing?");
            }
            let (index, is_header) = match column {
                Some(index) => (index, false),
                None => (*column.insert(find_column(fields, args).with_context(|| name.clone())?), args.header),
            };
            if is_header {
                self.column = lossy(&fields[index]).trim().to_string();
                self.header = Some(record);
                continue;
            }
            self.fields.extend_from_slice(fields[index].trim_ascii());
            self.ends.push(self.fields.len());
            self.rows.push(record);
        }
        match (column, args.header) {
            (None, true) => bail!("{name} is empty: it has no header to find a column in"),
            (Some(index), false) => self.column = index.to_string(),
            _ => warn_if_headless(name, &self.column),
        }
        if let Some(first) = left_out.first() {
            let (count, line) = (left_out.len(), line_of(text, first.content.start));
            note(&format!("{name}: blank lines are no rows and are left out: {count}, the first is line {line}"));
        }
        Ok(())
    }

    /// Returns the type that the user chose, else the first of `i64`, `i128` and `f64` that every key is a value of.
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
                    "{name}, line {line}: column {column} is empty; to read empty fields as not a number: --dtype f64 --empty nan"
                )
            }
            _ => Ok(dtype),
        }
    }

    /// Returns the keys. `K` must be the type of the dtype.
    ///
    /// # Errors
    /// If a field is no value of the dtype. A dtype that the user chose rounds integers, with a note.
    pub(crate) fn keys<K: Key>(&self) -> Result<Vec<K>> {
        let (mut keys, mut rounded) = (Vec::with_capacity(self.len()), vec![]);
        for row in 0..self.len() {
            let (key, is_rounded) = self.key::<K>(row)?;
            if is_rounded {
                rounded.push(row);
            }
            keys.push(key);
        }
        let Some(&first) = rounded.first() else { return Ok(keys) };
        let (name, line, column, dtype, field) =
            (&self.name, self.line(first), &self.column, self.dtype.name(), self.field(first));
        if !self.is_dtype_given {
            bail!(
                "{name}, line {line}: {field} in column {column} is no {dtype}, which rounds it to {:.0}; \
                to sort by the rounded numbers: --dtype {dtype}",
                keys[first].float().unwrap_or(f64::NAN)
            );
        }
        let count = rounded.len();
        note(&format!("{name}: {dtype} rounds integers of column {column}: {count}, the first is {field} in line {line}"));
        Ok(keys)
    }

    /// Returns the key of a row, and whether it is an integer that the dtype rounds.
    fn key<K: Key>(&self, row: usize) -> Result<(K, bool)> {
        let field = self.field(row);
        let key = if field.is_empty() { K::NAN } else { K::from_str(&field).ok().filter(|key| !overflows(*key, &field)) };
        let Some(key) = key else {
            let (name, line, column, dtype) = (&self.name, self.line(row), &self.column, self.dtype.name());
            if field.is_empty() {
                bail!("{name}, line {line}: column {column} is empty, and {dtype} has no NaN for --empty nan: add --dtype f64");
            }
            bail!(
                "{name}, line {line}: {field:?} in column {column} does not fit dtype {dtype}; correct it, or choose another --column or --dtype"
            );
        };
        Ok((key, is_rounded(key, &field)))
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
    let mut records = Records::new(text, bom(text));
    while let Some((record, fields)) = records.next()? {
        if !record.is_blank() {
            return Ok(fields.len());
        }
    }
    Ok(1)
}

/// Returns the index of the column that the user named.
fn find_column(first: &ByteRecord, args: &TableArgs<'_>) -> Result<usize> {
    let names: Vec<String> = if args.header { first.iter().map(|name| lossy(name).trim().to_string()).collect() } else { vec![] };
    let listed = || match names.len() {
        0 => format!("it has {} columns, from 0", first.len()),
        count => {
            let listed: Vec<String> =
                names.iter().take(LISTED_COLUMNS).enumerate().map(|(index, name)| format!("{index} {name}")).collect();
            let others = if count > LISTED_COLUMNS { format!(" and {} more", count - LISTED_COLUMNS) } else { String::new() };
            format!("it has {}{others}", listed.join(", "))
        }
    };
    let Some(asked) = args.column else {
        return if first.len() == 1 { Ok(0) } else { bail!("add --column with the key column; {}", listed()) };
    };
    let named: Vec<usize> = (0..names.len()).filter(|&index| names[index] == asked).collect();
    match (&named[..], asked.parse::<usize>()) {
        ([index], _) => Ok(*index),
        ([], Ok(index)) if index < first.len() => Ok(index),
        ([], _) => bail!("there is no column {asked}; {}", listed()),
        _ => bail!("{} columns are called {asked}; give the index of one; {}", named.len(), listed()),
    }
}

/// Notes a header that looks like a row: such a row would stay on top.
fn warn_if_headless(name: &str, column: &str) {
    if column.parse::<f64>().is_ok() {
        note(&format!(
            "the first line of {name} is read as a header, with {column} in the key column; if it is a row: --no-header"
        ));
    }
}

/// Returns the number of bytes of the byte order mark, which stays at the beginning of the file.
fn bom(text: &[u8]) -> usize {
    if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
