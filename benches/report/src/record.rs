//! A record: the rows of a CSV file, and where they come from.

use crate::error::ReportError;
use polysort_measure::{Cell, HEADER, Row};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The column that a record may lack.
const THREADS: &str = "threads";

/// Reads the rows of a CSV file, whose columns can be in any order.
///
/// # Errors
/// If the file cannot be read, lacks columns, or has a text where a number must be.
pub fn read_rows(path: &Path) -> Result<Vec<Row>, ReportError> {
    let file = std::fs::File::open(path);
    let file = file.map_err(|error| ReportError::Read { path: path.into(), source: error.into() })?;
    parse_rows(file, path)
}

/// Reads rows from the text of a CSV file. Errors call it `path`.
fn parse_rows(text: impl Read, path: &Path) -> Result<Vec<Row>, ReportError> {
    let read = |error: csv::Error| ReportError::Read { path: path.into(), source: error.into() };
    let mut reader = csv::Reader::from_reader(text);
    let header = reader.headers().map_err(read)?.clone();
    let columns: BTreeMap<&str, usize> = header.iter().zip(0..).collect();
    let missing: Vec<&str> = HEADER.split(',').filter(|name| *name != THREADS && !columns.contains_key(name)).collect();
    if !missing.is_empty() {
        return Err(ReportError::Columns { path: path.into(), missing: missing.join(", ") });
    }
    let parse = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.map_err(read)?;
        let text = |name: &str| columns.get(name).and_then(|&at| record.get(at)).unwrap_or_default().to_string();
        let number = |name: &'static str| -> Result<u64, ReportError> {
            let line = record.position().map_or(0, csv::Position::line);
            let text = text(name);
            text.parse().map_err(|_| ReportError::Number { path: path.into(), line, column: name, text })
        };
        let threads = if text(THREADS).is_empty() { None } else { Some(number(THREADS)? as usize) };
        let cell = Cell {
            op: text("op"),
            key: text("key"),
            payload: text("payload"),
            pattern: text("pattern"),
            n: number("n")? as usize,
            threads,
            order: text("order"),
            scope: text("scope"),
        };
        let times = [number("median_ns")?, number("p5_ns")?, number("p95_ns")?, number("min_ns")?, number("max_ns")?];
        Ok(Row {
            run: text("run"),
            system: text("system"),
            backend: text("backend"),
            algorithm: text("algorithm"),
            cell,
            times,
            reps: number("reps")? as usize,
            verified: text("verified") == "true",
        })
    };
    reader.records().map(parse).collect()
}

/// Where the rows of a record come from, for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The machine.
    pub machine: String,
    /// The name of the record.
    pub name: String,
    /// The kind of the record, such as `grid`.
    pub kind: String,
    /// The date, as `2026-11-23`, if it is known.
    pub date: Option<String>,
    /// The number of the record among those of its date, from 1.
    pub ordinal: u32,
    /// What is known of the machine, the build and the commands.
    pub text: String,
}

impl Origin {
    /// Returns a value that is greater for newer records.
    pub(crate) fn recency(&self) -> (Option<&str>, u32) {
        (self.date.as_deref(), self.ordinal)
    }
}

/// A record: rows, and where they come from.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where the rows come from.
    pub origin: Origin,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Record {
    /// Reads a CSV file. The folder that it is in names the machine. The file's name has the date and the kind, as in `2026-11-23-2-grid.csv`. The text comes from
    /// the file `2026-11-23-2-grid.txt`, or else `2026-11-23-2.txt`, in the same folder.
    ///
    /// # Errors
    /// If the file is no record, or if it or the text cannot be read.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let rows = read_rows(path)?;
        let name = |part: Option<&std::ffi::OsStr>| part.map_or_else(String::new, |part| part.to_string_lossy().into_owned());
        let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned));
        let machine = name(folder.as_deref().and_then(Path::file_name));
        let stem = name(path.file_stem());
        let (date, ordinal, kind) = split_name(&stem);
        let series = date.map(|date| stem[..stem.len() - kind.len()].trim_end_matches('-').max(date));
        let text = texts(path, &[Some(stem.as_str()), series])?;
        let origin = Origin {
            name: format!("{machine}/{}", name(path.file_name())),
            machine,
            kind: kind.to_string(),
            date: date.map(String::from),
            ordinal,
            text,
        };
        Ok(Self { origin, rows })
    }

    /// Reads a record from the text of a CSV file.
    ///
    /// # Errors
    /// If the text is no record.
    pub fn parse(text: &str, origin: Origin) -> Result<Self, ReportError> {
        let rows = parse_rows(text.as_bytes(), &PathBuf::from(&origin.name))?;
        Ok(Self { origin, rows })
    }
}

