//! How results are written: whole or not at all, whatever stands in the way.

use crate::keys::{bytes, keys, sorted_bytes};
use crate::tool::Place;
use std::process::Stdio;

#[test]
fn onto_the_input() {
    let keys = keys::<u32>(5000);
    let place = Place::with("a.bin", bytes(&keys));
    place.run("sort a.bin --dtype u32 -o a.bin").ok();
    assert_eq!(place.files().into_iter().collect::<Vec<_>>(), [("a.bin".into(), sorted_bytes(&keys, false))]);
}

#[test]
fn whoever_stops_reading_is_no_error() {
    let place = Place::with("a.bin", vec![7; 1 << 20]);
    for args in ["sort a.bin --dtype u8", "argsort a.bin --dtype u8", "top -k 100000 a.bin --dtype u8", "devices"] {
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{args}");
    }
    // The answer is in the exit code all the same.
    place.write("b.bin", [2, 1]);
    let mut child = place.command("verify b.bin --dtype u8").stdout(Stdio::piped()).spawn().expect("the binary runs");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    fn mode(place: &Place, name: &str) -> u32 {
        fs::metadata(place.path(name)).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn permissions_are_those_of_any_file_and_stay() {
        let place = Place::with("a.bin", [2, 1]);
        place.run("sort a.bin --dtype u8 -o new.bin").ok();
        assert_eq!(mode(&place, "new.bin"), mode(&place, "a.bin"));
        fs::set_permissions(place.path("a.bin"), Permissions::from_mode(0o640)).expect("it is ours");
        place.run("sort a.bin --dtype u8 -o a.bin").ok();
        assert_eq!((mode(&place, "a.bin"), place.read("a.bin")), (0o640, vec![1, 2]));
    }

    #[test]
    fn links_stay_links() {
        let place = Place::with("a.bin", [2, 1]);
        symlink("a.bin", place.path("link.bin")).expect("a link");
        place.run("sort link.bin --dtype u8 -o link.bin").ok();
        assert!(fs::symlink_metadata(place.path("link.bin")).expect("it is there").is_symlink());
        assert_eq!(place.read("a.bin"), [1, 2]);
    }

    #[test]
    fn devices_are_written_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let place = Place::with("a.bin", [2, 1]);
        place.run("sort a.bin --dtype u8 -o /dev/null").ok();
        assert!(fs::metadata("/dev/null").expect("it is there").file_type().is_char_device());
    }

    /// A file that may not grow enough, as on a full disk: the write fails half way.
    #[test]
    fn a_write_that_fails_leaves_everything() {
        let place = Place::with("a.bin", bytes(&keys::<u32>(100_000)));
        place.write("old.bin", "old");
        let before = place.files();
        for output in ["old.bin", "a.bin", "new.bin"] {
            let command = format!("ulimit -f 64; trap '' XFSZ; exec \"$0\" sort a.bin --dtype u32 -o {output}");
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(command).arg(env!("CARGO_BIN_EXE_polysort")).current_dir(place.path("."));
            let ran = shell.output().expect("sh runs");
            let words = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status.code(), Some(2), "{words}");
            assert!(words.starts_with("polysort: cannot write ") && words.contains("nothing was changed"), "{words}");
            assert_eq!(words.lines().count(), 1, "{words}");
            assert!(place.files() == before, "{output}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_device_is_an_error() {
        let place = Place::with("a.bin", [2, 1]);
        let ran = place.run("sort a.bin --dtype u8 -o /dev/full");
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.starts_with("polysort: cannot write /dev/full: "), "{}", ran.stderr);
    }
}
