//! One system's work on the slices of a cell, in the form that its users have them.

use crate::input::Input;
use crate::key::BenchKey;
use bytemuck::Pod;
use rayon::prelude::*;
use std::ops::Range;

/// What is timed, with what must happen before and after.
pub trait Task {
    /// Puts the input where the next [`run`](Task::run) finds it.
    fn prepare(&mut self);

    /// Sorts all slices.
    fn run(&mut self);

    /// Whether the last run gave the right answer.
    fn verify(&self) -> bool;
}

/// A value that moves with a key and says which key it belongs to.
pub trait Payload: Pod + PartialEq + Send + Sync + 'static {
    /// The type's name in a record.
    const NAME: &'static str;

    /// The value of the key at `index`.
    fn of(index: u32) -> Self;
}

impl Payload for u32 {
    const NAME: &'static str = "u32";

    fn of(index: u32) -> Self {
        index
    }
}

impl Payload for u64 {
    const NAME: &'static str = "u64";

    fn of(index: u32) -> Self {
        u64::from(index) | u64::from(!index) << 32
    }
}

/// Sorts slices of keys in place.
#[derive(Debug)]
pub struct KeysTask<'a, K, F> {
    input: &'a Input<K>,
    keys: Vec<K>,
    sort: F,
}

impl<'a, K: BenchKey, F: FnMut(&mut [K])> KeysTask<'a, K, F> {
    /// The task of `sort`.
    pub fn new(input: &'a Input<K>, sort: F) -> Self {
        Self { input, keys: input.keys.clone(), sort }
    }
}

impl<K: BenchKey, F: FnMut(&mut [K])> Task for KeysTask<'_, K, F> {
    fn prepare(&mut self) {
        self.keys.copy_from_slice(&self.input.keys);
    }

    fn run(&mut self) {
        self.keys.chunks_mut(self.input.len).for_each(&mut self.sort);
    }

    fn verify(&self) -> bool {
        same(&self.keys, &self.input.sorted)
    }
}

/// Sorts slices of keys partly, in place: the keys at some positions go where a sort puts them, between those that sort before and behind them.
#[derive(Debug)]
pub struct PartlyTask<'a, K, F> {
    input: &'a Input<K>,
    positions: Range<usize>,
    keys: Vec<K>,
    sort: F,
}

impl<'a, K: BenchKey, F: FnMut(&mut [K], Range<usize>)> PartlyTask<'a, K, F> {
    /// The task of `sort`, which gets a slice and the positions.
    pub fn new(input: &'a Input<K>, positions: Range<usize>, sort: F) -> Self {
        Self { input, positions, keys: input.keys.clone(), sort }
    }
}

impl<K: BenchKey, F: FnMut(&mut [K], Range<usize>)> Task for PartlyTask<'_, K, F> {
    fn prepare(&mut self) {
        self.keys.copy_from_slice(&self.input.keys);
    }

    fn run(&mut self) {
        self.keys.chunks_mut(self.input.len).for_each(|keys| (self.sort)(keys, self.positions.clone()));
    }

    fn verify(&self) -> bool {
        let len = self.input.len;
        // Sums of mixed keys: the same for the same keys in any order.
        let mixed =
            |key: &K| (key.ordered() as u64 ^ (key.ordered() >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let sum = |keys: &[K]| keys.iter().fold(0_u64, |sum, key| sum.wrapping_add(mixed(key).wrapping_mul(mixed(key) | 1)));
        let is_right = |(keys, sorted): (&[K], &[K])| {
            let Range { start, end } = self.positions;
            let least = keys[end..].iter().map(|key| key.ordered()).min();
            let greatest = keys[..start].iter().map(|key| key.ordered()).max();
            same(&keys[start..end], &sorted[start..end])
                && least.is_none_or(|least| least >= sorted[end - 1].ordered())
                && greatest.is_none_or(|greatest| greatest <= sorted[start].ordered())
                && sum(keys) == sum(sorted)
        };
        self.keys.chunks(len).zip(self.input.sorted.chunks(len)).all(is_right)
    }
}

/// Sorts slices of keys and of values by the keys.
#[derive(Debug)]
pub struct PairsTask<'a, K, V, F> {
    input: &'a Input<K>,
    keys: Vec<K>,
    values: Vec<V>,
    sort: F,
}

impl<'a, K: BenchKey, V: Payload, F: FnMut(&mut [K], &mut [V])> PairsTask<'a, K, V, F> {
    /// The task of `sort`.
    pub fn new(input: &'a Input<K>, sort: F) -> Self {
        Self { input, keys: input.keys.clone(), values: vec![V::zeroed(); input.keys.len()], sort }
    }
}

