//! A file that replaces another has its owner, mode and attributes, and nobody may read it sooner than before.

use crate::keys::{bytes, keys};
use crate::tool::{NOBODY, Place, not_run};
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, chown};
use std::time::Duration;

/// The extended attribute with the access control list of a file, and the one that a directory gives to new files.
const LIST: &str = "system.posix_acl_access";
const DEFAULT_LIST: &str = "system.posix_acl_default";

fn metadata(place: &Place, name: &str) -> Metadata {
    fs::metadata(place.path(name)).expect("it is there")
}

fn mode(place: &Place, name: &str) -> u32 {
    metadata(place, name).mode() & 0o7777
}

/// Sorts into `out.csv` under a umask, and returns every mode that the temporary file had: while it was empty, and with content.
fn modes_while_writing(place: &Place, umask: &str) -> [BTreeSet<u32>; 2] {
    let script = format!("umask {umask}; exec \"$0\" sort a.bin --dtype u32 -o out.csv");
    let mut child = place.script(&script).spawn().expect("sh runs");
    let mut modes = [BTreeSet::new(), BTreeSet::new()];
    while child.try_wait().expect("it is our child").is_none() {
        for entry in fs::read_dir(place.path(".")).expect("the directory is there").flatten() {
            // The file may be gone between the two calls.
            match entry.metadata() {
                Ok(metadata) if entry.file_name().to_string_lossy().ends_with(".tmp") => {
                    modes[usize::from(metadata.len() > 0)].insert(metadata.mode() & 0o7777);
                }
                _ => {}
            }
        }
        // Once the file has content, rarer looks are enough, and leave the core to the program.
        if !modes[1].is_empty() {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    assert!(child.wait().expect("it ends").success());
    modes
}

#[test]
fn a_file_has_its_mode_from_the_first_byte_on() {
    let place = Place::with("a.bin", bytes(&keys::<u32>(400_000)));
    for old in [0o600, 0o640, 0o604, 0o622, 0o666, 0o755] {
        place.write("out.csv", "old");
        place.set_mode("out.csv", old);
        let [empty, filled] = modes_while_writing(&place, "0");
        assert_eq!(filled.iter().copied().collect::<Vec<_>>(), [old], "{old:o}");
        assert!(empty.iter().all(|mode| mode & !old == 0 || *mode == 0o600), "{old:o}: {empty:?}");
        assert_eq!(mode(&place, "out.csv"), old);
    }
    // Those of a new file follow the umask.
    for (umask, new) in [("0", 0o666), ("022", 0o644), ("077", 0o600)] {
        fs::remove_file(place.path("out.csv")).expect("it is ours");
        let [empty, filled] = modes_while_writing(&place, umask);
        assert_eq!(filled.iter().copied().collect::<Vec<_>>(), [new], "{umask}");
        assert!(empty.iter().all(|mode| mode & !new == 0), "{umask}: {empty:?}");
        assert_eq!(mode(&place, "out.csv"), new);
    }
}

#[test]
fn special_bits_of_an_own_file_stay() {
    let place = Place::with("a.bin", [2, 1]);
    for bits in [0o4755, 0o2755, 0o1644, 0o7700] {
        place.write("out.bin", "old");
        place.set_mode("out.bin", bits);
        assert_eq!(mode(&place, "out.bin"), bits);
        place.run("sort a.bin --dtype u8 -o out.bin").ok();
        assert_eq!((mode(&place, "out.bin"), place.read("out.bin")), (bits, vec![1, 2]), "{bits:o}");
    }
}

#[test]
fn a_privileged_process_keeps_owner_and_group() {
    let place = Place::with("a.bin", [2, 1]);
    if !place.is_root() {
        return not_run("a_privileged_process_keeps_owner_and_group: it needs root");
    }
    for bits in [0o640, 0o4755, 0o6711] {
        place.write("out.bin", "old");
        chown(place.path("out.bin"), Some(1234), Some(2345)).expect("root may");
        place.set_mode("out.bin", bits);
        place.run("sort a.bin --dtype u8 -o out.bin").ok();
        let new = metadata(&place, "out.bin");
        assert_eq!((new.uid(), new.gid(), new.mode() & 0o7777, place.read("out.bin")), (1234, 2345, bits, vec![1, 2]));
    }
}

#[test]
fn a_process_that_may_not_keep_owner_and_group_drops_special_bits() {
    let place = Place::with("a.bin", [2, 1]);
    if !place.is_root() {
        return not_run("a_process_that_may_not_keep_owner_and_group_drops_special_bits: it needs root, to become another user");
    }
    place.set_mode(".", 0o777);
    // The owner and the group of a file, its mode, and what a process of another user makes of that.
    let other = (NOBODY, NOBODY);
    let cases = [
        ((0, 0), 0o4666, other, 0o666, vec!["its owner and group were 0:0 and are 65534:65534", "its setuid bit is dropped"]),
        ((0, NOBODY), 0o6674, other, 0o674, vec!["0:65534 and are 65534:65534", "its setuid bit", "its setgid bit"]),
        // The members of the new group may do what everybody may.
        ((NOBODY, 0), 0o1674, other, 0o644, vec!["65534:0 and are 65534:65534", "its sticky bit is dropped"]),
        ((NOBODY, 0), 0o660, other, 0o600, vec!["65534:0 and are 65534:65534"]),
    ];
    for (owner, old, new_owner, new, notes) in cases {
        place.write("out.bin", "old");
        chown(place.path("out.bin"), Some(owner.0), Some(owner.1)).expect("root may");
        place.set_mode("out.bin", old);
        let ran = place.command_of_nobody("sort a.bin --dtype u8 -o out.bin").output().expect("the binary runs");
        let said = String::from_utf8(ran.stderr).expect("messages are text");
        let found = metadata(&place, "out.bin");
        assert_eq!(
            (found.uid(), found.gid(), found.mode() & 0o7777, ran.status.code()),
            (new_owner.0, new_owner.1, new, Some(0)),
            "{old:o}: {said}"
        );
        assert_eq!(place.read("out.bin"), [1, 2]);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), notes.len(), "{said}");
        for (line, note) in lines.iter().zip(notes) {
            assert!(line.starts_with("polysort: note: out.bin: ") && line.contains(note), "{line}");
        }
    }
}

