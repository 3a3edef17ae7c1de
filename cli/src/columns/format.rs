//! Files of columns, by their names.

use std::path::Path;

/// The format of a file of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnFormat {
    Parquet,
    /// The file format of Arrow's IPC, which is also version 2 of Feather.
    Arrow,
}

impl ColumnFormat {
    /// Returns the format that the extension of a file name implies.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_ascii_lowercase() {
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            _ => None,
        }
    }
}