impl<K: BenchKey, V: Payload, F: FnMut(&mut [K], &mut [V])> Task for PairsTask<'_, K, V, F> {
    fn prepare(&mut self) {
        self.keys.copy_from_slice(&self.input.keys);
        let len = self.input.len;
        self.values.iter_mut().enumerate().for_each(|(at, value)| *value = V::of((at % len) as u32));
    }

    fn run(&mut self) {
        let len = self.input.len;
        for (keys, values) in self.keys.chunks_mut(len).zip(self.values.chunks_mut(len)) {
            (self.sort)(keys, values);
        }
    }

    fn verify(&self) -> bool {
        same(&self.keys, &self.input.sorted) && self.values.iter().zip(&self.input.order).all(|(&value, &at)| value == V::of(at))
    }
}

/// Sorts slices of tuples by the key: the form in which peers take pairs.
#[derive(Debug)]
pub struct TuplesTask<'a, K, V, F> {
    input: &'a Input<K>,
    stable: bool,
    tuples: Vec<(K, V)>,
    sort: F,
}

impl<'a, K: BenchKey, V: Payload, F: FnMut(&mut [(K, V)])> TuplesTask<'a, K, V, F> {
    /// The task of `sort`, which is `stable` or need not keep the order of equal keys.
    pub fn new(input: &'a Input<K>, stable: bool, sort: F) -> Self {
        Self { input, stable, tuples: vec![(K::default(), V::zeroed()); input.keys.len()], sort }
    }
}

impl<K: BenchKey, V: Payload, F: FnMut(&mut [(K, V)])> Task for TuplesTask<'_, K, V, F> {
    fn prepare(&mut self) {
        let len = self.input.len;
        for (at, (tuple, &key)) in self.tuples.iter_mut().zip(&self.input.keys).enumerate() {
            *tuple = (key, V::of((at % len) as u32));
        }
    }

    fn run(&mut self) {
        self.tuples.chunks_mut(self.input.len).for_each(&mut self.sort);
    }

    fn verify(&self) -> bool {
        let right =
            |(tuple, (&key, &at)): (&(K, V), (&K, &u32))| tuple.0.raw() == key.raw() && (!self.stable || tuple.1 == V::of(at));
        self.tuples.iter().zip(self.input.sorted.iter().zip(&self.input.order)).all(right)
    }
}

/// Copies the bytes of slices of records, each on as many threads as the copy is worth.
#[derive(Debug)]
pub struct CopyTask {
    from: Vec<u8>,
    to: Vec<u8>,
    slice_bytes: usize,
}

/// Bytes that one thread copies, at least: some 5 µs of work.
const COPIED_BYTES: usize = 64 << 10;

impl CopyTask {
    /// The task of copying slices of as many records as `input` has keys, each of `record_bytes`.
    pub fn new<K: BenchKey>(input: &Input<K>, record_bytes: usize) -> Self {
        let bytes = input.keys.len() * record_bytes;
        Self { from: vec![1; bytes], to: vec![0; bytes], slice_bytes: input.len * record_bytes }
    }
}

impl Task for CopyTask {
    fn prepare(&mut self) {
        self.to.fill(0);
    }

    fn run(&mut self) {
        let share = self.slice_bytes.div_ceil(rayon::current_num_threads()).max(COPIED_BYTES);
        for (from, to) in self.from.chunks(self.slice_bytes).zip(self.to.chunks_mut(self.slice_bytes)) {
            if share >= from.len() {
                to.copy_from_slice(from);
            } else {
                to.par_chunks_mut(share).zip(from.par_chunks(share)).for_each(|(to, from)| to.copy_from_slice(from));
            }
        }
    }

    fn verify(&self) -> bool {
        self.from == self.to
    }
}

/// Makes the stable sorting permutation of slices of keys, which stay as they are.
#[derive(Debug)]
pub struct ArgsortTask<'a, K, F> {
    input: &'a Input<K>,
    /// Indices of each slice that are asked for.
    most: usize,
    orders: Vec<Vec<u32>>,
    argsort: F,
}

impl<'a, K: BenchKey, F: FnMut(&[K]) -> Vec<u32>> ArgsortTask<'a, K, F> {
    /// The task of `argsort`.
    pub fn new(input: &'a Input<K>, argsort: F) -> Self {
        Self::first(input, input.len, argsort)
    }

    /// The task of `select`, which returns the first `most` indices alone.
    pub fn first(input: &'a Input<K>, most: usize, select: F) -> Self {
        Self { input, most, orders: Vec::with_capacity(input.slices()), argsort: select }
    }
}

impl<K: BenchKey, F: FnMut(&[K]) -> Vec<u32>> Task for ArgsortTask<'_, K, F> {
    fn prepare(&mut self) {
        self.orders.clear();
    }

    fn run(&mut self) {
        self.orders.extend(self.input.keys.chunks(self.input.len).map(&mut self.argsort));
    }

    fn verify(&self) -> bool {
        let expected = self.input.order.chunks(self.input.len).map(|order| &order[..self.most.min(order.len())]);
        self.orders.iter().eq(expected)
    }
}

/// Whether two slices hold the same keys, bit for bit.
fn same<K: Pod>(left: &[K], right: &[K]) -> bool {
    bytemuck::cast_slice::<K, u8>(left) == bytemuck::cast_slice::<K, u8>(right)
}
