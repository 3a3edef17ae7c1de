//! Operations as a backend gets them: their checks, the provided ones, a backend behind one type, and futures.

use crate::support::Std;
use polysort::Fallback;
use polysort_core::{
    AnyOperation, Backend, DynBackend, Error, Limits, Operation, Options, Segments, Sort, SortAsync, Spec, Values, ValuesMut,
    sorts_by_run,
};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

const BACKEND: Std<0> = Std;

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}

/// Each operation with slices of wrong lengths, and with segments and specs that cannot be.
#[test]
fn what_no_backend_can_rely_on_is_refused() {
    let spec = Spec::unsigned::<u8>();
    let mut long = Spec::unsigned::<u8>();
    long.end = 9;
    let (segments, none) = (Some(Segments::Offsets(&[0, 4])), None);
    let lengths = |operation: Operation<'_, u8>| {
        let outcome = operation.check(spec);
        assert!(matches!(outcome, Err(Error::LengthMismatch { .. })), "{operation:?}: {outcome:?}");
    };
    let (keys, mut two, mut indices) = ([3_u8, 1, 2], [7_u8; 2], [0_u32; 3]);
    lengths(Operation::SortPairs { keys: &mut keys.clone(), values: ValuesMut::of(&mut two), segments: none });
    lengths(Operation::SortInto { keys: &keys, sorted: &mut two });
    let values = Values::of(&keys);
    lengths(Operation::SortPairsInto {
        keys: &keys,
        values,
        sorted_keys: &mut two,
        sorted_values: ValuesMut::of(&mut [0_u8; 3]),
    });
    let (mut sorted, mut wide) = ([0; 3], [0_u16; 3]);
    let other_size =
        Operation::SortPairsInto { keys: &keys, values, sorted_keys: &mut sorted, sorted_values: ValuesMut::of(&mut wide) };
    assert!(matches!(other_size.check(spec), Err(Error::Unsupported { .. })));
    lengths(Operation::Argsort { keys: &keys, segments: none, indices: &mut indices[..2] });
    lengths(Operation::TopK { keys: &keys, k: 2, segments: none, indices: &mut indices });
    lengths(Operation::TopK { keys: &keys, k: 9, segments: none, indices: &mut indices[..2] });

    let invalid = |operation: Operation<'_, u8>| {
        let outcome = operation.check(spec);
        assert!(matches!(outcome, Err(Error::InvalidOffsets { index: 0, .. })), "{operation:?}: {outcome:?}");
        let outcome = operation.check(long);
        assert!(matches!(outcome, Err(Error::InvalidRange { end: 9, .. })), "{operation:?}: {outcome:?}");
    };
    invalid(Operation::Sort { keys: &mut keys.clone(), segments });
    invalid(Operation::SortPairs { keys: &mut keys.clone(), values: ValuesMut::of(&mut sorted), segments });
    invalid(Operation::Argsort { keys: &keys, segments, indices: &mut indices });
    invalid(Operation::TopK { keys: &keys, k: 9, segments, indices: &mut indices });
    invalid(Operation::PartialSort { keys: &mut keys.clone(), positions: 0..1, segments });
    let runs = Operation::Runs { keys: &keys, offsets: &mut vec![] };
    assert!(runs.check(spec).is_ok() && matches!(runs.check(long), Err(Error::InvalidRange { end: 9, .. })));
    let any = AnyOperation::from(runs);
    assert!(any.check(spec).is_ok() && matches!(any.check(long), Err(Error::InvalidRange { end: 9, .. })));
    // The provided operations check before they write.
    let outcome = BACKEND.run(Operation::Argsort { keys: &keys, segments, indices: &mut indices }.into(), spec);
    assert!(matches!(outcome, Err(Error::InvalidOffsets { .. })));
    assert_eq!(indices, [0; 3]);
}

#[test]
fn operations_name_the_bytes_that_move_with_each_key() {
    let (keys, mut sorted, mut indices, mut offsets) = ([3_u8, 1], [0_u8; 2], [0_u32; 2], vec![]);
    let (values, mut moved, segments) = ([[7_u8; 3]; 2], [[0_u8; 3]; 2], None);
    let bytes = |operation: Operation<'_, u8>| operation.payload_bytes();
    assert_eq!(bytes(Operation::Sort { keys: &mut sorted, segments }), 0);
    assert_eq!(bytes(Operation::SortInto { keys: &keys, sorted: &mut sorted }), 0);
    assert_eq!(bytes(Operation::PartialSort { keys: &mut sorted, positions: 0..1, segments }), 0);
    assert_eq!(bytes(Operation::Runs { keys: &keys, offsets: &mut offsets }), 0);
    assert_eq!(bytes(Operation::SortPairs { keys: &mut sorted, values: ValuesMut::of(&mut moved), segments }), 3);
    let (values, sorted_values) = (Values::of(&values), ValuesMut::of(&mut moved));
    assert_eq!(bytes(Operation::SortPairsInto { keys: &keys, values, sorted_keys: &mut sorted, sorted_values }), 3);
    assert_eq!(bytes(Operation::Argsort { keys: &keys, segments, indices: &mut indices }), 4);
    assert_eq!(bytes(Operation::TopK { keys: &keys, k: 2, segments, indices: &mut indices }), 4);
}