/// Returns the first of the texts `stems` beside `path` that exists, or an empty text.
fn texts(path: &Path, stems: &[Option<&str>]) -> Result<String, ReportError> {
    for stem in stems.iter().flatten() {
        let path = path.with_file_name(format!("{stem}.txt"));
        if path.is_file() {
            return std::fs::read_to_string(&path).map_err(|error| ReportError::Read { path, source: error.into() });
        }
    }
    Ok(String::new())
}

/// Splits `2026-11-23-2-grid` into the date, the number of the record on that day, and the kind.
fn split_name(stem: &str) -> (Option<&str>, u32, &str) {
    let is_date = |text: &str| {
        text.bytes().enumerate().all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
    };
    let Some((date, rest)) = stem.split_at_checked(10).filter(|(date, _)| is_date(date)) else { return (None, 1, stem) };
    let rest = rest.trim_start_matches('-');
    match rest.split_once('-').map(|(ordinal, kind)| (ordinal.parse(), kind)) {
        Some((Ok(ordinal), kind)) => (Some(date), ordinal, kind),
        _ => (Some(date), 1, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_measure::By;

    #[test]
    fn names_have_a_date_a_number_and_a_kind() {
        assert_eq!(split_name("2026-11-23-grid"), (Some("2026-11-23"), 1, "grid"));
        assert_eq!(split_name("2026-11-21-4-patterns-top-k"), (Some("2026-11-21"), 4, "patterns-top-k"));
        assert_eq!(split_name("2026-11-21-patterns-pairs"), (Some("2026-11-21"), 1, "patterns-pairs"));
        assert_eq!(split_name("mine"), (None, 1, "mine"));
        assert_eq!(split_name("größe-der-Tabellen"), (None, 1, "größe-der-Tabellen"));
    }

    #[test]
    fn rows_are_read_by_the_names_of_columns() {
        let text = "verified,n,run,system,backend,algorithm,op,key,payload,pattern,order,scope,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps\n\
                    true,1024,r,polysort,rayon,auto,sort,u32,none,uniform,asc,end_to_end,50,5,95,1,100,7\n";
        let record = Record::parse(text, Origin::default()).expect("a record");
        let [row] = &record.rows[..] else { panic!("{record:?}") };
        assert_eq!((row.cell.n, row.cell.threads, row.time(By::Median), row.time(By::Least)), (1024, None, 50.0, 1.0));
        // A row that is written and read is the same.
        let again = Record::parse(&polysort_measure::record(&record.rows), Origin::default()).expect("a record");
        assert_eq!(again.rows, record.rows);
        assert_eq!((&*row.run, &*row.cell.scope, row.times, row.reps), ("r", "end_to_end", [50, 5, 95, 1, 100], 7));
    }

    #[test]
    fn errors_name_what_is_missing_and_where() {
        let of = |text: &str| {
            let origin = Origin { name: "a.csv".into(), ..Origin::default() };
            Record::parse(text, origin).expect_err("no record").to_string()
        };
        let columns = of("run,system,n\na,b,1\n");
        assert!(columns.starts_with("a.csv is no record of sorts: the columns backend, algorithm, op, key,"), "{columns}");
        let number = of(&format!("{HEADER}\nr,s,b,auto,sort,u32,none,uniform,asc,many,end_to_end,1,1,1,1,1,1,1,true\n"));
        assert_eq!(number, "a.csv, line 2: n is \"many\", and must be a whole number");
    }
}
