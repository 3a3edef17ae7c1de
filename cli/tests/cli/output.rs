//! A file is written completely or not at all.

use crate::keys::{bytes, keys, sorted_bytes};
use crate::tool::Place;

#[test]
fn the_output_may_be_the_input() {
    let keys = keys::<u32>(5000);
    let place = Place::with("a.bin", bytes(&keys));
    place.run("sort a.bin --dtype u32 -o a.bin").ok();
    assert_eq!(place.files().into_iter().collect::<Vec<_>>(), [("a.bin".into(), sorted_bytes(&keys, false))]);
}

/// A limit on the size of files makes the write fail half way, as a full disk does.
#[test]
#[cfg(unix)]
fn a_write_that_fails_changes_nothing() {
    let place = Place::with("a.bin", bytes(&keys::<u32>(100_000)));
    place.write("old.bin", "old");
    let before = place.files();
    for output in ["old.bin", "a.bin", "new.bin"] {
        let ran = place.shell(&format!("ulimit -f 64; trap '' XFSZ; polysort sort a.bin --dtype u32 -o {output}"));
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with("polysort: cannot write ") && ran.stderr.contains("nothing was changed"),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(place.files() == before, "{output}");
    }
}
