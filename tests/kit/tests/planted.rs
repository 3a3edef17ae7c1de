//! The suite catches bugs: each one planted here makes it fail, and the same backend without the bug passes.

use polysort_core::{AnyOperation, Backend, DynBackend, Error, Limits, Masks, Operation, Spec, Word, with_word};
use polysort_kit::{Check, Plan, StdBackend, TestKey, checks};
use std::cell::Cell;

/// A way to be wrong. It is a value and not a type, so that the sorts are compiled once.
#[derive(Clone, Copy)]
struct Bug {
    /// What the sort believes its spec to be, for keys of so many bits.
    spec: fn(Spec, u32) -> Spec,
    /// What happens to a sorting permutation.
    permutation: fn(&Keys, &mut [usize]),
    /// How many elements at the end of an output are not written.
    unwritten: usize,
    /// How many positions of a partial sort are left out.
    unplaced: usize,
    /// Whether the last run counts as a part of the run before it.
    merges_runs: bool,
    /// Whether calls return at once.
    is_idle: bool,
}

/// Keys of any width.
struct Keys {
    bits: u32,
    masks: Masks,
    keys: Vec<u128>,
    /// Keys with smaller ranks come first.
    ranks: Vec<u128>,
    descends: bool,
}

const NO_BUG: Bug =
    Bug { spec: |spec, _| spec, permutation: |_, _| {}, unwritten: 0, unplaced: 0, merges_runs: false, is_idle: false };

/// `std`'s stable sort with a bug in it.
#[derive(Clone)]
struct Buggy(Bug);

impl Backend for Buggy {
    fn open() -> Result<Self, Error> {
        Ok(Self(NO_BUG))
    }

    fn name(&self) -> String {
        "buggy".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        let sorted: Vec<W> = self.permutation(keys, spec).into_iter().map(|i| keys[i]).collect();
        keys.copy_from_slice(&sorted);
        Ok(())
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        let permutation = self.permutation(keys, spec);
        let moved: Vec<V> = permutation.into_iter().map(|i| values[i]).collect();
        values.copy_from_slice(&moved);
        self.sort_bits(keys, spec)
    }

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        if self.0.is_idle {
            return Ok(());
        }
        with_word!(operation, operation => match operation {
            Operation::SortInto { keys, sorted } => {
                Error::check_lengths("keys", keys.len(), "sorted", sorted.len())?;
                let mut copy = keys.to_vec();
                self.sort_bits(&mut copy, spec)?;
                let written = keys.len().saturating_sub(self.0.unwritten);
                sorted[..written].copy_from_slice(&copy[..written]);
                Ok(())
            }
            // The other keys are not sorted, as they need not be.
            Operation::PartialSort { keys, positions, segments: None } => {
                let len = keys.len();
                self.sort_bits(keys, spec)?;
                let end = positions.end.min(len).saturating_sub(self.0.unplaced);
                keys[..positions.start.min(len)].reverse();
                keys[end.max(positions.start).min(len)..].reverse();
                Ok(())
            }
            Operation::Runs { keys, offsets } => {
                Operation::Runs { keys, offsets }.by_two_sorts(self, (self.0.spec)(spec, bits_of(keys)))?;
                if self.0.merges_runs && offsets.len() > 2 {
                    offsets.remove(offsets.len() - 2);
                }
                Ok(())
            }
            operation @ (Operation::Sort { .. }
            | Operation::SortPairs { .. }
            | Operation::SortPairsInto { .. }
            | Operation::PartialSort { .. }
            | Operation::Argsort { .. }
            | Operation::TopK { .. }) => operation.by_two_sorts(self, spec),
        })
    }
}

/// The bits of a word of `keys`.
fn bits_of<W: Word>(_: &[W]) -> u32 {
    W::BITS
}

impl Buggy {
    fn permutation<W: Word>(&self, keys: &[W], spec: Spec) -> Vec<usize> {
        let spec = (self.0.spec)(spec, W::BITS);
        let keys = Keys {
            bits: W::BITS,
            masks: spec.masks,
            keys: keys.iter().map(|key| key.widen()).collect(),
            ranks: keys.iter().map(|&key| spec.rank(key).widen()).collect(),
            descends: spec.rank(W::zero()) > spec.rank(W::one()),
        };
        let mut permutation: Vec<usize> = (0..keys.ranks.len()).collect();
        permutation.sort_by_key(|&i| keys.ranks[i]);
        (self.0.permutation)(&keys, &mut permutation);
        permutation
    }
}

