//! The suite catches bugs: each one planted here makes it fail, and the same backend without the bug passes.

use polysort_core::{AnyOperation, Backend, DynBackend, Error, Limits, Masks, Operation, Spec, Word, with_word};
use polysort_kit::{Check, Plan, StdBackend, TestKey, checks_of};
use std::marker::PhantomData;

/// A way to be wrong.
trait Bug: Clone + Send + Sync + 'static {
    /// What the sort believes its spec to be.
    fn spec<W: Word>(spec: Spec) -> Spec {
        spec
    }

    /// What happens to a sorting permutation.
    fn permutation<W: Word>(_keys: &[W], _spec: Spec, _permutation: &mut [usize]) {}

    /// How many elements at the end of an output are not written.
    const UNWRITTEN: usize = 0;

    /// How many positions of a partial sort are left out.
    const UNPLACED: usize = 0;
}

/// `std`'s stable sort with a bug in it.
#[derive(Clone)]
struct Buggy<B>(PhantomData<B>);

impl<B: Bug> Backend for Buggy<B> {
    fn open() -> Result<Self, Error> {
        Ok(Self(PhantomData))
    }

    fn name(&self) -> String {
        std::any::type_name::<B>().into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        let sorted: Vec<W> = permutation::<B, W>(keys, spec).into_iter().map(|i| keys[i]).collect();
        keys.copy_from_slice(&sorted);
        Ok(())
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        let permutation = permutation::<B, W>(keys, spec);
        let moved: Vec<V> = permutation.into_iter().map(|i| values[i]).collect();
        values.copy_from_slice(&moved);
        self.sort_bits(keys, spec)
    }

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        with_word!(operation, operation => match operation {
            Operation::SortInto { keys, sorted } => {
                Error::check_lengths("keys", keys.len(), "sorted", sorted.len())?;
                let mut copy = keys.to_vec();
                self.sort_bits(&mut copy, spec)?;
                let written = keys.len().saturating_sub(B::UNWRITTEN);
                sorted[..written].copy_from_slice(&copy[..written]);
                Ok(())
            }
            // The other keys are not sorted, as they need not be.
            Operation::PartialSort { keys, positions, segments: None } => {
                let len = keys.len();
                self.sort_bits(keys, spec)?;
                let end = positions.end.min(len).saturating_sub(B::UNPLACED);
                keys[..positions.start.min(len)].reverse();
                keys[end.max(positions.start).min(len)..].reverse();
                Ok(())
            }
            operation => operation.by_two_sorts(self, spec),
        })
    }
}

fn permutation<B: Bug, W: Word>(keys: &[W], spec: Spec) -> Vec<usize> {
    let spec = B::spec::<W>(spec);
    let mut permutation: Vec<usize> = (0..keys.len()).collect();
    permutation.sort_by_key(|&i| spec.rank(keys[i]));
    B::permutation(keys, spec, &mut permutation);
    permutation
}

#[derive(Clone)]
struct NoBug;
impl Bug for NoBug {}

/// Signed integers go through the transform of floats, which reverses the negative ones.
#[derive(Clone)]
struct FloatFlip;
impl Bug for FloatFlip {
    fn spec<W: Word>(mut spec: Spec) -> Spec {
        if spec.masks == Masks::signed(W::BITS) {
            spec.masks = Masks::float(W::BITS);
        } else if spec.masks == Masks::signed(W::BITS).reversed(W::BITS) {
            spec.masks = Masks::float(W::BITS).reversed(W::BITS);
        }
        spec
    }
}

/// Floats keep −NaN at the end, as bits with a plain sign flip would.
#[derive(Clone)]
struct WrongNanOrder;
impl Bug for WrongNanOrder {
    fn permutation<W: Word>(keys: &[W], spec: Spec, permutation: &mut [usize]) {
        // Bit patterns above infinity's of f32, sign set: moved behind everything else.
        if W::BITS == 32 && spec.masks == Masks::float(32) {
            permutation.sort_by_key(|&i| keys[i].widen() > 0xff80_0000);
        }
    }
}

/// Equal keys come out in the opposite order.
#[derive(Clone)]
struct Unstable;
impl Bug for Unstable {
    fn permutation<W: Word>(keys: &[W], spec: Spec, permutation: &mut [usize]) {
        permutation.reverse();
        permutation.sort_by_key(|&i| spec.rank(keys[i]));
    }
}

/// Descending is ascending read backwards: sorted, but equal keys are reversed.
#[derive(Clone)]
struct ReversedDescending;
impl Bug for ReversedDescending {
    fn permutation<W: Word>(keys: &[W], spec: Spec, permutation: &mut [usize]) {
        let descends = spec.rank(W::zero()) > spec.rank(W::one());
        if descends {
            Unstable::permutation(keys, spec, permutation);
        }
    }
}

