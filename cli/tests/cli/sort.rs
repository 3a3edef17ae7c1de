//! Arrays: every dtype and format, both directions, bits, pipes, conversions.

use crate::keys::{Key, bytes, for_every_dtype, keys, sorted_bytes};
use crate::npy;
use crate::tool::Place;

const LEN: usize = 1000;

#[test]
fn bin_of_every_dtype() {
    fn check<K: Key>() {
        let keys = keys::<K>(LEN);
        let place = Place::with("a.bin", bytes(&keys));
        place.run(&format!("sort a.bin --dtype {} -o up.bin", K::NAME)).ok();
        assert!(place.read("up.bin") == sorted_bytes(&keys, false), "{} ascending", K::NAME);
        place.run(&format!("sort a.bin --dtype {} --descending -o down.bin", K::NAME)).ok();
        assert!(place.read("down.bin") == sorted_bytes(&keys, true), "{} descending", K::NAME);
        assert!(place.read("a.bin") == bytes(&keys), "{} input", K::NAME);
    }
    for_every_dtype!(check);
}

#[test]
fn npy_of_every_dtype_that_numpy_has() {
    fn check<K: Key>() {
        let Some(descr) = K::DESCR else { return };
        let keys = keys::<K>(LEN);
        let place = Place::with("a.npy", npy::array(descr, LEN, &bytes(&keys)));
        place.run("sort a.npy -o up.npy").ok();
        assert_eq!(npy::parse(&place.read("up.npy"), LEN), (descr.into(), sorted_bytes(&keys, false)));
        place.run("sort a.npy --descending -o down.npy").ok();
        assert_eq!(npy::parse(&place.read("down.npy"), LEN), (descr.into(), sorted_bytes(&keys, true)));
    }
    for_every_dtype!(check);
}

#[test]
fn big_endian_npy_comes_out_little_endian() {
    fn check<K: Key>() {
        let Some(descr) = K::DESCR else { return };
        let keys = keys::<K>(LEN);
        let mut swapped = bytes(&keys);
        swapped.chunks_exact_mut(size_of::<K>()).for_each(<[u8]>::reverse);
        let place = Place::with("a.npy", npy::array(&descr.replace('<', ">"), LEN, &swapped));
        place.run("sort a.npy -o b.npy").ok();
        assert_eq!(npy::parse(&place.read("b.npy"), LEN), (descr.into(), sorted_bytes(&keys, false)));
    }
    for_every_dtype!(check);
}

#[test]
fn numpys_bool_is_a_key() {
    let place = Place::with("a.npy", npy::array("|b1", 5, &[1, 0, 1, 1, 0]));
    place.run("sort a.npy -o a.npy").ok();
    assert_eq!(npy::parse(&place.read("a.npy"), 5), ("|b1".into(), vec![0, 0, 1, 1, 1]));
}

#[test]
fn a_fortran_array_of_one_dimension_is_an_array() {
    let place = Place::with("a.npy", npy::file("|u1", "(3,)", true, &[3, 1, 2]));
    place.run("sort a.npy -o a.npy").ok();
    assert_eq!(npy::parse(&place.read("a.npy"), 3).1, [1, 2, 3]);
}

/// numpy writes version 2 if a header is long, and version 3 if a name in it is no ASCII.
#[test]
fn npy_of_versions_2_and_3() {
    let keys = keys::<f32>(LEN);
    for version in [2, 3] {
        let header = npy::header("<f4", &format!("({LEN},)"), false).replace('\n', &(" ".repeat(4096) + "\n"));
        let place = Place::with("a.npy", npy::versioned(version, header.len() as u32, &header, &bytes(&keys)));
        place.run("sort a.npy -o b.npy").ok();
        assert!(npy::parse(&place.read("b.npy"), LEN) == ("<f4".into(), sorted_bytes(&keys, false)), "{version}");
        assert!(npy::parse(&place.pipe("sort --format npy", &place.read("a.npy")).ok(), LEN).1 == sorted_bytes(&keys, false));
    }
}

#[test]
fn nothing_is_sorted_too() {
    let place = Place::with("a.npy", npy::array("<f8", 0, &[]));
    place.run("sort a.npy -o a.npy").ok();
    assert_eq!(npy::parse(&place.read("a.npy"), 0), ("<f8".into(), vec![]));
    assert_eq!(place.pipe("sort --format bin --dtype u64", &[]).ok(), []);
}

/// More keys than are read or written at a time, and than one thread sorts alone.
#[test]
fn a_long_array() {
    let keys = keys::<f64>(700_001);
    let place = Place::with("a.bin", bytes(&keys));
    place.run("sort a.bin --dtype f64 -o a.bin").ok();
    assert!(place.read("a.bin") == sorted_bytes(&keys, false));
}

