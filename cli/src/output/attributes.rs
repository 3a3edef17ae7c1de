//! The owner, mode and extended attributes of a file, given to the file that replaces it.
//!
//! ```text
//! create    with the permissions of the owner alone, since the group is not the right one yet
//! give      owner and group, or the group alone; extended attributes with the access control list; the permissions of all
//!           the content is written
//! finish    setuid, setgid and sticky bits, which a write clears; only if owner and group are the same
//! ```
//!
//! At no time can a user read or write the new file who cannot read or write the old one.

use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use xattr::FileExt;

/// The extended attributes that hold an access control list.
const LISTS: [&str; 3] = ["system.posix_acl_access", "system.nfs4_acl", "system.richacl"];

/// The extended attributes that describe the content of a file. The kernel removes or invalidates them when the content changes.
const OF_CONTENT: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// The special bits of a mode, and their names.
const SPECIAL: [(u32, &str); 3] = [(0o4000, "setuid"), (0o2000, "setgid"), (0o1000, "sticky")];

const GROUP: u32 = 0o070;

/// The attributes of the replaced file that the new file keeps.
pub(crate) struct Attributes {
    metadata: Metadata,
    xattrs: Vec<(OsString, Vec<u8>)>,
    /// Whether the new file has the owner and the group of the old one.
    keeps_owner: bool,
    /// The attributes that the new file does not keep, in words.
    lost: Vec<String>,
}

impl Attributes {
    /// Reads the attributes of a file; none if there is no such file.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut attributes = Self { metadata, xattrs: vec![], keeps_owner: false, lost: vec![] };
        match xattr::list(path) {
            Ok(names) => {
                for name in names {
                    match xattr::get(path, &name) {
                        Ok(Some(value)) => attributes.xattrs.push((name, value)),
                        // It was removed between the two calls.
                        Ok(None) => {}
                        Err(error) => attributes.lost.push(format!("its extended attribute {} is lost: {error}", name.display())),
                    }
                }
            }
            Err(error) if is_unsupported(&error) => {}
            Err(error) => attributes.lost.push(format!("its extended attributes could not be read: {error}")),
        }
        if attributes.metadata.nlink() > 1 {
            let others = attributes.metadata.nlink() - 1;
            attributes.lost.push(format!("its other names (hard links: {others}) keep the old content"));
        }
        Ok(Some(attributes))
    }

    /// Returns the mode to create the new file with.
    pub(crate) fn mode_at_creation(&self) -> u32 {
        self.metadata.mode() & 0o700
    }

    /// Gives the attributes to the new file, which is empty.
    pub(crate) fn give(&mut self, file: &File) -> io::Result<()> {
        let keeps_group = self.give_owner(file)?;
        let keeps_list = self.give_xattrs(file, keeps_group)?;
        let mut mode = self.metadata.mode() & 0o777;
        if !keeps_group || !keeps_list {
            // The group may do what everybody may, and no more: it is another group, or the list allowed it less than these bits.
            mode &= !GROUP | mode << 3;
        }
        file.set_permissions(Permissions::from_mode(mode))
    }

    /// Gives the owner and the group as far as this process may. Returns whether the file has the same group.
    fn give_owner(&mut self, file: &File) -> io::Result<bool> {
        let (uid, gid) = (self.metadata.uid(), self.metadata.gid());
        let created = file.metadata()?;
        if (created.uid(), created.gid()) != (uid, gid) && fchown(file, Some(uid), Some(gid)).is_err() {
            fchown(file, None, Some(gid)).ok();
        }
        let given = file.metadata()?;
        self.keeps_owner = (given.uid(), given.gid()) == (uid, gid);
        if !self.keeps_owner {
            self.lost.push(format!(
                "its owner and group were {uid}:{gid} and are {}:{}, since this process may not keep them",
                given.uid(),
                given.gid()
            ));
        }
        Ok(given.gid() == gid)
    }

    /// Gives the extended attributes, and returns whether the file has the same access control list, or none as before.
    fn give_xattrs(&mut self, file: &File, keeps_group: bool) -> io::Result<bool> {
        // A directory may give an access control list to each new file in it.
        for list in LISTS {
            if !self.xattrs.iter().any(|(name, _)| name == list) && matches!(file.get_xattr(list), Ok(Some(_))) {
                file.remove_xattr(list)?;
            }
        }
        let (mut lost, mut keeps_list): (Vec<&str>, _) = (vec![], true);
        for (name, value) in &self.xattrs {
            // A list for another group would give rights to that group.
            let is_kept = !is_one_of(name, &OF_CONTENT) && (keeps_group || !is_one_of(name, &LISTS));
            let is_there = || file.get_xattr(name).is_ok_and(|there| there.as_ref() == Some(value));
            if !is_kept || !is_there() && file.set_xattr(name, value).is_err() {
                lost.push(name.to_str().unwrap_or("one whose name is no text"));
                keeps_list &= !is_one_of(name, &LISTS);
            }
        }
        if !lost.is_empty() {
            self.lost.push(format!("its extended attributes {} are lost", lost.join(", ")));
        }
        Ok(keeps_list)
    }

    /// Gives the special bits of the mode to the written file. Returns what the new file does not keep, in words.
    pub(crate) fn finish(mut self, file: &File) -> io::Result<Vec<String>> {
        let special = self.metadata.mode() & 0o7000;
        if special != 0 && self.keeps_owner {
            file.set_permissions(Permissions::from_mode(self.metadata.mode() & 0o7777))?;
        }
        let dropped = special & !file.metadata()?.mode();
        for (_, name) in SPECIAL.iter().filter(|(bit, _)| dropped & bit != 0) {
            self.lost.push(format!("its {name} bit is dropped"));
        }
        Ok(self.lost)
    }
}

fn is_one_of(name: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|known| name == *known)
}

/// Whether a file system, or this operating system, has no extended attributes.
fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(Errno::NOTSUP.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_lost_gives_the_group_no_rights() -> io::Result<()> {
        let old = tempfile::NamedTempFile::new()?;
        // With a list, these bits of the group are the mask of the list: what the group itself may do is less.
        for (mode, expected) in [(0o660, 0o600), (0o674, 0o644), (0o666, 0o666)] {
            old.as_file().set_permissions(Permissions::from_mode(mode))?;
            let mut attributes = Attributes::of(old.path())?.expect("it is there");
            attributes.xattrs = vec![(LISTS[0].into(), b"no list".into())];
            let new = tempfile::NamedTempFile::new()?;
            attributes.give(new.as_file())?;
            assert_eq!(new.as_file().metadata()?.mode() & 0o7777, expected, "{mode:o}");
            let lost = format!("its extended attributes {} are lost", LISTS[0]);
            assert_eq!(attributes.finish(new.as_file())?, [lost]);
        }
        Ok(())
    }
}
