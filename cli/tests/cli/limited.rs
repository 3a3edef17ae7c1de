//! Sorts within a memory cap: the same result as without, little memory, and nothing left behind.

use crate::keys::{Key, bytes, for_every_dtype, keys, sorted_bytes};
use crate::npy;
use crate::tool::Place;
use std::fs;

/// The smallest cap, in which some 100 000 bytes are a run.
const MEMORY: &str = "--memory 1M --temp spill";

fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("spill")).expect("a directory");
    place
}

/// Nothing is left in the folder of spill files.
fn is_clean(place: &Place) -> bool {
    fs::read_dir(place.path("spill")).expect("it is there").count() == 0
}

#[test]
fn arrays_of_every_dtype() {
    fn check<K: Key>() {
        // More bytes than a run has, which is at most a third of the cap.
        let (place, len) = (place(), 350_000 / size_of::<K>());
        let keys = keys::<K>(len);
        place.write("a.bin", bytes(&keys));
        for (options, is_descending) in [("", false), ("--descending", true)] {
            place.run(&format!("sort a.bin --dtype {} -o b.bin {options} {MEMORY}", K::NAME)).ok();
            assert!(place.read("b.bin") == sorted_bytes(&keys, is_descending), "{} {options}", K::NAME);
        }
        if let Some(descr) = K::DESCR {
            let mut swapped = bytes(&keys);
            swapped.chunks_exact_mut(size_of::<K>()).for_each(<[u8]>::reverse);
            place.write("a.npy", npy::array(&descr.replace('<', ">"), len, &swapped));
            place.run(&format!("sort a.npy -o a.npy {MEMORY}")).ok();
            assert!(npy::parse(&place.read("a.npy"), len) == (descr.into(), sorted_bytes(&keys, false)), "{}", K::NAME);
        }
        assert!(is_clean(&place));
    }
    for_every_dtype!(check);
}

/// Of any length, between formats, and from and to pipes, where the length is known only at the end.
#[test]
fn arrays_convert() {
    for len in [0, 1, 1000, 200_000] {
        let (place, keys) = (place(), keys::<u32>(len));
        let sorted = sorted_bytes(&keys, false);
        let text: String = sorted.chunks(4).map(|key| format!("{}\n", u32::from_le_bytes(key.try_into().expect("4")))).collect();
        assert!(place.pipe(&format!("sort --format bin --dtype u32 {MEMORY}"), &bytes(&keys)).ok() == sorted, "{len}");
        place.pipe(&format!("sort --format bin --dtype u32 -o out.npy {MEMORY}"), &bytes(&keys)).ok();
        assert!(npy::parse(&place.read("out.npy"), len) == ("<u4".into(), sorted.clone()), "{len}");
        place.pipe(&format!("sort --format npy -o out.csv {MEMORY}"), &npy::array("<u4", len, &bytes(&keys))).ok();
        assert!(place.read("out.csv") == text.as_bytes(), "{len}");
        assert!(is_clean(&place));
    }
}

/// A table of many rows of different lengths, with what a .csv may have.
fn table() -> Vec<u8> {
    let mut table = b"\xef\xbb\xbfname,\"height, m\",id\r\n".to_vec();
    let numbers = keys::<u32>(30_000);
    for (i, number) in numbers.iter().enumerate() {
        let name = match number % 7 {
            0 => format!("\"quoted, \"\"{i}\"\"\""),
            1 => "\"two\r\nlines\"".into(),
            2 => "x".repeat(*number as usize % 300),
            3 => String::new(),
            _ => format!("name {i}"),
        };
        let end = ["\n", "\r\n", "\r", "\n\n"][*number as usize / 7 % 4];
        let height = *number as i32 % 1000;
        table.extend_from_slice(format!("{name}, {height}{} ,{i}{end}", if number % 11 == 0 { ".5" } else { "" }).as_bytes());
    }
    table.extend_from_slice(b"last,-3,30000");
    table
}

#[test]
fn tables_are_sorted_as_in_memory() {
    let place = place();
    place.write("t.csv", table());
    for options in ["--column 1", "--column 1 --descending", "--column 1 --dtype f32", "--column 2 --no-header --dtype f64"] {
        let options = options.replace("--column 2 --no-header --dtype f64", "--column id --dtype f64 --empty nan --descending");
        let in_memory = place.run(&format!("sort t.csv {options}"));
        let limited = place.run(&format!("sort t.csv {options} {MEMORY}"));
        assert_eq!((limited.code, &limited.stderr), (in_memory.code, &in_memory.stderr), "{options}");
        assert!(limited.stdout == in_memory.stdout, "{options}");
        assert!(options.contains("id") || in_memory.stdout.len() > 1_000_000, "{options}: {}", in_memory.stderr);
        assert!(is_clean(&place));
    }
    // From a pipe, which can be read only once.
    let ran = place.pipe(&format!("sort --format csv --column 1 {MEMORY}"), &table());
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.stderr,
        "polysort: stdin can be read only once, so the type of its keys cannot be found before they are read: add --dtype\n"
    );
    let ran = place.pipe(&format!("sort --format csv --column 1 --dtype f64 {MEMORY}"), &table());
    assert!(ran.code == 0 && ran.stdout == place.run("sort t.csv --column 1").stdout);
}