/// Signed integers go through the transform of floats, which reverses the negative ones.
const FLOAT_FLIP: Bug = Bug {
    spec: |mut spec, bits| {
        if spec.masks == Masks::signed(bits) {
            spec.masks = Masks::float(bits);
        } else if spec.masks == Masks::signed(bits).reversed(bits) {
            spec.masks = Masks::float(bits).reversed(bits);
        }
        spec
    },
    ..NO_BUG
};

/// Floats keep −NaN at the end, as bits with a plain sign flip would.
const WRONG_NAN_ORDER: Bug = Bug {
    // Bit patterns above infinity's of f32, sign set: moved behind everything else.
    permutation: |keys, permutation| {
        if keys.bits == 32 && keys.masks == Masks::float(32) {
            permutation.sort_by_key(|&i| keys.keys[i] > 0xff80_0000);
        }
    },
    ..NO_BUG
};

/// Equal keys come out in the opposite order.
const UNSTABLE: Bug = Bug {
    permutation: |keys, permutation| {
        permutation.reverse();
        permutation.sort_by_key(|&i| keys.ranks[i]);
    },
    ..NO_BUG
};

/// Descending is ascending read backwards: sorted, but equal keys are reversed.
const REVERSED_DESCENDING: Bug = Bug {
    permutation: |keys, permutation| {
        if keys.descends {
            (UNSTABLE.permutation)(keys, permutation);
        }
    },
    ..NO_BUG
};

/// The last element is not looked at.
const DROPPED_LAST: Bug = Bug {
    permutation: |keys, permutation| {
        if let Some(last) = keys.ranks.len().checked_sub(1) {
            permutation.sort_by_key(|&i| (i == last, keys.ranks[i]));
        }
    },
    ..NO_BUG
};

/// The window's begin is ignored.
const IGNORED_BEGIN: Bug = Bug {
    spec: |mut spec, _| {
        spec.begin = 0;
        spec
    },
    ..NO_BUG
};

/// The window's end is ignored.
const IGNORED_END: Bug = Bug {
    spec: |mut spec, bits| {
        spec.end = bits;
        spec
    },
    ..NO_BUG
};

/// The last element of an output is left as it was.
const STALE_END: Bug = Bug { unwritten: 1, ..NO_BUG };

/// The last position of a partial sort is left as it comes.
const UNPLACED: Bug = Bug { unplaced: 1, ..NO_BUG };

/// The last run is not found.
const UNFOUND: Bug = Bug { merges_runs: true, ..NO_BUG };

/// One digit of 64-bit keys is skipped.
const SKIPPED_DIGIT: Bug = Bug {
    permutation: |keys, permutation| {
        if keys.bits == 64 {
            permutation.sort_by_key(|&i| keys.ranks[i] & !(0xff << 24));
        }
    },
    ..NO_BUG
};

/// Nothing is done.
const IDLE: Bug = Bug { is_idle: true, ..NO_BUG };

/// If a backend that does nothing passes a check, the check is useless.
#[test]
fn every_check_fails_if_nothing_is_done() {
    let plan = Plan::up_to(1000, false);
    let asked =
        checks().into_iter().filter(|check| check.key == "u32" || ["sort_wide", "broken_contract"].contains(&check.operation));
    let passing: Vec<String> =
        asked.filter(|check| check.run(&DynBackend::new(Buggy(IDLE)), &plan).is_ok()).map(|check| check.name()).collect();
    assert_eq!(passing, [""; 0]);
}

thread_local! {
    /// The number of keys of the call before.
    static LAST_LEN: Cell<usize> = const { Cell::new(0) };
}

/// A call takes what the call before it has left, if that had as many keys: here, keys in no order.
const LEFTOVERS: Bug = Bug {
    permutation: |_, permutation| {
        let len = permutation.len();
        if LAST_LEN.replace(len) == len {
            permutation.rotate_left(len / 2);
        }
    },
    ..NO_BUG
};

/// The checks of a key, which the suite has compiled: the compiler would compile those of `checks_of` once more.
fn checks_on(key: &str) -> impl Iterator<Item = Check> {
    let mut checks = checks().into_iter().filter(move |check| check.key == key).peekable();
    assert!(checks.peek().is_some(), "no checks of {key}");
    checks
}

