//! The records of a folder that a report draws.
//!
//! ```text
//! for each machine and kind:
//!     for each record, the newest first:
//!         draw it, if it is the newest or has a peer that no newer one has
//! ```
//!
//! A record is drawn as a whole or not at all: systems of different runs are never compared.

use crate::contest::peers;
use crate::error::ReportError;
use crate::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The records at some paths.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// The records to draw, by machine and kind, the newest first.
    pub records: Vec<Record>,
    /// Records that newer ones of the same kind and machine replace, the newest first.
    pub older: Vec<Record>,
    /// The reason for each CSV file of a folder that is not drawn: it has other columns.
    pub others: Vec<String>,
}

impl Collection {
    /// Reads the records at `paths`. A CSV file is read in any case. Of a folder and the folders below it, the newest record of each kind and machine is
    /// drawn. An older record is drawn too if it has a peer that no newer record of its kind and machine has.
    ///
    /// # Errors
    /// If a path does not exist, if a file cannot be read, if a file of `paths` is no record, or if no record is found.
    pub fn read(paths: &[PathBuf]) -> Result<Self, ReportError> {
        let mut found = Self::default();
        for path in paths {
            if path.is_dir() {
                found.add_folder(path)?;
            } else if path.exists() {
                found.records.push(Record::read(path)?);
            } else {
                return Err(ReportError::Missing(path.clone()));
            }
        }
        if found.records.is_empty() {
            return Err(ReportError::NoFigure(found.others.join("; ")));
        }
        let Self { records, older, .. } = &mut found;
        records.sort_by(|a, b| {
            (&a.origin.machine, rank(&a.origin.kind), &a.origin.kind).cmp(&(
                &b.origin.machine,
                rank(&b.origin.kind),
                &b.origin.kind,
            ))
        });
        older.sort_by(|a, b| b.origin.recency().cmp(&a.origin.recency()));
        Ok(found)
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), ReportError> {
        let files = csv_files(folder)?;
        if files.is_empty() {
            return Err(ReportError::Empty(folder.into()));
        }
        let mut records = vec![];
        for file in files {
            match Record::read(&file) {
                Ok(record) => records.push(record),
                Err(error @ ReportError::Columns { .. }) => self.others.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        records.sort_by(|a, b| b.origin.recency().cmp(&a.origin.recency()));
        // For each machine and kind: the peers of the newer records.
        let mut kinds = BTreeMap::<_, BTreeSet<String>>::new();
        for record in records {
            let kind = (record.origin.machine.clone(), record.origin.kind.clone());
            let is_newest = !kinds.contains_key(&kind);
            let known = kinds.entry(kind).or_default();
            let count = known.len();
            known.extend(peers(&record.rows).into_iter().map(String::from));
            if is_newest || known.len() > count { &mut self.records } else { &mut self.older }.push(record);
        }
        Ok(())
    }
}

/// Returns the place of a kind in a report: those with most peers first.
fn rank(kind: &str) -> usize {
    const FIRST: [&str; 6] = ["grid", "gpu", "large", "types", "patterns", "select"];
    FIRST.iter().position(|first| *first == kind).unwrap_or(FIRST.len())
}

/// Returns the CSV files of a folder and of the folders below it, in the order of their names.
fn csv_files(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let cannot_read = |error: std::io::Error| ReportError::Read { path: folder.into(), source: error.into() };
    let mut entries = vec![];
    for entry in std::fs::read_dir(folder).map_err(cannot_read)? {
        entries.push(entry.map_err(cannot_read)?);
    }
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = vec![];
    for entry in entries {
        // A link to a folder is not followed: it could lead back here.
        let kind = entry.file_type().map_err(cannot_read)?;
        let path = entry.path();
        if kind.is_dir() {
            files.extend(csv_files(&path)?);
        } else if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv")) {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_measure::HEADER;

    /// Writes files below a new folder.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        folder
    }

    fn names(records: &[Record]) -> Vec<&str> {
        records.iter().map(|record| &*record.origin.name).collect()
    }

    #[test]
    fn the_newest_of_each_kind_and_machine() {
        let files = [
            ("records/one/2026-11-23-grid.csv", HEADER),
            ("records/one/2026-11-23-10-grid.csv", HEADER),
            ("records/one/2026-11-23-9-grid.csv", HEADER),
            ("records/one/2026-11-23-10.txt", "a quiet machine"),
            ("records/one/2026-11-24-select.csv", HEADER),
            ("records/one/2026-11-24-calls.csv", "turn,n\n"),
            ("records/two/2026-11-22-grid.csv", HEADER),
            ("records/two/2026-11-22-grid.txt", "of the grid"),
            ("records/two/2026-11-22.txt", "of the day"),
        ];
        let folder = folder(&files);
        let path = folder.path().join("records");
        let found = Collection::read(&[path]).expect("records");
        assert_eq!(names(&found.records), ["one/2026-11-23-10-grid.csv", "one/2026-11-24-select.csv", "two/2026-11-22-grid.csv"]);
        assert_eq!(names(&found.older), ["one/2026-11-23-9-grid.csv", "one/2026-11-23-grid.csv"]);
        let texts: Vec<&str> = found.records.iter().map(|record| &*record.origin.text).collect();
        assert_eq!(texts, ["a quiet machine", "", "of the grid"]);
        assert!(
            matches!(&found.others[..], [why] if why.contains("2026-11-24-calls.csv is no record of sorts: the columns run,"))
        );
        // A file that is named is read, however old it is.
        let files = ["9-grid", "grid"].map(|end| folder.path().join(format!("records/one/2026-11-23-{end}.csv")));
        let found = Collection::read(&files).expect("records");
        assert_eq!((found.records.len(), found.older.len()), (2, 0));
    }

    #[test]
    fn an_older_record_is_drawn_for_a_peer_that_newer_ones_lack() {
        let of = |peers: &[&str]| {
            let row = |system: &&str| format!("r,{system},f,auto,sort,u32,none,uniform,asc,8,resident,,1,1,1,1,1,1,true\n");
            HEADER.to_string() + "\n" + &["polysort"].iter().chain(peers).map(row).collect::<String>()
        };
        let wrong = of(&["lampshade"]).replace("true", "false")
            + "r,torch,f,auto,ivf,f32,none,uniform,asc,8,resident,,1,1,1,1,1,1,true\n";
        let files = [
            ("gpu/2026-11-26-gpu.csv", &*of(&["cub"])),
            ("gpu/2026-11-25-gpu.csv", &wrong),
            ("gpu/2026-11-24-gpu.csv", &of(&["cub", "torch", "memcpy"])),
            ("gpu/2026-11-23-gpu.csv", &of(&["torch", "polysort-0123abc", "memcpy"])),
            ("gpu/2026-11-22-gpu.csv", &of(&["wgpu_sort", "torch"])),
        ];
        let folder = folder(&files);
        let found = Collection::read(&[folder.path().into()]).expect("records");
        assert_eq!(names(&found.records), ["gpu/2026-11-26-gpu.csv", "gpu/2026-11-24-gpu.csv", "gpu/2026-11-22-gpu.csv"]);
        // Wrong answers and rows that no figure shows are no reason to draw a record.
        assert_eq!(names(&found.older), ["gpu/2026-11-25-gpu.csv", "gpu/2026-11-23-gpu.csv"]);
    }

    #[test]
    fn errors_say_what_to_name_instead() {
        let folder = folder(&[("empty/readme.txt", ""), ("calls/a.csv", "turn,n\n")]);
        let of = |name: &str| Collection::read(&[folder.path().join(name)]).expect_err("no record").to_string();
        assert!(of("none").ends_with("none: no such file or folder; name a folder of records, such as benches/record, or a .csv that `polysort bench --csv` wrote"));
        assert!(of("empty").contains("empty: no .csv in this folder"));
        assert!(of("calls").contains("calls/a.csv is no record of sorts: the columns run, system,"));
        assert!(of("calls/a.csv").contains("calls/a.csv is no record of sorts: the columns run, system,"));
    }
}
