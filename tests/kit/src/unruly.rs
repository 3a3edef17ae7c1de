//! The check of keys that break the contract of [`Sortable`]: no call loses a key, and the call after it gives the right answer.
//!
//! | the key | what the call does |
//! |---|---|
//! | panics in a call of `to_bits` or `from_bits` | passes the panic on; its slices are as they were |
//! | has bits beyond its `WIDTH` | returns [`Error::InvalidKey`]; its slices are as they were |
//! | returns other bits in each call of `to_bits` | does the same, or returns a permutation of its input |
//!
//! polysort-core calls the functions of a key, on the thread of the caller. The backend gets the bits that the key returned, and keeps nothing of
//! a call that a panic ended.

use crate::case::{Case, mix};
use crate::oracle::Oracle;
use core::cell::Cell;
use core::fmt::Debug;
use polysort_core::{DynBackend, Error, Options, Sort, Sortable, permutation};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The name of the keys in a check's name.
pub(crate) const NAME: &str = "Unruly";

/// The numbers of keys. The last one is longer than the inputs of such keys are without `--full` (`Plan::longest_mapped`).
pub(crate) const LENGTHS: [usize; 5] = [3, 65, 700, 5003, 70_001];

/// A key with as many bits as a `char`, so that a device compiles no kernels for this check alone. A key with a tag is larger than its bits, so sorts
/// move it by a permutation. A key without one is rebuilt from its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Unruly<T> {
    number: u32,
    tag: T,
}

/// What a key carries besides its bits.
trait Tag: Copy + Default + Ord + Debug {}
impl Tag for () {}
impl Tag for u32 {}

impl<T: Tag> Sortable for Unruly<T> {
    type Bits = u32;
    const WIDTH: u32 = char::WIDTH;
    const IDENTICAL: Option<fn(Self, Self) -> bool> = if size_of::<T>() == 0 { Some(|a, b| a == b) } else { None };

    fn to_bits(self) -> u32 {
        match called() {
            Mood::Lies(call) => mix(call, 1) as u32 & ((1 << Self::WIDTH) - 1),
            Mood::Honest => self.number,
        }
    }

    fn from_bits(bits: u32) -> Self {
        called();
        Self { number: bits, tag: T::default() }
    }
}

/// What a function of a key does if it does not panic.
enum Mood {
    /// It keeps the contract.
    Honest,
    /// It returns bits that depend on the number of the call.
    Lies(u64),
}

/// How keys break their contract during a call of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The call with this number of a function of any key panics.
    PanicsIn(u64),
    /// `to_bits` returns other bits in each call.
    Lies,
    /// The key at this index has a bit beyond its `WIDTH`.
    TooWide(usize),
}

thread_local! {
    static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
    /// The number of calls of the functions of keys.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// What a panic of a key carries.
struct OnPurpose;

/// Counts a call of a function of a key.
fn called() -> Mood {
    let call = CALLS.replace(CALLS.get() + 1);
    match FAULT.get() {
        // Unlike `panic!`, it prints nothing.
        Fault::PanicsIn(number) if number == call => resume_unwind(Box::new(OnPurpose)),
        Fault::Lies => Mood::Lies(call),
        _ => Mood::Honest,
    }
}

/// Runs `call` while keys have a fault. Returns `None` if a key has panicked.
fn with_fault<R>(fault: Fault, call: impl FnOnce() -> R) -> Option<R> {
    FAULT.set(fault);
    CALLS.set(0);
    let result = catch_unwind(AssertUnwindSafe(call));
    FAULT.set(Fault::None);
    match result {
        Err(panic) if !panic.is::<OnPurpose>() => resume_unwind(panic),
        result => result.ok(),
    }
}

/// What a caller has before a call, and after it: `values` are the indices of the keys, or what an operation returns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slices<T> {
    keys: Vec<Unruly<T>>,
    values: Vec<u32>,
}

struct Operation<T> {
    name: &'static str,
    run: fn(&DynBackend, &mut Slices<T>, Options) -> Result<(), Error>,
    moves_keys: bool,
    moves_values: bool,
}

impl<T: Tag> Operation<T> {
    const ALL: [Self; 5] = [
        Self {
            name: "sort",
            run: |backend, slices, options| backend.sort_with(&mut slices.keys, options),
            moves_keys: true,
            moves_values: false,
        },
        Self {
            name: "sort_pairs",
            run: |backend, slices, options| backend.sort_pairs_with(&mut slices.keys, &mut slices.values, options),
            moves_keys: true,
            moves_values: true,
        },
        Self {
            name: "argsort",
            run: |backend, slices, options| {
                slices.values = backend.argsort_with(&slices.keys, options)?;
                Ok(())
            },
            moves_keys: false,
            moves_values: true,
        },
        Self {
            name: "sort_by_key",
            run: |backend, Slices { keys, values }, options| backend.sort_by_key_with(values, |&at| keys[at as usize], options),
            moves_keys: false,
            moves_values: true,
        },
        Self {
            name: "top_k",
            run: |backend, slices, options| {
                let best = backend.top_k_with(&slices.keys, selected(slices.keys.len()), options)?;
                *slices = Slices { keys: best.keys, values: best.indices };
                Ok(())
            },
            moves_keys: true,
            moves_values: true,
        },
    ];

