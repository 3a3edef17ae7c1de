//! What can go wrong with a record.

use std::error::Error;
use std::path::PathBuf;

/// A record that cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A path of records does not exist.
    #[error("{}: no such file or folder; name a folder of records, such as benches/record, or a .csv that `polysort bench --csv` wrote", .0.display())]
    Missing(PathBuf),
    /// A folder has no file whose name ends with `.csv`.
    #[error("{}: no .csv in this folder or in a folder below it; `polysort bench --csv FILE` writes one", .0.display())]
    Empty(PathBuf),
    /// A file or folder cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A CSV file lacks columns.
    #[error("{} is no record of sorts: the columns {missing} are missing; `polysort bench --csv FILE` writes a file that has them", .path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// The names of the missing columns.
        missing: String,
    },
    /// A field that must be a number is something else.
    #[error("{}, line {line}: {column} is {text:?}, and must be a whole number", .path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The name of the column.
        column: &'static str,
        /// The content of the field.
        text: String,
    },
    /// The records have no figure.
    #[error("the records have no rows that a figure can show: {0}")]
    NoFigure(String),
    /// The charting library failed.
    #[error("cannot draw")]
    Draw(#[source] Box<dyn Error + Send + Sync>),
}
