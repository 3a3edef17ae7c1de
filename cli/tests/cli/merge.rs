//! `merge`: sorted files into one.

use crate::keys::{Key, bytes, keys, sorted_bytes};
use crate::npy;
use crate::tool::Place;

/// Sorted parts of some keys, and all keys.
fn parts<K: Key>(count: usize, len: usize, is_descending: bool) -> (Vec<Vec<u8>>, Vec<K>) {
    let all = keys::<K>(count * len);
    (all.chunks(len).map(|part| sorted_bytes(part, is_descending)).collect(), all)
}

#[test]
fn arrays() {
    for count in [1, 2, 5] {
        for (options, is_descending) in [("", false), ("--descending", true)] {
            let place = Place::new();
            let (parts, all) = parts::<f64>(count, 20_000, is_descending);
            let names = |suffix: &str| (0..count).map(|i| format!("{i}.{suffix}")).collect::<Vec<_>>().join(" ");
            for (i, part) in parts.iter().enumerate() {
                place.write(&format!("{i}.bin"), part);
                place.write(&format!("{i}.npy"), npy::array("<f8", 20_000, part));
            }
            let expected = sorted_bytes(&all, is_descending);
            place.run(&format!("merge {} --dtype f64 {options} -o out.bin --memory 1M", names("bin"))).ok();
            assert!(place.read("out.bin") == expected, "{count} files {options}");
            // Without a cap that the user gave, and over one of the inputs.
            place.run(&format!("merge {} {options} -o 0.npy", names("npy"))).ok();
            assert!(npy::parse(&place.read("0.npy"), all.len()) == ("<f8".into(), expected), "{count} files {options}");
        }
    }
}

/// More than are open at the same time, some of them empty.
#[test]
fn many_files() {
    let place = Place::new();
    let (parts, all) = parts::<u32>(400, 50, false);
    for (i, part) in parts.iter().enumerate() {
        place.write(&format!("{i}.bin"), part);
        place.write(&format!("empty-{i}.bin"), []);
    }
    let names: Vec<_> = (0..400).map(|i| format!("{i}.bin empty-{i}.bin")).collect();
    place.run(&format!("merge {} --dtype u32 -o out.bin", names.join(" "))).ok();
    assert!(place.read("out.bin") == sorted_bytes(&all, false));
    assert_eq!(place.files().len(), 801);
}

/// Rows with equal keys stay in the order of the files.
#[test]
fn tables() {
    let place = Place::new();
    place.write("a.csv", "k,v\r\n1,a\r\n\"2\",\"a, b\"\r\n10,a\r\n");
    place.write("b.csv", "k,v\n0,b\n2,b\n\n2,c\n11,b");
    place.write("c.csv", "k,v\n");
    let merged = "k,v\r\n0,b\n1,a\r\n\"2\",\"a, b\"\r\n2,b\n2,c\n10,a\r\n11,b\n";
    let ran = place.run("merge a.csv b.csv c.csv --column k");
    assert_eq!((ran.code, &*String::from_utf8_lossy(&ran.stdout)), (0, merged));
    assert_eq!(ran.stderr, "polysort: note: b.csv: blank lines are no rows and are left out: 1, the first is line 4\n");
    // The type of the keys is one that all files have.
    place.write("d.csv", "k,v\n0.5,d\n1.5,d\n");
    let merged = place.run("merge a.csv d.csv --column k").text();
    assert_eq!(merged, "k,v\r\n0.5,d\n1,a\r\n1.5,d\n\"2\",\"a, b\"\r\n10,a\r\n");
}

#[test]
fn wrong_inputs_are_refused() {
    let place = Place::new();
    place.write("a.bin", bytes::<u32>(&[1, 2, 3]));
    place.write("b.bin", bytes::<u32>(&[1, 3, 2, 4]));
    place.write("a.npy", npy::array("<u4", 1, &[0; 4]));
    place.write("b.npy", npy::array("<i4", 1, &[0; 4]));
    place.write("short.npy", npy::array("<u4", 2, &[0; 4]));
    place.write("a.csv", "k,v\n1,a\n2,b\n");
    place.write("b.csv", "k,v\n1,a\n2,b\n1,c\n");
    place.write("c.csv", "k,w\n1,a\n");
    place.write("d.csv", "k,v\n1,a\nx,b\n");
    let before = place.files();
    for (args, words) in [
        ("merge a.bin b.bin --dtype u32", "b.bin is not sorted: key 2 must come before key 1; sort it first"),
        ("merge b.bin a.bin --dtype u32 --descending", "b.bin is not sorted: key 1 must come before key 0"),
        ("merge a.bin b.bin", "add --dtype"),
        ("merge a.bin none.bin --dtype u32", "cannot read none.bin"),
        ("merge a.bin a.npy --dtype u32", "a.bin and a.npy have different formats"),
        ("merge a.npy b.npy", "b.npy holds i32, but a.npy holds u32"),
        ("merge a.npy short.npy", "short.npy is cut short"),
        ("merge a.csv b.csv --column k", "b.csv is not sorted: row 3 must come before row 2"),
        ("merge a.csv c.csv --column k", "c.csv has another header than a.csv"),
        ("merge a.csv d.csv --column k", "d.csv, line 3: \"x\" in column k does not fit dtype f64"),
        ("merge a.csv --column k -o out.npy", "can only be written as .csv"),
        ("merge a.bin - --dtype u32", "cannot merge standard input"),
        ("merge a.bin --dtype u32 --column k", "--column is for .csv, but a.bin is a .bin"),
        ("merge", "<INPUTS>"),
    ] {
        let output = if args.contains("csv") { "out.csv" } else { "out.bin" };
        let args = if args.contains(" -o ") { args.to_string() } else { format!("{args} -o {output}") };
        let ran = place.run(&args);
        assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{args}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args}: {}", ran.stderr);
        assert!(place.files() == before, "{args}");
    }
}
