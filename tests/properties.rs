//! Properties over keys, lengths and options that proptest draws; failures shrink and print their seed.

use polysort::{Options, Order, RayonBackend, Sort, Sortable, Window, permutation};
use polysort_kit::TestKey;
use proptest::prelude::*;
use std::ops::Range;

/// Keys of many shapes: raw bits with some of them blanked out, so that long ties, constant digits and sparse ones come up.
fn keys<K: TestKey>() -> impl Strategy<Value = Vec<K>> {
    let mask = prop_oneof![Just(u128::MAX), any::<u128>(), (0..128_u32).prop_map(|bits| u128::MAX >> bits), Just(0x0101_0101)];
    (mask, prop_oneof![0..40_usize, 0..5000_usize])
        .prop_flat_map(|(mask, len)| proptest::collection::vec(any::<u128>().prop_map(move |raw| K::from_raw(raw & mask)), len))
}

fn options<K: Sortable>() -> impl Strategy<Value = Options> {
    let order = prop_oneof![Just(Order::Ascending), Just(Order::Descending)];
    (order, proptest::option::of((0..=K::WIDTH, 0..=K::WIDTH))).prop_map(|(order, window)| match window {
        None => Options::ordered(order),
        Some((a, b)) => Options::ordered(order).bits(a.min(b)..a.max(b)),
    })
}

/// The stable order by definition: by rank in the window, then by position.
fn expected<K: TestKey>(keys: &[K], options: Options, range: Range<usize>) -> Vec<u32> {
    let (begin, end) = options.window.unwrap_or(Window::of(..)).in_width(K::WIDTH).expect("a window that lies in the key");
    let rank = |key: K| (begin..end).fold(0_u128, |rank, bit| rank | u128_bit(key, bit) << (bit - begin));
    let mut order: Vec<(u128, u32)> = range.map(|i| (rank(keys[i]), i as u32)).collect();
    order.sort_by(|a, b| match options.order {
        Order::Ascending => a.cmp(b),
        Order::Descending => b.0.cmp(&a.0).then(a.1.cmp(&b.1)),
    });
    order.into_iter().map(|(_, i)| i).collect()
}

fn u128_bit<K: Sortable>(key: K, bit: u32) -> u128 {
    use polysort::Word;
    key.to_bits().widen() >> bit & 1
}

fn raws<K: TestKey>(keys: &[K]) -> Vec<u128> {
    keys.iter().map(|key| key.raw()).collect()
}

macro_rules! properties {
    ($($name:ident: $key:ty;)*) => {$(
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(48))]

            #[test]
            fn $name(keys in keys::<$key>(), options in options::<$key>(), k in 0..6000_usize, cut in 0.0..1.0_f64) {
                let backend = RayonBackend::default();
                let order = expected(&keys, options, 0..keys.len());

                prop_assert_eq!(&backend.argsort_with(&keys, options).unwrap(), &order);

                let (mut sorted, mut values) = (keys.clone(), (0..keys.len() as u32).collect::<Vec<_>>());
                backend.sort_pairs_with(&mut sorted, &mut values, options).unwrap();
                prop_assert_eq!(&values, &order);
                prop_assert_eq!(raws(&sorted), raws(&permutation::gather(&keys, &order)));

                let (mut into_keys, mut into_values) = (keys.clone(), vec![u32::MAX; keys.len()]);
                let indices: Vec<u32> = (0..keys.len() as u32).collect();
                backend.sort_pairs_into_with(&keys, &indices, &mut into_keys, &mut into_values, options).unwrap();
                prop_assert_eq!(&into_values, &order);
                prop_assert_eq!(raws(&into_keys), raws(&sorted));
                into_keys.reverse();
                backend.sort_into_with(&keys, &mut into_keys, options).unwrap();
                prop_assert_eq!(raws(&into_keys), raws(&sorted));

                // Sorting sorted keys changes nothing; keys alone come out as pairs do.
                let mut alone = keys.clone();
                backend.sort_with(&mut alone, options).unwrap();
                prop_assert_eq!(raws(&alone), raws(&sorted));
                backend.sort_with(&mut alone, options).unwrap();
                prop_assert_eq!(raws(&alone), raws(&sorted));

                let best = backend.top_k_with(&keys, k, options).unwrap();
                prop_assert_eq!(&best.indices[..], &order[..k.min(order.len())]);

                let mut moved = keys.clone();
                backend.partial_sort_with(&mut moved, k, options).unwrap();
                let first = k.min(keys.len());
                prop_assert_eq!(raws(&moved[..first]), raws(&sorted[..first]));
                if k < keys.len() {
                    backend.select_nth_with(&mut moved, k, options).unwrap();
                    prop_assert_eq!(raws(&moved[k..=k]), raws(&sorted[k..=k]));
                }

                let cut = (keys.len() as f64 * cut) as usize;
                let mut halves = expected(&keys, options, 0..cut);
                halves.extend(expected(&keys, options, cut..keys.len()));
                let offsets = [0, cut, keys.len()];
                prop_assert_eq!(&backend.argsort_segments_with(&keys, &offsets, options).unwrap(), &halves);

                let best = backend.top_k_segments_with(&keys, k, &offsets, options).unwrap();
                let (left, right) = halves.split_at(cut);
                let first = [&left[..k.min(left.len())], &right[..k.min(right.len())]].concat();
                prop_assert_eq!(best.indices, first);
            }
        }
    )*};
}
properties! {
    bytes: u8;
    shorts: i16;
    words: u32;
    floats: f32;
    longs: i64;
    doubles: f64;
    wides: u128;
    halves: half::f16;
    chars: char;
    tuples: (u16, i32);
    reversed: std::cmp::Reverse<f32>;
    own: polysort_kit::Custom;
    moved: polysort_kit::Scored;
}
