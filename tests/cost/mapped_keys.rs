//! What the checks of keys cost: `cargo bench --no-default-features --features rayon --bench mapped_keys`.
//!
//! Each line is one key type at one length. `sort` is `Sort::sort`. `unchecked` maps the keys to bits, sorts the bits and maps them back, without any
//! check. `as before` does the same with the checks that polysort 0.1 began with: of the width on the way in, and of the bits on the way out. The three take
//! turns on copies of the same keys; the ratios are medians of the ratios of neighboring turns. For keys that are sorted in place, `as before` and
//! `unchecked` sort the memory of the keys by `Backend::sort_bits`.

use polysort::{Backend, MaskKey, Options, RayonBackend, Sort, Sortable, Spec, Word};
use polysort_kit::{Custom, Pattern, TestKey};
use polysort_measure::{Effort, Series, Trial, take_turns, timed};
use std::cmp::Reverse;
use std::convert::Infallible;
use std::hint::black_box;

/// Keys of a line, and turns that each of the three takes.
const LINES: [(usize, usize); 3] = [(1 << 10, 2001), (1 << 16, 301), (1 << 22, 41)];

fn main() {
    let backend = RayonBackend::global().expect("there is a CPU");
    println!("{} on {}", std::any::type_name::<RayonBackend>(), backend.name());
    println!("{:<24}{:>9}{:>12}{:>18}{:>18}", "key", "length", "sort, ns", "over as before", "over unchecked");
    for (len, turns) in LINES {
        mapped::<bool>(&backend, len, turns);
        mapped::<char>(&backend, len, turns);
        mapped::<Reverse<f32>>(&backend, len, turns);
        mapped::<(u16, i32)>(&backend, len, turns);
        mapped::<(bool, f32)>(&backend, len, turns);
        mapped::<(i8, char, Reverse<u16>)>(&backend, len, turns);
        mapped::<Custom>(&backend, len, turns);
        mapped::<Plain>(&backend, len, turns);
        in_place::<u32>(&backend, len, turns);
        in_place::<f64>(&backend, len, turns);
    }
}

/// A key of the two functions alone: the sort compares bits, since it gives no `IDENTICAL`.
#[derive(Clone, Copy, Debug)]
struct Plain(u32);

impl Sortable for Plain {
    type Bits = u32;

    fn to_bits(self) -> u32 {
        self.0.rotate_left(7)
    }

    fn from_bits(bits: u32) -> Self {
        Plain(bits.rotate_right(7))
    }
}

impl TestKey for Plain {
    const NAME: &'static str = "Plain";
    const RAW_WIDTH: u32 = 32;

    fn from_raw(raw: u128) -> Self {
        Plain(raw as u32)
    }

    fn raw(self) -> u128 {
        self.0.into()
    }

    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.0.rotate_left(7).cmp(&other.0.rotate_left(7))
    }
}

fn mapped<K: TestKey>(backend: &RayonBackend, len: usize, turns: usize) {
    let as_before = |keys: &mut [K]| by_bits(backend, keys, true);
    let unchecked = |keys: &mut [K]| by_bits(backend, keys, false);
    line::<K>(len, turns, &|keys| backend.sort(keys).expect("a sort"), &as_before, &unchecked);
}

fn in_place<K: TestKey + MaskKey>(backend: &RayonBackend, len: usize, turns: usize) {
    let spec = Spec::of::<K>(Options::ascending()).expect("a spec of all bits");
    let raw = |keys: &mut [K]| backend.sort_bits::<K::Bits>(bytemuck::cast_slice_mut(keys), spec).expect("a sort");
    line::<K>(len, turns, &|keys| backend.sort(keys).expect("a sort"), &raw, &raw);
}

/// Maps keys to bits, sorts these, and maps them back.
fn by_bits<K: Sortable>(backend: &RayonBackend, keys: &mut [K], is_checked: bool) {
    let widest = K::Bits::truncate(u128::MAX >> (128 - K::WIDTH));
    let mut words: Vec<K::Bits> = keys.iter().map(|&key| key.to_bits()).collect();
    assert!(!is_checked || !words.iter().any(|&bits| bits > widest));
    backend.sort_bits(&mut words, Spec::of::<K>(Options::ascending()).expect("a spec of all bits")).expect("a sort");
    let sorted: Vec<K> = words.iter().map(|&bits| K::from_bits(bits)).collect();
    assert!(!is_checked || !sorted.iter().zip(&words).any(|(key, &bits)| key.to_bits() != bits));
    keys.copy_from_slice(&sorted);
}

fn line<K: TestKey>(
    len: usize,
    turns: usize,
    sort: &dyn Fn(&mut [K]),
    as_before: &dyn Fn(&mut [K]),
    unchecked: &dyn Fn(&mut [K]),
) {
    let keys: Vec<K> = Pattern::Uniform.keys(len, 7);
    let mut expected = keys.clone();
    expected.sort_by(K::compare);
    let mut copy = keys.clone();
    let mut series = vec![Series::default(); 3];
    take_turns(&mut series, Effort::rounds(1, turns), |which| {
        copy.copy_from_slice(&keys);
        let sort = [sort, as_before, unchecked][which];
        let (time, ()) = timed(|| sort(black_box(&mut copy)));
        let is_right = copy.iter().zip(&expected).all(|(key, expected)| key.raw() == expected.raw());
        Ok::<_, Infallible>(Trial::new(time, is_right))
    });
    assert!(series.iter().all(Series::is_verified), "{}: a wrong answer", K::NAME);
    let [time, before, unchecked] =
        [series[0].ranked().median().as_nanos() as f64, series[0].over(&series[1]), series[0].over(&series[2])];
    println!("{:<24}{len:>9}{time:>12.0}{before:>18.3}{unchecked:>18.3}", K::NAME);
}
