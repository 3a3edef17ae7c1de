//! The rules of a table: which of its lines are rows, where the key is in a row, and what the key is.

use super::records::Record;
use super::rounding::{is_rounded, overflows};
use crate::dtype::{Dtype, Key};
use crate::message::note;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use csv::ByteRecord;
use std::borrow::Cow;

/// The key that an empty field stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Empty {
    /// not a number, which is last in ascending order
    Nan,
}

/// How to read a table.
#[derive(Clone, Copy)]
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

/// What a line of a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Header,
    Row,
    /// A blank line, which is no row.
    LeftOut,
}

/// The rules of one table, and what has been seen of it.
pub(super) struct Rules {
    /// The name of the input in messages.
    pub(super) name: String,
    /// The number of fields of each row.
    width: usize,
    has_header: bool,
    asked_column: Option<String>,
    /// The index of the key column, once the first line was seen.
    index: Option<usize>,
    /// The key column as messages call it.
    column: String,
    /// Whether the user chose the type of the keys, and so accepts that it rounds integers.
    is_dtype_given: bool,
    /// Whether an empty key stands for another one.
    takes_empty: bool,
    /// Blank lines that are no rows, and the first of them.
    left_out: Option<(usize, usize)>,
}

impl Rules {
    /// The rules of a table whose first line that is not blank has `width` fields.
    pub(super) fn new(name: String, args: &TableArgs<'_>, width: usize) -> Self {
        Self {
            name,
            width,
            has_header: args.header,
            asked_column: args.column.map(Into::into),
            index: None,
            column: String::new(),
            is_dtype_given: args.dtype.is_some(),
            takes_empty: args.empty.is_some(),
            left_out: None,
        }
    }

    /// Returns what the next line is. `line` returns its number.
    pub(super) fn take(&mut self, record: &Record, fields: &ByteRecord, line: impl Fn() -> usize) -> Result<Line> {
        let (name, width) = (&self.name, self.width);
        // In a table of one column a blank line is an empty field. In any other it is no row.
        if record.is_blank() && width > 1 {
            let (count, first) = self.left_out.unwrap_or_else(|| (0, line()));
            self.left_out = Some((count + 1, first));
            return Ok(Line::LeftOut);
        }
        if fields.len() != width {
            let (line, found) = (line(), fields.len());
            bail!("{name}, line {line}: the number of fields is {found}, but {width} in the first line; is a quote missing?");
        }
        if self.index.is_some() {
            return Ok(Line::Row);
        }
        let index = find_column(fields, self.asked_column.as_deref(), self.has_header).with_context(|| name.clone())?;
        self.index = Some(index);
        if !self.has_header {
            self.column = index.to_string();
            return Ok(Line::Row);
        }
        self.column = lossy(&fields[index]).trim().to_string();
        Ok(Line::Header)
    }

