//! A file that takes the place of another when it is complete.

use super::target::folder;
use super::unfinished::Unfinished;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use {super::attributes::Attributes, crate::message::note};

/// A file that will have the name `path`. Until it is [finished](Replacement::finish), a file of this name stays as it is.
pub(crate) struct Replacement {
    path: PathBuf,
    unfinished: Unfinished,
    /// The attributes of the replaced file that this file keeps.
    #[cfg(unix)]
    attributes: Option<Attributes>,
}

impl Replacement {
    /// Checks that a file can be created beside `path`.
    pub(crate) fn check(path: &Path) -> io::Result<()> {
        // The message names the directory instead of the temporary file, which the user does not know.
        Unfinished::create(folder(path), None).map(drop).map_err(|error| {
            io::Error::new(error.kind(), format!("no file can be created in {}: {}", folder(path).display(), error.kind()))
        })
    }

    /// Creates the file, empty. If `path` exists, the file has its owner, mode and attributes.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no attributes to give"))]
        let mut replacement = Self::create(path)?;
        #[cfg(unix)]
        if let Some(attributes) = &mut replacement.attributes {
            attributes.give(&replacement.unfinished.file)?;
        }
        Ok(replacement)
    }

    /// Creates the file without the attributes. If `path` exists, only the owner of the file may open it.
    #[cfg(unix)]
    fn create(path: &Path) -> io::Result<Self> {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        let attributes = Attributes::of(path)?;
        let mode = attributes.as_ref().map_or(0o666, Attributes::mode_at_creation);
        let unfinished = Unfinished::create(folder(path), Some(Permissions::from_mode(mode)))?;
        Ok(Self { path: path.into(), unfinished, attributes })
    }

    #[cfg(not(unix))]
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.into(), unfinished: Unfinished::create(folder(path), None)? })
    }

    /// Returns the file, to be written.
    pub(crate) fn file(&self) -> &File {
        &self.unfinished.file
    }

    /// Gives the complete file its name, and notes what it does not keep of the file that it replaces.
    pub(crate) fn finish(self) -> io::Result<()> {
        #[cfg(unix)]
        let lost = self.attributes.map_or(Ok(vec![]), |attributes| attributes.finish(&self.unfinished.file))?;
        // After a power failure the name must not belong to a file whose bytes are not on the disk.
        self.unfinished.file.sync_all()?;
        self.unfinished.rename(&self.path)?;
        #[cfg(unix)]
        lost.iter().for_each(|lost| note(&format!("{}: {lost}", self.path.display())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The names in a directory.
    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("the directory exists");
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect()
    }

    #[test]
    fn a_file_that_is_not_finished_is_removed() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("out.bin");
        std::fs::write(&path, "old").expect("a file");
        let write = |fails: bool| {
            let replacement = Replacement::new(&path).expect("a file can be created");
            replacement.file().write_all(b"new").expect("it can be written");
            assert_eq!(names(folder.path()).len(), 2);
            assert!(!fails, "on purpose");
        };
        write(false);
        assert_eq!(names(folder.path()), ["out.bin"]);
        assert!(catch_unwind(AssertUnwindSafe(|| write(true))).is_err());
        assert_eq!(names(folder.path()), ["out.bin"]);
        assert_eq!(std::fs::read(&path).expect("it is there"), b"old");
    }

    /// Between its creation and its change of owner, the file belongs to this process and its group. No poll sees so short a time.
    #[test]
    #[cfg(unix)]
    fn no_other_user_may_open_a_file_before_it_has_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("out.bin");
        std::fs::write(&path, "old").expect("a file");
        for (old, created) in [(0o666, 0o600), (0o755, 0o700), (0o640, 0o600), (0o222, 0o200), (0o060, 0)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(old)).expect("it is ours");
            let replacement = Replacement::create(&path).expect("a file can be created");
            let mode = replacement.file().metadata().expect("it is open").permissions().mode();
            assert_eq!(mode & 0o7777, created, "{old:o}");
        }
    }

    #[test]
    fn two_files_at_a_time_have_different_names() {
        let folder = tempfile::tempdir().expect("a directory");
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        let [a, b] = [&paths[0], &paths[1]].map(|path| Replacement::new(path).expect("a file can be created"));
        a.file().write_all(b"a").expect("it can be written");
        drop(b);
        a.finish().expect("it can be renamed");
        assert_eq!(names(folder.path()), ["a"]);
        assert_eq!(std::fs::read(&paths[0]).expect("it is there"), b"a");
    }
}
