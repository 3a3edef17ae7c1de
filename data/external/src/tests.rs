//! Faults: each call of the file system, the input and the output fails in turn.

use crate::files::{Files, TempFiles};
use crate::{ByKey, ExternalError, Sorter};
use polysort_core::Error;
use polysort_rayon::RayonBackend;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Counts calls, and fails one of them.
struct Fault {
    calls: AtomicUsize,
    failing: usize,
    happened: AtomicBool,
}

impl Fault {
    fn call<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.failing {
            self.happened.store(true, Ordering::Relaxed);
            return Err(io::Error::new(io::ErrorKind::StorageFull, "injected"));
        }
        call()
    }
}

/// Temporary files, an input or an output with a fault.
struct Faulty<'a, T>(&'a Fault, T);

impl Files for Faulty<'_, TempFiles> {
    type File = File;

    fn folder(&self) -> PathBuf {
        self.1.folder()
    }

    fn create(&self) -> io::Result<File> {
        self.0.call(|| self.1.create())
    }

    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.0.call(|| self.1.append(file, bytes))
    }

    fn read(&self, file: &mut File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.call(|| self.1.read(file, offset, bytes))
    }
}

impl<T: Read> Read for Faulty<'_, T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // Short reads, which are no error.
        let len = bytes.len().min(99_999);
        self.0.call(|| self.1.read(&mut bytes[..len]))
    }
}

impl<T: Write> Write for Faulty<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.call(|| self.1.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.call(|| self.1.flush())
    }
}

fn files_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Records of 64 bytes whose key is in the first four.
type Large = [u32; 16];

fn input(len: u32) -> Vec<Large> {
    (0..len).map(|i| core::array::from_fn(|at| if at == 0 { i.wrapping_mul(0x9e37_79b9) >> 12 } else { i })).collect()
}

#[test]
fn every_call_can_fail() {
    let folder = tempfile::tempdir().unwrap();
    let records = input(25_000);
    let mut expected = records.clone();
    expected.sort_by_key(|record| record[0]);
    // With `POLYSORT_THOROUGH=1` each call fails in turn, else every third.
    let is_thorough = std::env::var_os("POLYSORT_THOROUGH").is_some_and(|value| value == "1");
    let every = if is_thorough { 1 } else { 3 };
    for failing in (0..).step_by(every) {
        let fault = Fault { calls: AtomicUsize::new(0), failing, happened: AtomicBool::new(false) };
        let files = Faulty(&fault, TempFiles(folder.path().into()));
        let mut output = vec![];
        let mut sorter = Sorter::new(ByKey::new(|record: &Large| record[0]), RayonBackend::default()).memory(1 << 20);
        let result = sorter.sort_on(&files, Faulty(&fault, bytemuck::cast_slice(&records)), &mut Faulty(&fault, &mut output));
        assert_eq!(files_in(folder.path()), 0, "call {failing}");
        match result {
            Ok(summary) => {
                assert!(!fault.happened.into_inner(), "call {failing} failed and nobody noticed");
                assert!(summary.runs > 3 && failing > 100, "{summary:?}, {failing} calls");
                assert!(output == bytemuck::cast_slice::<_, u8>(&expected));
                return;
            }
            Err(error) => {
                let named = matches!(error, ExternalError::Input(_) | ExternalError::Output(_) | ExternalError::Spill { .. });
                assert!(named && fault.happened.into_inner() && error.to_string().contains("injected"), "{error}");
                let needs_room = matches!(error, ExternalError::Spill { what: "created" | "written", .. });
                assert_eq!(error.to_string().contains("is there room in the folder"), needs_room, "{error}");
            }
        }
    }
}

/// Files that lose their end once they are read.
struct Truncated(TempFiles);

impl Files for Truncated {
    type File = File;

    fn folder(&self) -> PathBuf {
        self.0.folder()
    }

    fn create(&self) -> io::Result<File> {
        self.0.create()
    }

    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.0.append(file, bytes)
    }

    fn read(&self, file: &mut File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        file.set_len(1_000_003)?;
        self.0.read(file, offset, bytes)
    }
}

#[test]
fn a_truncated_spill_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let records = input(40_000);
    let mut sorter = Sorter::new(ByKey::new(|record: &Large| record[0]), RayonBackend::default()).memory(1 << 20);
    let result = sorter.sort_on(&Truncated(TempFiles(folder.path().into())), bytemuck::cast_slice(&records), &mut vec![]);
    let error = result.unwrap_err();
    assert!(
        matches!(&error, ExternalError::Spill { what: "read", source, .. } if source.kind() == io::ErrorKind::UnexpectedEof),
        "{error}"
    );
    assert!(!error.to_string().contains("room"), "{error}");
}

#[test]
fn errors_of_the_sort_are_passed_on() {
    let mut sorter = Sorter::new(ByKey::new(|record: &Large| record[0]), RayonBackend::default());
    sorter = sorter.options(polysort_core::Options::ascending().bits(3..40));
    let error = sorter.sort(&[][..], vec![]).unwrap_err();
    assert!(matches!(error, ExternalError::Sort(Error::InvalidRange { end: 40, .. })), "{error}");
}