/// Values of every size, those with a case of their own among them.
#[test]
fn values_of_any_size_move_with_their_keys() {
    fn moved<const N: usize>() {
        let keys: Vec<u16> = (0..100).map(|at: u16| at.wrapping_mul(40_503) % 17).collect();
        let values: Vec<[u8; N]> = (0..100).map(|at| core::array::from_fn(|byte| at + byte as u8)).collect();
        let mut order: Vec<usize> = (0..100).collect();
        order.sort_by_key(|&at| keys[at]);
        let (mut sorted, mut moved) = (keys.clone(), values.clone());
        BACKEND.sort_pairs(&mut sorted, &mut moved).unwrap();
        assert!(moved.iter().eq(order.iter().map(|&at| &values[at])), "{N} bytes");
        let (mut sorted, mut moved) = (vec![0; 100], vec![[0; N]; 100]);
        BACKEND.sort_pairs_into(&keys, &values, &mut sorted, &mut moved).unwrap();
        assert!(moved.iter().eq(order.iter().map(|&at| &values[at])), "{N} bytes into other slices");
        assert!(sorted.is_sorted());
        let (mut sorted, mut moved) = (keys.clone(), values.clone());
        BACKEND.sort_pairs_segments(&mut sorted, &mut moved, &[0, 100]).unwrap();
        assert!(moved.iter().eq(order.iter().map(|&at| &values[at])), "{N} bytes in a segment");
    }
    moved::<0>();
    moved::<1>();
    moved::<2>();
    moved::<3>();
    moved::<4>();
    moved::<8>();
    moved::<12>();
    moved::<16>();
    moved::<20>();
    moved::<32>();
}

#[test]
fn values_have_a_length() {
    assert!(Values::of::<u16>(&[]).is_empty() && ValuesMut::of::<u16>(&mut []).is_empty());
    assert!(!Values::of(&[7_u16]).is_empty() && !ValuesMut::of(&mut [7_u16]).is_empty());
}

#[test]
fn values_are_the_bytes_of_their_slice() {
    let mut values = [0x0403_u16.to_be(), 0x0201_u16.to_be()];
    assert_eq!(Values::of(&values).bytes(), [4, 3, 2, 1]);
    ValuesMut::of(&mut values).bytes_mut().reverse();
    assert_eq!(values.map(u16::from_be), [0x0102, 0x0304]);
    assert!(Values::of(&[(); 3]).bytes().is_empty() && ValuesMut::of(&mut [(); 3]).bytes_mut().is_empty());
}

#[test]
#[should_panic(expected = "cannot view values of 4 bytes as arrays of 8 bytes")]
fn values_are_arrays_of_their_own_size_only() {
    ValuesMut::of(&mut [1_u32, 2]).arrays::<8>();
}

#[test]
fn a_wrong_permutation_of_values_leaves_them_as_they_were() {
    for order in [&[0, 1, 3][..], &[0, 1], &[0, u32::MAX, 1]] {
        let mut values = [1_u32, 2, 3];
        let permuted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ValuesMut::of(&mut values).permute(order)));
        assert!(permuted.is_err());
        assert_eq!(values, [1, 2, 3]);
    }
}

#[test]
fn a_backend_behind_one_type_answers_as_itself() -> Result<(), Error> {
    let backend = DynBackend::new(BACKEND);
    let mut keys = [2.0, f64::NAN, -1.0];
    backend.sort(&mut keys)?;
    assert_eq!(format!("{keys:?}"), "[-1.0, 2.0, NaN]");
    assert_eq!(backend.top_k(&[5_u8, 9, 1, 9], 3)?.indices, [1, 3, 0]);
    backend.select_nth(&mut keys, 1)?;
    assert_eq!(keys[1], 2.0);
    assert_eq!(backend.name(), "std");
    assert_eq!(format!("{backend:?}"), "DynBackend(\"std\")");
    assert!(!Backend::is_lost(&backend) && Backend::is_lost(&DynBackend::new(LostOnce(0))));
    assert_eq!(DynBackend::new(LostOnce(0)).limits().max_len, 9);
    assert!(backend.downcast_ref::<Std<0>>().is_some());
    assert!(backend.downcast_ref::<Std<1>>().is_none());
    // Another kind of backend around it, and that one behind the type again.
    let both = DynBackend::new(Fallback::new(Ok(backend), Std::<1>));
    assert_eq!(both.argsort(&[3, 1, 2])?, [1, 2, 0]);
    assert!(matches!(DynBackend::open(), Err(Error::Unavailable { .. })));
    Ok(())
}

/// Is lost in its first call; a backend that takes its place has the next number.
#[derive(Clone, Debug)]
struct LostOnce(u32);

impl Backend for LostOnce {
    fn open() -> Result<Self, Error> {
        panic!("it has settings, so it is reopened")
    }

    fn name(&self) -> String {
        format!("number {}", self.0)
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_len = 9;
        limits
    }