/// The names of the checks on a key that fail with a bug.
fn failures(key: &str, bug: Bug) -> Vec<String> {
    let plan = Plan::up_to(1000, false);
    let fails = |check: &Check| check.run(&DynBackend::new(Buggy(bug)), &plan).is_err();
    checks_on(key).filter(fails).map(|check| check.name()).collect()
}

#[test]
fn a_right_backend_passes() {
    assert_eq!(failures("i64", NO_BUG), [""; 0]);
    assert_eq!(failures("f32", NO_BUG), [""; 0]);
    let plan = Plan::up_to(1000, false);
    for check in checks_on(polysort_kit::Custom::NAME) {
        assert!(check.run(&DynBackend::new(StdBackend), &plan).unwrap() > 100, "{}", check.name());
    }
}

/// The check of keys that break their contract, on a backend with this bug.
fn broken_contract(bug: Bug) -> Result<usize, String> {
    let check = checks().into_iter().find(|check| check.operation == "broken_contract").expect("the check of unruly keys");
    check.run(&DynBackend::new(Buggy(bug)), &Plan::up_to(6000, false))
}

#[test]
fn a_right_backend_passes_with_keys_that_break_their_contract() {
    assert!(broken_contract(NO_BUG).unwrap() > 20);
}

#[test]
fn a_wrong_call_after_one_with_a_broken_key_is_caught() {
    for bug in [LEFTOVERS, DROPPED_LAST, UNSTABLE] {
        let what = broken_contract(bug).unwrap_err();
        assert!(what.contains("the next call gave a wrong answer"), "{what}");
    }
}

#[test]
fn signed_integers_through_the_float_flip_are_caught() {
    let caught = failures("i64", FLOAT_FLIP);
    for operation in [
        "sort",
        "sort_into",
        "sort_pairs",
        "sort_pairs_into",
        "sort_by_key",
        "argsort",
        "sort_segments",
        "top_k",
        "top_k_segments",
        "partial_sort",
        "partial_sort_segments",
        "select_nth",
        "select_nth_segments",
    ] {
        assert!(caught.contains(&format!("i64 {operation}")), "{operation}: {caught:?}");
    }
    assert_eq!(failures("u64", FLOAT_FLIP), [""; 0]);
}

#[test]
fn a_wrong_nan_order_is_caught() {
    assert!(failures("f32", WRONG_NAN_ORDER).contains(&"f32 sort".into()));
}

#[test]
fn an_unstable_sort_is_caught_wherever_it_shows() {
    let caught = failures("u16", UNSTABLE);
    for operation in
        ["sort", "sort_pairs", "sort_by_key", "argsort", "sort_pairs_segments", "argsort_segments", "top_k", "top_k_segments"]
    {
        assert!(caught.contains(&format!("u16 {operation}")), "{operation}: {caught:?}");
    }
}

#[test]
fn a_descending_sort_that_reverses_ties_is_caught() {
    assert!(failures("u32", REVERSED_DESCENDING).contains(&"u32 argsort".into()));
}

#[test]
fn a_dropped_last_element_is_caught() {
    assert!(failures("u8", DROPPED_LAST).contains(&"u8 sort".into()));
    assert!(failures("u128", DROPPED_LAST).contains(&"u128 sort".into()));
}

#[test]
fn an_ignored_window_is_caught() {
    assert!(failures("u32", IGNORED_BEGIN).contains(&"u32 sort".into()));
    assert!(failures("u32", IGNORED_END).contains(&"u32 sort".into()));
    assert!(failures("u32", IGNORED_BEGIN).contains(&"u32 runs".into()));
    assert!(failures("u64", IGNORED_END).contains(&"u64 runs".into()));
    assert!(failures("i8", IGNORED_END).contains(&"i8 argsort".into()));
}

#[test]
fn a_stale_output_is_caught() {
    assert_eq!(failures("u32", STALE_END), ["u32 sort_into", "u32 async"]);
}

#[test]
fn a_position_without_its_key_is_caught() {
    assert_eq!(failures("u32", UNPLACED), ["u32 partial_sort", "u32 select_nth"]);
}

#[test]
fn a_run_that_is_not_found_is_caught() {
    assert_eq!(failures("f32", UNFOUND), ["f32 runs"]);
}

#[test]
fn a_skipped_digit_is_caught() {
    assert!(failures("u64", SKIPPED_DIGIT).contains(&"u64 sort".into()));
}