    /// What the caller has after a call that puts the keys in this order.
    fn answer(&self, before: &Slices<T>, order: &[u32]) -> Slices<T> {
        let order = if self.name == "top_k" { &order[..selected(order.len())] } else { order };
        Slices {
            keys: if self.moves_keys { permutation::gather(&before.keys, order) } else { before.keys.clone() },
            values: if self.moves_values { order.to_vec() } else { before.values.clone() },
        }
    }

    /// Whether the keys are in some order after a call, and nothing is lost.
    fn is_in_some_order(&self, before: &Slices<T>, after: &Slices<T>) -> bool {
        if !self.moves_values {
            let sorted = |slices: &Slices<T>| {
                let mut keys = slices.keys.clone();
                keys.sort();
                keys
            };
            return sorted(after) == sorted(before) && after.values == before.values;
        }
        let mut is_left = vec![true; before.keys.len()];
        let is_new = |&at: &u32| is_left.get_mut(at as usize).is_some_and(|is_left| core::mem::replace(is_left, false));
        if !after.values.iter().all(is_new) {
            return false;
        }
        // A selection leaves some out.
        let left: Vec<u32> = (0..).zip(is_left).filter_map(|(at, is_left)| is_left.then_some(at)).collect();
        *after == self.answer(before, &[&after.values[..], &left].concat())
    }
}

/// The number of keys that the check selects.
fn selected(len: usize) -> usize {
    len - len / 3
}

/// Calls a backend with unruly keys, and after each such call with keys that keep the contract.
pub(crate) fn broken_contract(backend: &DynBackend, case: Case) -> Result<(), String> {
    let numbers: Vec<char> = case.pattern.keys(case.len, case.seed);
    let order = Oracle::new(&numbers, case).permutation();
    let rebuilt = numbers.iter().map(|&number| Unruly { number: number.into(), tag: () });
    of_kind(backend, case, rebuilt.collect(), &order)?;
    let moved = (0_u32..).zip(&numbers).map(|(tag, &number)| Unruly { number: number.into(), tag });
    of_kind(backend, case, moved.collect(), &order)
}

fn of_kind<T: Tag>(backend: &DynBackend, case: Case, keys: Vec<Unruly<T>>, order: &[u32]) -> Result<(), String> {
    let before = Slices { values: (0..keys.len() as u32).collect(), keys };
    for (turn, operation) in (0..).zip(Operation::<T>::ALL) {
        let fault = fault(case.len, case.seed, turn);
        let name = |what: &str| format!("{} of keys with the fault {fault:?}: {what}", operation.name);
        let mut given = before.clone();
        if let Fault::TooWide(at) = fault {
            given.keys[at].number |= 1 << (char::WIDTH + case.seed as u32 % (u32::BITS - char::WIDTH));
        }
        let mut slices = given.clone();
        let result = with_fault(fault, || (operation.run)(backend, &mut slices, case.options));
        end(fault, result, &operation, &given, &slices, order).map_err(|what| name(&what))?;
        let mut next = before.clone();
        (operation.run)(backend, &mut next, case.options).map_err(|error| name(&format!("the next call failed: {error}")))?;
        if next != operation.answer(&before, order) {
            return Err(name("the next call gave a wrong answer"));
        }
    }
    Ok(())
}

/// Another fault for each of five turns, which begin with any of them. There are three panics, as a call asks `len` keys for their bits, rebuilds each
/// key for the check, and rebuilds each key after the sort.
fn fault(len: usize, seed: u64, turn: u64) -> Fault {
    let at = mix(seed, turn) % len as u64;
    let kinds = if cfg!(panic = "unwind") { 5 } else { 2 };
    match (seed % kinds + turn) % kinds {
        0 => Fault::TooWide(at as usize),
        1 => Fault::Lies,
        kind => Fault::PanicsIn((kind - 2) * len as u64 + at),
    }
}

/// Checks how a call with a fault ended: `result` is `None` for a panic.
fn end<T: Tag>(
    fault: Fault,
    result: Option<Result<(), Error>>,
    operation: &Operation<T>,
    given: &Slices<T>,
    slices: &Slices<T>,
    order: &[u32],
) -> Result<(), String> {
    let is_untouched = slices == given;
    let is_right = match (fault, &result) {
        (Fault::PanicsIn(_), None) | (Fault::Lies, Some(Err(Error::InvalidKey { .. }))) => is_untouched,
        (Fault::TooWide(at), Some(Err(Error::InvalidKey { index, bits, .. }))) => {
            is_untouched && (*index, *bits) == (at, given.keys[at].number.into())
        }
        // A call asks each key for its bits, but an operation that returns indices rebuilds no key.
        (Fault::PanicsIn(call), Some(Ok(()))) => call >= given.keys.len() as u64 && *slices == operation.answer(given, order),
        (Fault::Lies, Some(Ok(()))) => operation.is_in_some_order(given, slices),
        _ => false,
    };
    let state = if is_untouched { "are as they were" } else { "have changed" };
    if is_right {
        Ok(())
    } else {
        Err(format!("the call returned {result:?}, which is None for a panic, and the slices {state}"))
    }
}
