//! The file with the calibration. A user may give any path, so the file is read and replaced with care.
//!
//! ```text
//! read       only a regular file of some length, and only up to MOST_BYTES: nothing to wait for
//! replace    only a calibration, an empty file or no file; by a temporary file in the same folder
//! ```

use crate::stored::Stored;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The environment variable that names the file. Without it, the file is in the user's cache folder.
const VARIABLE: &str = "POLYSORT_CALIBRATION";

/// The words that every stored calibration begins with, whatever its version.
const FIRST_WORDS: &str = "polysort calibration ";

/// The most bytes of the file. A calibration of one machine has about four thousand.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the path of the file.
///
/// # Errors
/// If there is no cache folder, or if the path names something that must not be replaced.
pub(crate) fn path() -> io::Result<PathBuf> {
    let path =
        chosen_path().ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("there is no cache folder; set {VARIABLE}")))?;
    replaceable(&path)?;
    Ok(path)
}

/// Changes what is stored, and returns the path. Nothing is written if `edit` changes nothing. A calibration that cannot be parsed is replaced.
pub(crate) fn change(edit: impl FnOnce(&mut Stored)) -> io::Result<PathBuf> {
    let path = path()?;
    change_file(&path, edit)?;
    Ok(path)
}

fn change_file(path: &Path, edit: impl FnOnce(&mut Stored)) -> io::Result<()> {
    let before = replaceable(path)?.and_then(|text| Stored::parse(&text)).unwrap_or_default();
    let mut stored = before.clone();
    edit(&mut stored);
    if stored == before {
        return Ok(());
    }
    replace(path, &stored.text())
}

/// Writes a file that other processes may be reading: each of them reads the old text or the new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    try_replace(path, text).map_err(|error| named(path, "cannot be written", &error))
}

fn try_replace(path: &Path, text: &str) -> io::Result<()> {
    // If the path is a symbolic link, the link stays.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".polysort-calibration-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode of any new file. The umask takes bits from it.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // Without the path of the temporary file, which the user does not know.
    let file = builder.tempfile_in(folder).map_err(|error| {
        io::Error::new(error.kind(), format!("no file can be created in {}: {}", folder.display(), error.kind()))
    })?;
    file.as_file().write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Returns the error with the path of the calibration.
fn named(path: &Path, what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} {what}: {error}", path.display()))
}

/// Returns what is stored; none if the file does not exist or holds no calibration.
pub(crate) fn load() -> Option<Stored> {
    read(&chosen_path()?)
}

fn read(path: &Path) -> Option<Stored> {
    match read_text(path) {
        Ok(None) => None,
        Ok(Some(text)) => {
            let stored = Stored::parse(&text);
            if stored.is_none() {
                tracing::warn!(path = %path.display(), "not used: the file is no calibration; `calibrate` writes a new one");
            }
            stored
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "not used: the calibration cannot be read");
            None
        }
    }
}

/// Returns the text of the file; none if there is no file, or an empty one. It neither waits for a writer, as opening a FIFO would, nor
/// reads more than [`MOST_BYTES`].
fn read_text(path: &Path) -> io::Result<Option<String>> {
    let unreadable = |error: io::Error| named(path, "cannot be read", &error);
    let refuse = |why: String| Err(io::Error::new(ErrorKind::InvalidData, format!("{} {why}", path.display())));
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_file() {
        return refuse("is no regular file".into());
    }
    // Files of the kernel, whose reading may wait, have no length.
    if metadata.len() == 0 {
        return Ok(None);
    }
    if metadata.len() > MOST_BYTES {
        return refuse(format!("has {} bytes, and a calibration at most {MOST_BYTES}", metadata.len()));
    }
    let mut text = vec![];
    File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text)).map_err(unreadable)?;
    String::from_utf8(text).map(Some).or_else(|_| refuse("is no text, and so no calibration".into()))
}

/// Returns the text of the file, as [`read_text`].
///
/// # Errors
/// If the path names something that must not be replaced.
fn replaceable(path: &Path) -> io::Result<Option<String>> {
    let text = read_text(path)?;
    if text.as_ref().is_some_and(|text| !text.starts_with(FIRST_WORDS)) {
        let why = format!("{} is no calibration and is not replaced: remove it, or set {VARIABLE}", path.display());
        return Err(io::Error::new(ErrorKind::AlreadyExists, why));
    }
    Ok(text)
}

/// Returns the path that the environment or the cache folder gives.
fn chosen_path() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(path) => Some(path).filter(|path| !path.is_empty()).map(PathBuf::from),
        None => dirs::cache_dir().map(|folder| folder.join(Path::new("polysort/calibration"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{Costs, Measured};
    use polysort_shaders::plan::tuning::PassShape;
    use polysort_shaders::plan::{PassKind, Tuned};

    type Checked = Result<(), Box<dyn core::error::Error>>;

    #[test]
    fn costs_and_shapes_are_changed_apart() -> Checked {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("in/here/calibration");
        // A change that changes nothing creates no file.
        change_file(&path, |_| ())?;
        assert!(!path.exists());
        let shape = PassShape { group: 384, keys: 14, slices: 4 };
        let tuned = Tuned::NONE.with(PassKind::new(2, 0), shape)?;
        let measured = Measured { threads: 3, cores: Costs::even(1000.0, 1.0), gpu: None };
        let tune = |tuned| change_file(&path, |stored| stored.tuned.extend([("wgpu A card".into(), tuned)]));
        let stored = || read(&path).ok_or("nothing is stored");
        // Shapes alone, then costs beside them, then other shapes beside the costs.
        tune(tuned)?;
        assert_eq!((stored()?.measured, stored()?.tuned["wgpu A card"]), (None, tuned));
        change_file(&path, |stored| stored.measured = Some(measured.clone()))?;
        assert_eq!((stored()?.measured, stored()?.tuned["wgpu A card"]), (Some(measured.clone()), tuned));
        let other = tuned.with(PassKind::new(1, 0), shape)?;
        tune(other)?;
        assert_eq!((stored()?.measured, stored()?.tuned["wgpu A card"]), (Some(measured), other));
        Ok(())
    }

    #[test]
    fn only_calibrations_are_replaced() -> Checked {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("calibration");
        let measured = Measured { threads: 3, cores: Costs::even(1000.0, 1.0), gpu: None };
        let store = || change_file(&path, |stored| stored.measured = Some(measured.clone()));
        for kept in ["my thesis", "polysort", "\u{feff}polysort calibration 1\n"] {
            std::fs::write(&path, kept)?;
            assert!(store().is_err_and(|error| error.to_string().contains("is no calibration")), "{kept}");
            assert_eq!(std::fs::read_to_string(&path)?, kept);
        }
        std::fs::write(&path, b"polysort calibration \xff")?;
        assert!(store().is_err_and(|error| error.to_string().contains("is no text")));
        File::options().write(true).open(&path)?.set_len(MOST_BYTES + 1)?;
        assert!(store().is_err_and(|error| error.to_string().contains("has 1048577 bytes")));
        for replaced in ["", "polysort calibration 1\nbut what then?", "polysort calibration 99\n"] {
            std::fs::write(&path, replaced)?;
            store()?;
            assert_eq!(read(&path).map(|stored| stored.measured), Some(Some(measured.clone())), "{replaced}");
        }
        assert!(Stored::default().text().starts_with(FIRST_WORDS));
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }
}
