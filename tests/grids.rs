//! The grids of other sorts' test suites, for the CPU backend: their lengths, windows and distributions.
//!
//! | suite | what it adds to the conformance suite |
//! |---|---|
//! | CUB's radix sort | keys with little entropy; windows of no bit, of one, of a part of a digit, at both ends |
//! | sort-research-rs | Zipf's law, saw teeth, sorted keys with some behind them, all short lengths |
//! | radsort, voracious | lengths around the borders of their algorithms |

use polysort::{DynBackend, Options, Order, RayonBackend};
use polysort_kit::{Case, Pattern, checks};

/// The keys of a window's grid, and their bits.
const KEYS: [(&str, u32); 5] = [("u8", 8), ("i16", 16), ("u32", 32), ("f32", 32), ("u64", 64)];

/// Runs each check of these keys on the cases that `cases` gives for a width.
fn run(threads: usize, cases: impl Fn(u32) -> Vec<Case>) {
    let backend = DynBackend::new(RayonBackend::with_threads(threads).unwrap());
    let mut count = 0;
    for check in checks() {
        let Some(&(_, width)) = KEYS.iter().find(|(name, _)| *name == check.key) else { continue };
        for case in cases(width) {
            check.run_case(&backend, case).unwrap_or_else(|what| panic!("{}: {what}", check.name()));
            count += 1;
        }
    }
    println!("{count} cases on {threads} threads");
    assert!(count > 1000, "the keys have other names");
}

/// A case whose seed is that of its length and its pattern.
fn case(pattern: Pattern, len: usize, options: Options) -> Case {
    Case { pattern, len, options, seed: len as u64 + 1000 * pattern as u64 }
}

#[test]
fn windows_of_keys_with_little_entropy() {
    let lens = [65, 1000, 9000];
    run(2, |width| {
        let half = width / 2;
        let windows =
            [(0, 0), (width, width), (0, 1), (width - 1, width), (3, 7), (half - 1, half + 2), (0, width - 1), (1, width)];
        let mut cases = vec![];
        for (turn, (begin, end)) in windows.into_iter().enumerate() {
            for (pattern, order) in [(Pattern::Uniform, Order::Ascending), (Pattern::Sparse, Order::Descending)] {
                let len = lens[(turn + order as usize) % lens.len()];
                cases.push(case(pattern, len, Options::ordered(order).bits(begin..end)));
            }
        }
        cases
    });
}

#[test]
fn distributions() {
    for (threads, lens) in [(1, [300, 5000]), (2, [50, 70_000])] {
        run(threads, |_| {
            let orders = [Order::Ascending, Order::Descending].into_iter();
            let each = |order| {
                Pattern::OTHERS.into_iter().flat_map(move |pattern| lens.map(|len| case(pattern, len, Options::ordered(order))))
            };
            orders.flat_map(each).collect()
        });
    }
}

#[test]
fn all_short_lengths() {
    run(1, |_| {
        let one = |len| {
            let options = if len % 2 == 0 { Options::ascending() } else { Options::descending() };
            [case(Pattern::Uniform, len, options), case(Pattern::Sparse, len, options)]
        };
        (0..=130).flat_map(one).collect()
    });
}