    /// Returns the key of a row, without spaces around it.
    pub(super) fn field<'f>(&self, fields: &'f ByteRecord) -> &'f [u8] {
        fields[self.index.expect("the first line was seen")].trim_ascii()
    }

    /// Checks that a table that should have a header has one.
    pub(super) fn check_header(&self) -> Result<()> {
        if self.index.is_none() && self.has_header {
            bail!("{} is empty: it has no header; if it is a table without one: --no-header", self.name);
        }
        Ok(())
    }

    /// Notes a header that looks like a row, which stays on top, and blank lines that were left out.
    pub(super) fn note_lines(&self) {
        let (name, column) = (&self.name, &self.column);
        if self.has_header && column.parse::<f64>().is_ok() {
            note(&format!(
                "the first line of {name} is read as a header, with {column} in the key column; if it is a row: --no-header"
            ));
        }
        if let Some((count, line)) = self.left_out {
            note(&format!("{name}: blank lines are no rows and are left out: {count}, the first is line {line}"));
        }
    }

    /// Returns the key of a field, and whether it is an integer that the dtype rounds. `line` returns the line of its row.
    pub(super) fn key<K: Key>(&self, field: &str, dtype: Dtype, line: impl Fn() -> usize) -> Result<(K, bool)> {
        let key = if field.is_empty() { K::NAN } else { K::from_str(field).ok().filter(|key| !overflows(*key, field)) };
        let Some(key) = key else {
            let (name, line, column, dtype) = (&self.name, line(), &self.column, dtype.name());
            if field.is_empty() {
                bail!("{name}, line {line}: column {column} is empty, and {dtype} has no NaN for --empty nan: add --dtype f64");
            }
            bail!(
                "{name}, line {line}: {field:?} in column {column} does not fit dtype {dtype}; correct it, or choose another --column or --dtype"
            );
        };
        let is_rounded = is_rounded(key, field);
        if is_rounded && !self.is_dtype_given {
            let (name, line, column, dtype) = (&self.name, line(), &self.column, dtype.name());
            bail!(
                "{name}, line {line}: {dtype} rounds {field} in column {column} to {:.0}; \
                to sort by the rounded numbers: --dtype {dtype}",
                key.float().unwrap_or(f64::NAN)
            );
        }
        Ok((key, is_rounded))
    }

    /// Notes that a dtype that the user chose rounds `count` integers. The first is `field`, in `line`.
    pub(super) fn note_rounded(&self, dtype: Dtype, count: usize, field: &str, line: usize) {
        let (name, column, dtype) = (&self.name, &self.column, dtype.name());
        note(&format!("{name}: {dtype} rounds integers of column {column}: {count}, the first is {field} in line {line}"));
    }

    /// Whether an empty key stands for another one.
    pub(super) fn takes_empty(&self) -> bool {
        self.takes_empty
    }

    /// Returns the error that a key is empty.
    pub(super) fn empty_key(&self, line: usize) -> anyhow::Error {
        let (name, column) = (&self.name, &self.column);
        anyhow::anyhow!(
            "{name}, line {line}: column {column} is empty; to read empty fields as not a number: --dtype f64 --empty nan"
        )
    }
}

/// Finds the type of the keys: the one that the user chose, else the first of `i64`, `i128` and `f64` that every key is a value of.
pub(crate) struct Choice {
    given: Option<Dtype>,
    empty: Option<Empty>,
    is_i64: bool,
    is_i128: bool,
    /// The line of the first empty key.
    first_empty: Option<usize>,
}

impl Choice {
    pub(crate) fn new(args: &TableArgs<'_>) -> Self {
        Self { given: args.dtype, empty: args.empty, is_i64: true, is_i128: true, first_empty: None }
    }

    /// Sees the next key. `line` returns the line of its row.
    pub(super) fn see(&mut self, field: &str, line: impl Fn() -> usize) {
        if field.is_empty() {
            self.first_empty.get_or_insert_with(line);
        } else if self.given.is_none() {
            self.is_i64 = self.is_i64 && field.parse::<i64>().is_ok();
            self.is_i128 = self.is_i128 && (self.is_i64 || field.parse::<i128>().is_ok());
        }
    }

    /// Returns the type. An empty key is an error, if the user did not say what it stands for.
    pub(super) fn dtype(&self, rules: &Rules) -> Result<Dtype> {
        match self.first_empty {
            Some(line) if self.empty.is_none() => Err(rules.empty_key(line)),
            _ => Ok(self.given.unwrap_or(match self.first_empty {
                None if self.is_i64 => Dtype::I64,
                None if self.is_i128 => Dtype::I128,
                _ => Dtype::F64,
            })),
        }
    }
}

/// Returns the index of the column that the user named.
fn find_column(first: &ByteRecord, asked: Option<&str>, has_header: bool) -> Result<usize> {
    let names: Vec<String> = if has_header { first.iter().map(|name| lossy(name).trim().to_string()).collect() } else { vec![] };
    let listed = || match names.len() {
        0 => format!("it has {} columns, from 0", first.len()),
        count => {
            let listed: Vec<String> =
                names.iter().take(LISTED_COLUMNS).enumerate().map(|(index, name)| format!("{index} {name}")).collect();
            let others = if count > LISTED_COLUMNS { format!(" and {} more", count - LISTED_COLUMNS) } else { String::new() };
            format!("it has {}{others}", listed.join(", "))
        }
    };
    let Some(asked) = asked else {
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

/// Returns the number of bytes of the byte order mark, which stays at the beginning of the file.
pub(super) fn bom(text: &[u8]) -> usize {
    if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

pub(super) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