/// Whether the directory can hold extended attributes of this name.
fn holds(place: &Place, name: &str, value: &[u8]) -> bool {
    place.write("probe", "");
    let holds = xattr::set(place.path("probe"), name, value).is_ok();
    fs::remove_file(place.path("probe")).expect("it is ours");
    holds
}

/// An access control list: rights of the owner, of a user, of the group, the mask, and rights of the others, in the kernel's form.
fn list(owner: u16, user: u16, group: u16, mask: u16, others: u16) -> Vec<u8> {
    let none = u32::MAX;
    let entries = [(1_u16, owner, none), (2, user, 4321), (4, group, none), (16, mask, none), (32, others, none)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn extended_attributes_stay() {
    let place = Place::with("a.bin", [2, 1]);
    if !holds(&place, "user.origin", b"x") {
        return not_run("extended_attributes_stay: the temporary directory holds no extended attributes");
    }
    place.write("out.bin", "old");
    let all = [("user.origin", &b"sensor 7\0\xff"[..]), ("user.empty", b"")];
    for (name, value) in all {
        xattr::set(place.path("out.bin"), name, value).expect("it can be set");
    }
    place.run("sort a.bin --dtype u8 -o out.bin").ok();
    assert_eq!(place.read("out.bin"), [1, 2]);
    for (name, value) in all {
        assert_eq!(xattr::get(place.path("out.bin"), name).expect("it can be read").as_deref(), Some(value));
    }
    // A version, and two sets of 64 capabilities, in which one is set. The kernel removes this attribute when a file is written.
    let capability = [0x0200_0000_u32, 1 << 10, 0, 0, 0].map(u32::to_le_bytes).concat();
    if !holds(&place, "security.capability", &capability) {
        return not_run("extended_attributes_stay, in part: file capabilities need root");
    }
    xattr::set(place.path("out.bin"), "security.capability", &capability).expect("it can be set");
    let ran = place.run("sort a.bin --dtype u8 -o out.bin");
    assert_eq!((ran.code, &*ran.stderr), (0, "polysort: note: out.bin: its extended attributes security.capability are lost\n"));
    assert_eq!(xattr::get(place.path("out.bin"), "user.origin").expect("it can be read").as_deref(), Some(all[0].1));
}

#[test]
#[cfg(target_os = "linux")]
fn access_control_lists_stay_and_none_is_added() {
    let place = Place::with("a.bin", bytes(&keys::<u32>(1_000_000)));
    if !holds(&place, LIST, &list(6, 4, 4, 4, 0)) {
        return not_run("access_control_lists_stay_and_none_is_added: the temporary directory holds no lists");
    }
    let access = |name: &str| xattr::get(place.path(name), LIST).expect("it can be read");
    place.write("out.csv", "old");
    xattr::set(place.path("out.csv"), LIST, &list(6, 6, 4, 6, 0)).expect("it can be set");
    let old = mode(&place, "out.csv");
    let [_, filled] = modes_while_writing(&place, "0");
    assert_eq!((filled.into_iter().collect::<Vec<_>>(), mode(&place, "out.csv")), (vec![old], old));
    assert_eq!(access("out.csv"), Some(list(6, 6, 4, 6, 0)));
    // A directory whose new files another user may write. A file that has no such list stays without one; a new file gets it.
    xattr::set(place.path("."), DEFAULT_LIST, &list(7, 7, 7, 7, 0)).expect("it can be set");
    fs::remove_file(place.path("out.csv")).expect("it is ours");
    place.run("sort a.bin --dtype u32 -o out.csv").ok();
    assert!(access("out.csv").is_some());
    fs::remove_file(place.path("out.csv")).expect("it is ours");
    place.write("out.csv", "old");
    xattr::remove(place.path("out.csv"), LIST).expect("it can be removed");
    place.set_mode("out.csv", 0o640);
    let [_, filled] = modes_while_writing(&place, "0");
    assert_eq!((filled.into_iter().collect::<Vec<_>>(), access("out.csv")), (vec![0o640], None));
}

#[test]
fn other_names_of_a_file_are_noted() {
    let place = Place::with("a.bin", [2, 1]);
    fs::hard_link(place.path("a.bin"), place.path("b.bin")).expect("a link");
    let ran = place.run("sort a.bin --dtype u8 -o a.bin");
    assert_eq!((ran.code, place.read("a.bin"), place.read("b.bin")), (0, vec![1, 2], vec![2, 1]));
    assert_eq!(ran.stderr, "polysort: note: a.bin: its other names (hard links: 1) keep the old content\n");
}