    fn is_lost(&self) -> bool {
        self.0 == 0
    }

    fn reopen(&self) -> Result<Self, Error> {
        Ok(Self(self.0 + 1))
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        if self.is_lost() {
            return Err(Error::DeviceLost { backend: self.name(), why: "as planned".into(), source: None });
        }
        BACKEND.run(operation, spec)
    }
}

#[test]
fn a_lost_backend_behind_one_type_is_opened_again_with_its_settings() -> Result<(), Error> {
    let both = Fallback::new(Ok(DynBackend::new(LostOnce(0))), BACKEND);
    both.sort(&mut [2, 1])?;
    assert_eq!((both.report().taken, both.report().fell_back), (0, 1));
    both.sort(&mut [2, 1])?;
    assert_eq!((both.report().taken, both.report().fell_back), (1, 1));
    assert_eq!(both.primary()?.name(), "number 1");
    Ok(())
}

/// Answers at the second poll of a future, and counts what it is asked for.
#[derive(Clone, Debug)]
struct Waits;

static BLOCKING: AtomicUsize = AtomicUsize::new(0);
static FUTURES: AtomicUsize = AtomicUsize::new(0);

impl Backend for Waits {
    fn open() -> Result<Self, Error> {
        Ok(Self)
    }

    fn name(&self) -> String {
        "waits".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        BLOCKING.fetch_add(1, SeqCst);
        BACKEND.run(operation, spec)
    }

    async fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        FUTURES.fetch_add(1, SeqCst);
        let waited = AtomicBool::new(false);
        std::future::poll_fn(|_| if waited.swap(true, SeqCst) { Poll::Ready(()) } else { Poll::Pending }).await;
        BACKEND.run(operation, spec)
    }
}

/// Polls a future twice: it waits at the first poll.
fn second<T>(future: impl Future<Output = T> + Send) -> T {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    assert!(future.as_mut().poll(&mut context).is_pending());
    match future.poll(&mut context) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it still waits"),
    }
}

#[test]
fn futures_reach_the_backend_through_every_wrapper() -> Result<(), Error> {
    let both = Fallback::new(Ok(DynBackend::new(Waits)), BACKEND);
    let (mut keys, mut values) = (['c', 'a', 'b'], [3_u8, 1, 2]);
    second(both.sort_pairs_async(&mut keys, &mut values, Options::ascending()))?;
    assert_eq!((keys, values), (['a', 'b', 'c'], [1, 2, 3]));
    let mut items = ["ccc", "a", "bb"].map(String::from);
    second(both.sort_by_key_async(&mut items, |item| item.len() as u32, Options::descending()))?;
    assert_eq!(items, ["ccc", "bb", "a"]);
    let mut keys = [3_u32, 1, 2, 9, 8];
    second(both.sort_segments_async(&mut keys, &[0, 3, 5], Options::ascending()))?;
    assert_eq!(keys, [1, 2, 3, 8, 9]);
    assert_eq!((BLOCKING.load(SeqCst), FUTURES.load(SeqCst), both.report().taken), (0, 3, 3));
    // A future that is dropped while it waits has moved nothing.
    let mut keys = [3_u32, 1, 2];
    let mut dropped = Box::pin(both.sort_async(&mut keys, Options::ascending()));
    assert!(dropped.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(dropped);
    assert_eq!(keys, [3, 1, 2]);
    Ok(())
}

#[test]
fn a_backend_without_futures_of_its_own_is_ready_at_once() -> Result<(), Error> {
    let (keys, mut sorted) = ([3_i8, -1, 2], [0; 3]);
    ready(BACKEND.sort_into_async(&keys, &mut sorted, Options::ascending()))?;
    assert_eq!(sorted, [-1, 2, 3]);
    assert_eq!(ready(BACKEND.top_k_async(&keys, 2, Options::descending()))?.keys, [3, 2]);
    let mut keys = keys;
    ready(BACKEND.partial_sort_async(&mut keys, 1, Options::descending()))?;
    assert_eq!(keys[0], 3);
    ready(BACKEND.select_nth_async(&mut keys, 1, Options::ascending()))?;
    assert_eq!(keys[1], 2);
    ready(BACKEND.partial_sort_segments_async(&mut keys, 1, &[1, 3], Options::descending()))?;
    assert_eq!(keys, [-1, 3, 2]);
    ready(BACKEND.select_nth_segments_async(&mut keys, 0, &[0, 2], Options::descending()))?;
    assert_eq!(keys, [3, -1, 2]);
    let keys = [3_i8, -1, 2];
    assert_eq!(ready(BACKEND.argsort_segments_async(&keys, &[0, 2, 3], Options::ascending()))?, [1, 0, 2]);
    assert_eq!(ready(BACKEND.top_k_segments_async(&keys, 1, &[0, 2, 3], Options::ascending()))?.keys, [-1, 2]);
    // The checks are those of the blocking call.
    let outcome = ready(BACKEND.sort_segments_async(&mut sorted, &[0, 4], Options::ascending()));
    assert!(matches!(outcome, Err(Error::InvalidOffsets { .. })));
    Ok(())
}