/// What a table may begin and end with, and every message about a wrong table, with its line.
#[test]
fn small_tables_are_treated_as_in_memory() {
    let place = place();
    let tables: [&[u8]; 22] = [
        b"",
        b"x\n",
        b"x",
        b"x\n3\n-1\n2\n",
        b"3\n-1\n2",
        b"\nk,v\n2,a\n\r\n\n1,b\n\n",
        b"\n\n",
        b"\n2\n\n1",
        b"k\n2\r\n1",
        b"\xef\xbb\xbfk,v\r\n2,a\r\n1,b",
        b"\"k\ney\",v\r\n2,\"a\n\"\r\n1,b",
        b"k,v\n2,\"a\n1,b\n0,c\n",
        b"k,v\n2,a\n1,\"",
        b"\"k,v\n1,2\n",
        b"k,v\n1,2\n3\n",
        b"x\n1.5\n9007199254740993\n9007199254740992\n",
        b"x\n18446744073709551615\n18446744073709551614\n",
        b"x\n1.5\n1e309\n",
        b"k,v\n,a\n2,b\n ,c\n1,d\n",
        b"k,k\n2,b\n1,d\n",
        b"7,1\n2,b\n1,d\n",
        b"x\nNaN\n1e3\ninf\n0\n-0.0\n-inf\n.5\n",
    ];
    for table in tables {
        place.write("t.csv", table);
        for options in
            ["", "--column 0", "--column k", "--no-header --column 0", "--empty nan --column 0", "--column 0 --dtype f64"]
        {
            let in_memory = place.run(&format!("sort t.csv {options}"));
            let limited = place.run(&format!("sort t.csv {options} {MEMORY}"));
            let show = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
            assert_eq!(limited.code, in_memory.code, "{options} {:?}: {}", show(table), limited.stderr);
            // Before an error in a row, a stream has not seen what the notes are about.
            let said = |stderr: &str| match limited.code {
                0 => stderr.to_string(),
                _ => stderr.lines().last().unwrap_or_default().to_string(),
            };
            assert_eq!(
                (show(&limited.stdout), said(&limited.stderr)),
                (show(&in_memory.stdout), said(&in_memory.stderr)),
                "{options} {:?}",
                show(table)
            );
        }
    }
}

#[test]
fn a_row_that_is_too_long_for_the_cap_is_an_error() {
    let place = place();
    let mut table = b"k,v\n2,a\n1,".to_vec();
    table.resize(400_000, b'x');
    place.write("t.csv", table);
    let ran = place.run(&format!("sort t.csv --column k --dtype u8 -o out.csv {MEMORY}"));
    let words = "polysort: t.csv, line 3: the row that begins here has more than 65536 bytes, the most that fits; \
        is a quote not closed? if not, use a larger --memory\n";
    assert_eq!((ran.code, &*ran.stderr), (2, words));
    assert_eq!(place.files().len(), 1);
    place.run("sort t.csv --column k -o out.csv --memory 8M").ok();
}

#[test]
fn wrong_arguments_and_inputs_are_refused() {
    let place = place();
    place.write("short.npy", npy::array("<f4", 100, &[0; 399]));
    place.write("long.npy", npy::array("<f4", 1, &[0; 8]));
    place.write("odd.bin", [0; 1001]);
    place.write("some.bin", bytes(&keys::<u32>(300_000)));
    let before = place.files();
    for (args, words) in [
        ("sort short.npy -o out.npy --memory 1M", "short.npy is cut short"),
        ("sort long.npy -o out.npy --memory 1M", "long.npy goes on after the 1 keys"),
        ("sort odd.bin --dtype u32 -o out.bin --memory 1M", "odd.bin has 1001 bytes, no multiple of the 4 of a u32"),
        ("sort some.bin --dtype u32 -o out.bin --memory 1000", "cannot sort some.bin: a memory cap of 1000 bytes is too small"),
        ("sort some.bin --dtype u32 --bits 3..40 -o out.bin --memory 1M", "cannot sort some.bin: "),
        ("sort some.bin --dtype u32 -o out.bin --memory much", "give a number of bytes such as 512M or 4G"),
        ("sort some.bin --dtype u32 -o out.bin --temp spill", "--memory <SIZE>"),
        ("sort some.bin --dtype bf16 -o out.npy --memory 1M", "a .npy cannot hold bf16"),
        ("sort some.bin --dtype u32 -o out.bin --memory 1M --temp nowhere", "cannot create spill files in nowhere: name another"),
        ("sort some.bin --dtype u32 -o out.bin --memory 1M --temp odd.bin", "cannot create spill files in odd.bin"),
        ("sort none.bin --dtype u32 -o out.bin --memory 1M", "cannot read none.bin"),
    ] {
        let ran = place.run(args);
        assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{args}");
        assert!(ran.stderr.contains(words), "{args}: {}", ran.stderr);
        assert!(place.files() == before && is_clean(&place), "{args}");
    }
    let piped = place.pipe("sort --format npy --memory 1M", &place.read("short.npy"));
    assert_eq!((piped.code, piped.stdout.len()), (2, 0));
    assert!(piped.stderr.starts_with("polysort: stdin is cut short: its header declares 100 keys of f32"), "{}", piped.stderr);
}