/// The last element is not looked at.
#[derive(Clone)]
struct DroppedLast;
impl Bug for DroppedLast {
    fn permutation<W: Word>(keys: &[W], spec: Spec, permutation: &mut [usize]) {
        if let Some(last) = keys.len().checked_sub(1) {
            permutation.sort_by_key(|&i| (i == last, spec.rank(keys[i])));
        }
    }
}

/// The window's begin is ignored.
#[derive(Clone)]
struct IgnoredBegin;
impl Bug for IgnoredBegin {
    fn spec<W: Word>(mut spec: Spec) -> Spec {
        spec.begin = 0;
        spec
    }
}

/// The window's end is ignored.
#[derive(Clone)]
struct IgnoredEnd;
impl Bug for IgnoredEnd {
    fn spec<W: Word>(mut spec: Spec) -> Spec {
        spec.end = W::BITS;
        spec
    }
}

/// The last element of an output is left as it was.
#[derive(Clone)]
struct StaleEnd;
impl Bug for StaleEnd {
    const UNWRITTEN: usize = 1;
}

/// The last position of a partial sort is left as it comes.
#[derive(Clone)]
struct Unplaced;
impl Bug for Unplaced {
    const UNPLACED: usize = 1;
}

/// One digit of 64-bit keys is skipped.
#[derive(Clone)]
struct SkippedDigit;
impl Bug for SkippedDigit {
    fn permutation<W: Word>(keys: &[W], spec: Spec, permutation: &mut [usize]) {
        if W::BITS == 64 {
            permutation.sort_by_key(|&i| spec.rank(keys[i]).widen() & !(0xff << 24));
        }
    }
}

/// The names of the failing checks on the given key type.
fn failures<B: Bug, K: TestKey>() -> Vec<String> {
    let plan = Plan::up_to(1000, false);
    let fails = |check: &Check| check.run(&DynBackend::new(Buggy::<B>(PhantomData)), &plan).is_err();
    checks_of::<K>().into_iter().filter(fails).map(|check| check.name()).collect()
}

#[test]
fn a_right_backend_passes() {
    assert_eq!(failures::<NoBug, i64>(), [""; 0]);
    assert_eq!(failures::<NoBug, f32>(), [""; 0]);
    let plan = Plan::up_to(1000, false);
    for check in checks_of::<polysort_kit::Custom>() {
        assert!(check.run(&DynBackend::new(StdBackend), &plan).unwrap() > 100, "{}", check.name());
    }
}

#[test]
fn signed_integers_through_the_float_flip_are_caught() {
    let caught = failures::<FloatFlip, i64>();
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
    assert_eq!(failures::<FloatFlip, u64>(), [""; 0]);
}

#[test]
fn a_wrong_nan_order_is_caught() {
    assert!(failures::<WrongNanOrder, f32>().contains(&"f32 sort".into()));
}

#[test]
fn an_unstable_sort_is_caught_wherever_it_shows() {
    let caught = failures::<Unstable, u16>();
    for operation in
        ["sort", "sort_pairs", "sort_by_key", "argsort", "sort_pairs_segments", "argsort_segments", "top_k", "top_k_segments"]
    {
        assert!(caught.contains(&format!("u16 {operation}")), "{operation}: {caught:?}");
    }
}

#[test]
fn a_descending_sort_that_reverses_ties_is_caught() {
    assert!(failures::<ReversedDescending, u32>().contains(&"u32 argsort".into()));
}

#[test]
fn a_dropped_last_element_is_caught() {
    assert!(failures::<DroppedLast, u8>().contains(&"u8 sort".into()));
    assert!(failures::<DroppedLast, u128>().contains(&"u128 sort".into()));
}

#[test]
fn an_ignored_window_is_caught() {
    assert!(failures::<IgnoredBegin, u32>().contains(&"u32 sort".into()));
    assert!(failures::<IgnoredEnd, u32>().contains(&"u32 sort".into()));
    assert!(failures::<IgnoredEnd, i8>().contains(&"i8 argsort".into()));
}

#[test]
fn a_stale_output_is_caught() {
    assert_eq!(failures::<StaleEnd, u32>(), ["u32 sort_into"]);
}

#[test]
fn a_position_without_its_key_is_caught() {
    assert_eq!(failures::<Unplaced, u32>(), ["u32 partial_sort", "u32 select_nth"]);
}

#[test]
fn a_skipped_digit_is_caught() {
    assert!(failures::<SkippedDigit, u64>().contains(&"u64 sort".into()));
}
