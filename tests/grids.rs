//! The grids of other sorts' test suites, for the CPU backend: their lengths, windows and distributions.
//!
//! | suite | what it adds to the conformance suite |
//! |---|---|
//! | CUB's radix sort | keys with little entropy; windows of no bit, of one, of a part of a digit, at both ends, and with CUB's own bounds; 2^18 keys |
//! | sort-research-rs | Zipf's law, saw teeth, keys sorted in part, few different keys, all short lengths |
//! | voracious | keys in order but for a part, small keys, normal distributions, lengths around the borders of its algorithms |
//! | radsort | the lengths of its tests, and those around 2^8 and 2^16, above which its indices are longer |
//!
//! The distributions are [`Pattern::OTHERS`]. A short input runs in each check of a few keys, a long one in a part of these checks.

use polysort::{DynBackend, Options, Order, RayonBackend};
use polysort_kit::{Case, Pattern, checks};

/// The keys of a window's grid, and their bits.
const KEYS: [(&str, u32); 6] = [("u8", 8), ("i16", 16), ("u32", 32), ("f32", 32), ("u64", 64), ("i64", 64)];

/// An input of at least so many keys is long.
const LONG: usize = 10_000;

/// A long input runs in one of so many checks. The number of checks of a key is no multiple of it, so the input runs in other operations of each key.
const SHARE: usize = 11;

/// Runs each check of these keys on the cases that `cases` returns for a width; long inputs in a part of the checks. Returns how many long ones ran.
fn run(threads: usize, cases: impl Fn(u32) -> Vec<Case>) -> usize {
    let backend = DynBackend::new(RayonBackend::with_threads(threads).unwrap());
    let (mut count, mut long) = (0, 0);
    let width = |key| KEYS.iter().find_map(|&(name, width)| (name == key).then_some(width));
    let checks = checks().into_iter().filter_map(|check| Some((width(check.key)?, check)));
    for (turn, (width, check)) in checks.enumerate() {
        for (at, case) in cases(width).into_iter().enumerate() {
            let is_long = case.len >= LONG;
            if is_long && !(turn + at).is_multiple_of(SHARE) {
                continue;
            }
            check.run_case(&backend, case).unwrap_or_else(|what| panic!("{}: {what}", check.name()));
            (count, long) = (count + 1, long + usize::from(is_long));
        }
    }
    println!("{count} cases on {threads} threads, {long} of them long");
    assert!(count > 1000, "the keys have other names");
    long
}

/// A case whose seed is that of its length and of its turn.
fn case(turn: usize, pattern: Pattern, len: usize, options: Options) -> Case {
    Case { pattern, len, options, seed: (len + 1000 * turn) as u64 }
}

/// One direction in every other turn.
fn order(turn: usize) -> Options {
    Options::ordered(if turn.is_multiple_of(2) { Order::Ascending } else { Order::Descending })
}

/// Windows of one bit, of a part of a digit, of all bits but one, and each window between two of CUB's bounds, also of no bit.
fn windows(width: u32) -> Vec<(u32, u32)> {
    let half = width / 2;
    let bounds = [0, width / 3, 3 * width / 4, width];
    let between = bounds.into_iter().flat_map(|begin| bounds.map(|end| (begin, end))).filter(|(begin, end)| begin <= end);
    let others = [(0, 1), (width - 1, width), (3, 7), (half - 1, half + 2), (0, width - 1), (1, width)];
    others.into_iter().chain(between).collect()
}

#[test]
fn windows_of_keys_with_little_entropy() {
    let lens = [65, 1000, 9000];
    run(2, |width| {
        let mut cases = vec![];
        for (turn, (begin, end)) in windows(width).into_iter().enumerate() {
            for (pattern, order) in [(Pattern::Uniform, Order::Ascending), (Pattern::Sparse(4), Order::Descending)] {
                let len = lens[(turn + order as usize) % lens.len()];
                cases.push(case(turn, pattern, len, Options::ordered(order).bits(begin..end)));
            }
        }
        let third = Options::descending().bits(width / 3..3 * width / 4);
        cases.extend([case(0, Pattern::Sparse(2), 1 << 18, third), case(1, Pattern::Uniform, 1 << 18, Options::ascending())]);
        cases
    });
}

/// Whether keys of this width are large enough for the pattern to be another one than uniform keys.
fn fits(pattern: Pattern, width: u32) -> bool {
    match pattern {
        Pattern::LowBytes(bytes) => 8 * bytes < width,
        Pattern::Normal(power) => power < width,
        Pattern::AroundZero(power) => power + 1 < width,
        _ => true,
    }
}

#[test]
fn distributions() {
    for (threads, lens) in [(1, [300, 5000]), (2, [50, 70_000])] {
        run(threads, |width| {
            let patterns = Pattern::OTHERS.into_iter().enumerate().filter(|&(_, pattern)| fits(pattern, width));
            patterns.flat_map(|(turn, pattern)| lens.map(|len| case(turn, pattern, len, order(turn + len / 100)))).collect()
        });
    }
}

#[test]
fn all_short_lengths() {
    run(1, |_| {
        let one = |len| [case(0, Pattern::Uniform, len, order(len)), case(1, Pattern::Sparse(4), len, order(len))];
        (0..=130).flat_map(one).collect()
    });
}

/// Lengths of the other suites' tests, and around the borders of their algorithms. Those up to 130 run in [`all_short_lengths`].
const LENS: [usize; 27] = [
    200, 255, 256, 257, 300, 400, 500, 512, 1000, 1024, 1025, 2048, 10_000, 20_000, 30_000, 30_001, 40_000, 50_000, 65_535,
    65_536, 65_537, 90_000, 100_000, 128_000, 128_001, 200_000, 500_000,
];

#[test]
fn lengths() {
    let patterns = [Pattern::Uniform, Pattern::Few(16), Pattern::Sorted];
    let long =
        run(2, |_| (0..).zip(LENS).map(|(turn, len)| case(turn, patterns[turn % patterns.len()], len, order(turn))).collect());
    assert!(long > LENS.len(), "few of the long lengths run");
}
