//! `argsort` and `top` of arrays.

use crate::keys::{Key, bytes, for_every_dtype, keys, order};
use crate::npy;
use crate::tool::Place;

#[test]
fn argsort_of_every_dtype_is_std_s() {
    fn check<K: Key>() {
        let keys = keys::<K>(1000);
        let place = Place::with("a.bin", bytes(&keys));
        for (flag, descending) in [("", false), ("--descending", true)] {
            let expected = bytes(&order(&keys, descending));
            let args = format!("argsort a.bin --dtype {} {flag}", K::NAME);
            assert!(place.run(&args).ok() == expected, "{args}");
            place.run(&format!("{args} -o i.npy")).ok();
            assert_eq!(npy::parse(&place.read("i.npy"), 1000), ("<u4".into(), expected));
        }
    }
    for_every_dtype!(check);
}

#[test]
fn argsort_writes_the_format_that_the_name_implies() {
    let place = Place::with("a.npy", npy::array("<i2", 3, &bytes(&[3_i16, -1, 2])));
    assert_eq!(npy::parse(&place.run("argsort a.npy").ok(), 3), ("<u4".into(), bytes(&[1_u32, 2, 0])));
    for name in ["i.csv", "i.txt"] {
        place.run(&format!("argsort a.npy -o {name}")).ok();
        assert_eq!(place.read(name), b"1\n2\n0\n");
    }
    place.run("argsort a.npy -o i.bin").ok();
    assert_eq!(place.read("i.bin"), bytes(&[1_u32, 2, 0]));
    place.write("t.csv", "k,v\n2,a\n1,b\n2,c\n");
    assert_eq!(place.run("argsort t.csv --column k").text(), "1\n0\n2\n");
    assert_eq!(place.run("argsort t.csv --column k --descending").text(), "0\n2\n1\n");
    place.run("argsort t.csv --column k -o i.npy").ok();
    assert_eq!(npy::parse(&place.read("i.npy"), 3), ("<u4".into(), bytes(&[1_u32, 0, 2])));
}

#[test]
fn argsort_by_bits() {
    let keys = [0x1f_u8, 0x10, 0x21, 0x30];
    let out = Place::new().pipe("argsort --format bin --dtype u8 --bits 0..4", &keys).ok();
    assert_eq!(out, bytes(&[1_u32, 3, 2, 0]));
}

#[test]
fn top_of_every_dtype_is_std_s() {
    fn check<K: Key>() {
        let keys = keys::<K>(1000);
        let place = Place::with("a.bin", bytes(&keys));
        for (flag, descending) in [("", true), ("--smallest", false)] {
            for k in [0, 1, 10, 1000, 2000] {
                let got = place.run(&format!("top -k {k} a.bin --dtype {} {flag}", K::NAME)).text();
                let first = order(&keys, descending).into_iter().take(k);
                let expected: String = first.map(|index| format!("{index},{:?}\n", keys[index as usize])).collect();
                assert_eq!(got, format!("index,key\n{expected}"), "{} {k} {flag}", K::NAME);
            }
        }
    }
    for_every_dtype!(check);
}

#[test]
fn top_by_bits_into_a_file() {
    let place = Place::with("a.bin", [0x1f_u8, 0x10, 0x2f, 0x3e]);
    place.run("top -k 3 a.bin --dtype u8 --bits ..4 -o t.csv").ok();
    assert_eq!(place.read("t.csv"), b"index,key\n0,31\n2,47\n3,62\n");
}
