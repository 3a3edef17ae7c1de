//! A row of a record, and the CSV file that it is in.

use crate::times::Times;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The columns of a record. Records of a GPU, and those that `polysort bench` writes, lack `threads`.
pub const HEADER: &str = "run,system,backend,algorithm,op,key,payload,pattern,order,n,scope,threads,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps,verified";

/// What was sorted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The operation, such as `sort`.
    pub op: String,
    /// The type of the keys.
    pub key: String,
    /// The type of the values, or `none`.
    pub payload: String,
    /// The name of the pattern.
    pub pattern: String,
    /// The number of keys in one call.
    pub n: usize,
    /// The number of threads, if the record has it.
    pub threads: Option<usize>,
    /// The direction: `asc` or `desc`.
    pub order: String,
    /// What is timed: `resident` or `end_to_end`.
    pub scope: String,
}

/// The statistic of a row that counts as its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The median.
    Median,
    /// The shortest time: where other jobs disturb the machine.
    Least,
}

/// One system in one cell. Times are in nanoseconds, for one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name of the process.
    pub run: String,
    /// The author of the code: `polysort`, or a peer.
    pub system: String,
    /// Our backend, or the function of a peer.
    pub backend: String,
    /// The algorithm, or `auto`.
    pub algorithm: String,
    /// What was sorted.
    pub cell: Cell,
    /// The median, the 5th and the 95th percentile, the shortest and the longest time.
    pub times: [u64; 5],
    /// The number of timed runs.
    pub reps: usize,
    /// Whether each run gave the right answer.
    pub verified: bool,
}

impl Row {
    /// Returns the row of a system whose algorithm is `auto`. Each of the runs made `calls` calls.
    pub fn new(run: &str, (system, backend): (&str, &str), cell: &Cell, times: &Times, calls: usize, verified: bool) -> Self {
        Self {
            run: run.into(),
            system: system.into(),
            backend: backend.into(),
            algorithm: "auto".into(),
            cell: cell.clone(),
            times: times.of_one(calls),
            reps: times.count(),
            verified,
        }
    }

    /// Returns the time of one call by the statistic `by`, in nanoseconds.
    pub fn time(&self, by: By) -> f64 {
        self.times[if by == By::Median { 0 } else { 3 }].max(1) as f64
    }

    /// Returns the fields in the order of [`HEADER`]. A row without a number of threads has no field for it.
    fn fields(&self) -> Vec<String> {
        let Cell { op, key, payload, pattern, n, threads, order, scope } = &self.cell;
        let texts = [&self.run, &self.system, &self.backend, &self.algorithm, op, key, payload, pattern, order];
        let mut fields: Vec<String> = texts.into_iter().cloned().collect();
        fields.extend([n.to_string(), scope.clone()]);
        fields.extend(threads.map(|threads| threads.to_string()));
        fields.extend(self.times.map(|time| time.to_string()));
        fields.extend([self.reps.to_string(), self.verified.to_string()]);
        fields
    }
}

/// Returns the text of a record: the columns and the rows. It has the column `threads` if its first row has a number of threads; all rows must be alike.
pub fn record(rows: &[Row]) -> String {
    let has_threads = rows.first().is_some_and(|row| row.cell.threads.is_some());
    let header = if has_threads { HEADER.into() } else { HEADER.replace("threads,", "") };
    header + "\n" + &lines(rows)
}

/// Appends rows to the record at `path`. A new or empty file gets the columns first.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, rows: &[Row]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let text = if file.metadata()?.len() == 0 { record(rows) } else { lines(rows) };
    file.write_all(text.as_bytes())
}

fn lines(rows: &[Row]) -> String {
    rows.iter().map(|row| csv_line(row.fields())).collect()
}

/// Returns a line of a CSV file (RFC 4180), with its end. A field with a comma, a quote or a line break is put in quotes.
pub(crate) fn csv_line(fields: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let quoted = |field: &str| match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_string(),
    };
    let fields: Vec<String> = fields.into_iter().map(|field| quoted(field.as_ref())).collect();
    fields.join(",") + "\n"
}

/// Returns a name for this process that no other has: the time in nanoseconds since 1970.
pub fn run_name() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    format!("{:x}", since.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(threads: Option<usize>) -> Row {
        let [op, key, payload, pattern, order, scope] = ["sort", "u32", "none", "uniform", "asc", "end_to_end"].map(String::from);
        let cell = Cell { op, key, payload, pattern, n: 1024, threads, order, scope };
        let times = [300, 100, 200].map(Duration::from_nanos).into_iter().collect();
        Row::new("r", ("polysort", "rayon"), &cell, &times, 2, true)
    }

    #[test]
    fn a_record_has_threads_if_its_rows_have() {
        assert_eq!(
            record(&[row(Some(4))]),
            "run,system,backend,algorithm,op,key,payload,pattern,order,n,scope,threads,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps,verified\n\
             r,polysort,rayon,auto,sort,u32,none,uniform,asc,1024,end_to_end,4,100,50,150,50,150,3,true\n"
        );
        let without = "run,system,backend,algorithm,op,key,payload,pattern,order,n,scope,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps,verified\n";
        assert_eq!(
            record(&[row(None)]),
            without.to_string() + "r,polysort,rayon,auto,sort,u32,none,uniform,asc,1024,end_to_end,100,50,150,50,150,3,true\n"
        );
        assert_eq!(record(&[]), without);
        assert_eq!((row(None).time(By::Median), row(None).time(By::Least)), (100.0, 50.0));
    }

    #[test]
    fn rows_are_appended_below_one_line_of_columns() {
        let path = std::env::temp_dir().join(format!("polysort-measure-{}-{}.csv", std::process::id(), run_name()));
        for _ in 0..2 {
            append(&path, &[row(Some(1)), row(Some(2))]).expect("a file that can be written");
        }
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::remove_file(&path).expect("a file that can be removed");
        assert_eq!((text.lines().count(), text.matches("run,system").count()), (5, 1), "{text}");
        assert!(text.starts_with(&record(&[row(Some(1)), row(Some(2))])));
    }

    #[test]
    fn only_fields_that_need_quotes_have_them() {
        assert_eq!(csv_line(["a b", "", "1.5"]), "a b,,1.5\n");
        assert_eq!(csv_line(["a, b", "say \"no\"", "two\nlines"]), "\"a, b\",\"say \"\"no\"\"\",\"two\nlines\"\n");
    }
}
