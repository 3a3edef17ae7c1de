//! Sorts of all keys by the CPU backend, beside std's stable sort.
#![no_main]

use arbitrary::Arbitrary;
use bytemuck::Pod;
use core::fmt::Debug;
use libfuzzer_sys::fuzz_target;
use polysort_core::{Error, Options, Order, Sort, Wide, permutation};
use polysort_fuzz::{Choice, KeyType, Keys, Orders, Threads, in_order, same, same_keys, with_key};
use polysort_kit::TestKey;
use polysort_rayon::RayonBackend;

#[derive(Debug, Arbitrary)]
struct Input {
    key: KeyType,
    operation: Operation,
    orders: Orders,
    threads: Threads,
    keys: Keys,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Operation {
    Sort,
    SortInto,
    Pairs,
    PairsInto,
    /// Values of any size, with keys that are words.
    AnyPairs {
        value: Value,
        word: Choice,
        is_into: bool,
    },
    ByKey,
    Argsort,
    Wide,
}

/// The type of the values that move with the keys.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Value {
    Byte,
    ThreeBytes,
    TwoWords,
    ThreeWords,
    FourWords,
    TenShorts,
}

fuzz_target!(|input: Input| {
    let backend = input.threads.backend();
    match input.operation {
        Operation::Wide => wide(&backend, input.orders, &input.keys.of()),
        Operation::AnyPairs { value, word, is_into } => {
            let pairs = AnyPairs { backend: &backend, value, is_into, orders: input.orders, keys: &input.keys };
            match word.of(&[0, 1, 2, 3, 4]) {
                0 => pairs.run::<u8>(),
                1 => pairs.run::<half::f16>(),
                2 => pairs.run::<f32>(),
                3 => pairs.run::<i64>(),
                _ => pairs.run::<u128>(),
            }
        }
        operation => with_key!(input.key, K => run::<K>(&backend, operation, input.orders, &input.keys.of())),
    }
});

fn run<K: TestKey>(backend: &RayonBackend, operation: Operation, orders: Orders, keys: &[K]) {
    let (options, bits) = orders.of_width(K::WIDTH);
    let expected = bits.map(|_| in_order(keys, options, [0..keys.len()]));
    let expected = expected.as_deref();
    match operation {
        Operation::Sort => {
            let mut sorted = keys.to_vec();
            check(backend.sort_with(&mut sorted, options), expected);
            same_keys("keys", &sorted, moved(keys, expected));
        }
        Operation::SortInto => {
            let mut sorted = vec![K::from_raw(u128::MAX); keys.len()];
            let before = sorted.clone();
            let input = keys.to_vec();
            check(backend.sort_into_with(&input, &mut sorted, options), expected);
            same_keys("keys", &sorted, if expected.is_some() { moved(keys, expected) } else { before });
            same_keys("keys of the input", &input, keys.iter().copied());
        }
        Operation::Pairs => pairs(backend, keys, |at| at, options, expected),
        Operation::PairsInto => pairs_into(backend, keys, |at| at, options, expected),
        Operation::ByKey => {
            // Elements that are not Copy.
            let mut items: Vec<(Box<u32>, K)> = keys.iter().zip(0..).map(|(&key, at)| (Box::new(at), key)).collect();
            check(backend.sort_by_key_with(&mut items, |item| item.1, options), expected);
            let unmoved: Vec<u32> = (0..keys.len() as u32).collect();
            same("items", items.iter().map(|item| *item.0), expected.unwrap_or(&unmoved).iter().copied());
        }
        Operation::Argsort => {
            let indices = backend.argsort_with(keys, options);
            match (indices, expected) {
                (Ok(indices), Some(expected)) => same("indices", indices, expected.iter().copied()),
                (indices, expected) => check(indices.map(drop), expected),
            }
        }
        Operation::AnyPairs { .. } | Operation::Wide => unreachable!("these have functions of their own"),
    }
}

/// A sort of pairs with values of any size.
struct AnyPairs<'a> {
    backend: &'a RayonBackend,
    value: Value,
    is_into: bool,
    orders: Orders,
    keys: &'a Keys,
}