#[test]
fn from_stdin_to_stdout() {
    let (keys, place) = (keys::<i32>(300_000), Place::new());
    assert!(place.pipe("sort --format bin --dtype i32", &bytes(&keys)).ok() == sorted_bytes(&keys, false));
    assert!(place.pipe("sort - -o - --format bin --dtype i32 --descending", &bytes(&keys)).ok() == sorted_bytes(&keys, true));
    let out = place.pipe("sort --format npy", &npy::array("<i4", keys.len(), &bytes(&keys))).ok();
    assert!(npy::parse(&out, keys.len()) == ("<i4".into(), sorted_bytes(&keys, false)));
    assert_eq!(place.files().len(), 0);
}

#[test]
fn the_outputs_name_implies_its_format() {
    let place = Place::with("a.npy", npy::array("<i2", 3, &bytes(&[3_i16, -1, 2])));
    place.run("sort a.npy -o b.bin").ok();
    assert_eq!(place.read("b.bin"), bytes(&[-1_i16, 2, 3]));
    place.run("sort b.bin --dtype i16 --descending -o c.NPY").ok();
    assert_eq!(npy::parse(&place.read("c.NPY"), 3), ("<i2".into(), bytes(&[3_i16, 2, -1])));
    place.run("sort a.npy -o d.txt").ok();
    assert_eq!(place.read("d.txt"), b"-1\n2\n3\n");
    place.run("sort a.npy -o e.whatever").ok();
    assert_eq!(npy::parse(&place.read("e.whatever"), 3).1, bytes(&[-1_i16, 2, 3]));
    // The format of the arguments wins over the format that the input's name implies.
    place.write("really.bin", place.read("a.npy"));
    place.run("sort really.bin --format npy -o f.bin").ok();
    assert_eq!(place.read("f.bin"), bytes(&[-1_i16, 2, 3]));
}

#[test]
fn bits_of_the_ordered_key() {
    // The ordered bits of each key, by hand: integers count from their least value, negative floats are complemented.
    fn check<K: Key>(ordered: fn(K) -> u64, width: u32) {
        let keys = keys::<K>(LEN);
        let place = Place::with("a.bin", bytes(&keys));
        let ranges = [("3..13", 3, 13), ("..8", 0, 8), ("8..", 8, width), ("0..0", 0, 0), ("..", 0, width), ("2..3", 2, 3)];
        for (range, begin, end) in ranges {
            let rank = |key: &K| (ordered(*key) >> begin) & ((1_u64 << (end - begin)) - 1);
            let mut expected = keys.clone();
            expected.sort_by_key(rank);
            let got = place.run(&format!("sort a.bin --dtype {} --bits {range}", K::NAME)).ok();
            assert!(got == bytes(&expected), "{} {range}", K::NAME);
            expected = keys.clone();
            expected.sort_by_key(|key| core::cmp::Reverse(rank(key)));
            let got = place.run(&format!("sort a.bin --dtype {} --bits {range} --descending", K::NAME)).ok();
            assert!(got == bytes(&expected), "{} {range} descending", K::NAME);
        }
    }
    check::<u32>(u64::from, 32);
    check::<i16>(|key| (i64::from(key) + 32_768) as u64, 16);
    check::<f32>(
        |key| {
            let bits = u64::from(key.to_bits());
            if key.is_sign_negative() { 0xffff_ffff - bits } else { bits + 0x8000_0000 }
        },
        32,
    );
}

#[test]
fn on_every_backend_by_name() {
    let keys = keys::<f32>(LEN);
    let place = Place::with("a.bin", bytes(&keys));
    for name in core::iter::once("auto").chain(opened(&place)) {
        let got = place.run(&format!("sort a.bin --dtype f32 --backend {name}")).ok();
        assert!(got == sorted_bytes(&keys, false), "{name}");
    }
}

#[test]
fn devices_lists_each_adapter_with_its_index() {
    let place = Place::new();
    let output = place.command("devices").env_remove("VK_LOADER_DRIVERS_DISABLE").output().expect("the binary runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let listed: Vec<&str> = text.lines().filter(|line| line.starts_with("adapter ")).collect();
    let adapters = polysort::gpu::Config::default().adapters().expect("no browser runs this");
    let named = |(index, adapter): (usize, &polysort::gpu::wgpu::AdapterInfo)| {
        format!("adapter {index}: {} ({:?}, {:?})", adapter.name, adapter.backend, adapter.device_type)
    };
    assert_eq!(listed, adapters.iter().enumerate().map(named).collect::<Vec<_>>());
    // What the error of a choice that fits no adapter says.
    assert_eq!(text.contains("no adapter was found"), adapters.is_empty(), "{text}");
}

/// The backends that this machine has; the CPU's at least.
fn opened(place: &Place) -> Vec<&'static str> {
    let devices = place.run("devices").text();
    let mut opened = polysort::AnyBackend::NAMES.to_vec();
    for name in polysort::AnyBackend::NAMES {
        assert!(devices.contains(&format!("\n{name} ")) || devices.starts_with(name), "{devices}");
    }
    assert!(devices.contains("\nauto"), "{devices}");
    opened.retain(|name| polysort::AnyBackend::by_name(name).is_ok());
    assert!(opened.contains(&"rayon"));
    opened
}
