//! `verify`: exit codes for scripts, words for people.

use crate::keys::bytes;
use crate::npy;
use crate::tool::Place;

/// The exit code, and the one line that it says.
fn verify(args: &str, keys: &[i16]) -> (i32, String) {
    let place = Place::with("a.bin", bytes(keys));
    let ran = place.run(&format!("verify a.bin --dtype i16 {args}"));
    assert_eq!(ran.stderr, "");
    (ran.code, String::from_utf8(ran.stdout).expect("words"))
}

#[test]
fn a_sorted_file() {
    assert_eq!(verify("", &[-3, -3, 7]), (0, "a.bin: sorted ascending, 3 i16 keys\n".into()));
    assert_eq!(verify("--descending", &[7, -3, -3]), (0, "a.bin: sorted descending, 3 i16 keys\n".into()));
    assert_eq!(verify("", &[]), (0, "a.bin: sorted ascending, 0 i16 keys\n".into()));
    assert_eq!(verify("--descending", &[4, 4]), (0, "a.bin: sorted descending, 2 i16 keys, all of them equal\n".into()));
}

#[test]
fn an_unsorted_file() {
    assert_eq!(
        verify("", &[1, 5, 5, -2, 0, -9]),
        (1, "a.bin: not sorted ascending, 6 i16 keys: key 2 is 5, key 3 is -2\n".into())
    );
    let (code, words) = verify("", &[7, -3, -3]);
    assert_eq!(code, 1);
    assert!(words.ends_with("key 0 is 7, key 1 is -3; it is sorted descending: add --descending\n"), "{words}");
    let (code, words) = verify("--descending", &[-3, 7]);
    assert_eq!(code, 1);
    assert!(words.ends_with("key 0 is -3, key 1 is 7; it is sorted ascending: leave out --descending\n"), "{words}");
}

#[test]
fn by_bits() {
    let keys = [0x210, 0x101, 0x302];
    assert_eq!(verify("--bits 0..4", &keys), (0, "a.bin: sorted ascending in these bits, 3 i16 keys\n".into()));
    assert_eq!(verify("--bits 4..", &keys).0, 1);
    assert_eq!(verify("--bits 8..8", &[3, 1, 2]).0, 0);
}

#[test]
fn floats_go_by_total_order() {
    let check = |keys: &[f32]| Place::with("a.npy", npy::array("<f4", keys.len(), &bytes(keys))).run("verify a.npy").code;
    assert_eq!(check(&[-f32::NAN, f32::NEG_INFINITY, -0.0, 0.0, f32::INFINITY, f32::NAN]), 0);
    assert_eq!(check(&[0.0, -0.0]), 1);
    assert_eq!(check(&[f32::NAN, 1.0]), 1);
}

#[test]
fn a_table_names_lines() {
    let ran = Place::new().pipe("verify --format csv --column k", b"k,v\n1,\"two\nlines\"\n3,b\n2,c\n");
    let words = "stdin: not sorted ascending, 3 i64 keys: key 1 (line 4) is 3, key 2 (line 5) is 2\n";
    assert_eq!((ran.code, &*String::from_utf8_lossy(&ran.stdout)), (1, words));
}

#[test]
fn what_sort_writes_is_sorted() {
    let place = Place::with("a.bin", bytes(&crate::keys::keys::<u64>(5000)));
    assert_eq!(place.run("verify a.bin --dtype u64").code, 1);
    place.run("sort a.bin --dtype u64 --descending -o a.bin").ok();
    assert_eq!(place.run("verify a.bin --dtype u64 --descending").code, 0);
    assert_eq!(place.run("verify a.bin --dtype u64").code, 1);
}