impl AnyPairs<'_> {
    fn run<K: TestKey>(&self) {
        match self.value {
            Value::Byte => self.of::<K, u8>(|at| at as u8),
            Value::ThreeBytes => self.of::<K, _>(|at| [at as u8, (at >> 8) as u8, (at >> 16) as u8]),
            Value::TwoWords => self.of::<K, _>(|at| u64::from(at) << 32 | u64::from(!at)),
            Value::ThreeWords => self.of::<K, _>(|at| [at, !at, at ^ 0x5555]),
            Value::FourWords => self.of::<K, _>(|at| u128::from(at) << 96 | u128::from(!at)),
            Value::TenShorts => self.of::<K, [u16; 10]>(|at| [(at >> 16) as u16, at as u16, 1, 2, 3, 4, 5, 6, 7, 8]),
        }
    }

    fn of<K: TestKey, V: Pod + Debug + PartialEq>(&self, value: fn(u32) -> V) {
        let keys: Vec<K> = self.keys.of();
        let (options, bits) = self.orders.of_width(K::WIDTH);
        let expected = bits.map(|_| in_order(&keys, options, [0..keys.len()]));
        let sort = if self.is_into { pairs_into::<K, V> } else { pairs::<K, V> };
        sort(self.backend, &keys, value, options, expected.as_deref());
    }
}

fn pairs<K: TestKey, V: Pod + Debug + PartialEq>(
    backend: &RayonBackend,
    keys: &[K],
    value: fn(u32) -> V,
    options: Options,
    expected: Option<&[u32]>,
) {
    let values: Vec<V> = (0..keys.len() as u32).map(value).collect();
    let (mut sorted, mut with_them) = (keys.to_vec(), values.clone());
    check(backend.sort_pairs_with(&mut sorted, &mut with_them, options), expected);
    same_keys("keys", &sorted, moved(keys, expected));
    same("values", with_them, moved(&values, expected));
}

fn pairs_into<K: TestKey, V: Pod + Debug + PartialEq>(
    backend: &RayonBackend,
    keys: &[K],
    value: fn(u32) -> V,
    options: Options,
    expected: Option<&[u32]>,
) {
    let (input, values): (Vec<K>, Vec<V>) = (keys.to_vec(), (0..keys.len() as u32).map(value).collect());
    let (mut sorted, mut with_them) = (vec![K::from_raw(u128::MAX); keys.len()], vec![V::zeroed(); keys.len()]);
    check(backend.sort_pairs_into_with(&input, &values, &mut sorted, &mut with_them, options), expected);
    if expected.is_some() {
        same_keys("keys", &sorted, moved(keys, expected));
        same("values", with_them, moved(&values, expected));
    }
    same_keys("keys of the input", &input, keys.iter().copied());
}

/// Checks that a sort returns an error if, and only if, the key does not have the bits that the options name.
#[track_caller]
fn check(result: Result<(), Error>, expected: Option<&[u32]>) {
    match (result, expected) {
        (Ok(()), Some(_)) | (Err(Error::InvalidRange { .. }), None) => {}
        (result, _) => panic!("{result:?} of a window that {} the key", if expected.is_some() { "lies in" } else { "exceeds" }),
    }
}

/// Returns the elements in the expected order, or as they were where an error is expected.
fn moved<T: Copy>(elements: &[T], expected: Option<&[u32]>) -> Vec<T> {
    expected.map_or_else(|| elements.to_vec(), |order| permutation::gather(elements, order))
}

/// A key of 200 bits.
type WideTestKey = Wide<(u64, u8, u128)>;

/// Sorts keys of which few differ in their first bits, and some in the next ones.
fn wide(backend: &RayonBackend, orders: Orders, raws: &[u128]) {
    let keys: Vec<WideTestKey> = raws.iter().map(|&raw| Wide(((raw >> 60) as u64 % 3, (raw >> 120) as u8 & 3, raw))).collect();
    let (options, bits) = orders.of_width(200);
    let indices = backend.argsort_wide_with(&keys, options);
    let mut sorted = keys.clone();
    let result = backend.sort_wide_with(&mut sorted, options);
    let Some((begin, end)) = bits else {
        check(indices.map(drop), None);
        check(result, None);
        return same("keys", sorted, keys);
    };
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    let field = |at: u32| {
        let Wide((first, second, third)) = keys[at as usize];
        field(u128::from(first) << 8 | u128::from(second), third, begin, end)
    };
    expected.sort_by(|&a, &b| match options.order {
        Order::Ascending => field(a).cmp(&field(b)),
        Order::Descending => field(b).cmp(&field(a)),
    });
    same("indices", indices.expect("the key has these bits"), expected.iter().copied());
    result.expect("the key has these bits");
    same("keys", sorted, permutation::gather(&keys, &expected));
}

/// Returns the bits `begin..end` of a number of 256 bits.
fn field(high: u128, low: u128, begin: u32, end: u32) -> (u128, u128) {
    let (high, low) = match begin {
        0 => (high, low),
        1..128 => (high >> begin, low >> begin | high << (128 - begin)),
        _ => (0, high.checked_shr(begin - 128).unwrap_or(0)),
    };
    let ones = |bits: u32| u128::MAX.checked_shr(128 - bits.min(128)).unwrap_or(0);
    let bits = end - begin;
    (high & ones(bits.saturating_sub(128)), low & ones(bits))
}
