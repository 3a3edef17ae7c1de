//! The check of keys of more than 128 bits: their sort and its permutation, blocking and as a future, against `std`'s stable sort.

use crate::case::{Case, mix};
use core::cmp::Ordering;
use futures_lite::future::block_on;
use polysort_core::{DynBackend, Order, Sort, SortAsync, Wide};

/// 200 bits. Its last part is as wide as the keys of the plan's cases, so that their windows of bits lie in it.
pub(crate) type WideTestKey = Wide<([u8; 5], u64, [i16; 2], u64)>;

/// The name of the keys in a check's name.
pub(crate) const NAME: &str = "Wide<([u8;5],u64,[i16;2],u64)>";

/// Keys of which few differ in their first bits, some in the next ones, and the rest, by the pattern of the case, in the last ones.
fn keys(case: Case) -> Vec<WideTestKey> {
    let last = case.pattern.keys::<u64>(case.len, case.seed);
    let from_few = |at: usize, salt: u64, few: u64| mix(case.seed ^ salt, at as u64) % few;
    let key = |(at, last): (usize, u64)| {
        let first = if from_few(at, 1, 16) == 0 { [1, 2, 3, 4, from_few(at, 2, 3) as u8] } else { [1, 2, 3, 4, 5] };
        Wide((first, u64::MAX - from_few(at, 3, 2), [-1, from_few(at, 4, 3) as i16 - 1], last))
    };
    last.into_iter().enumerate().map(key).collect()
}

/// The stable sorting permutation, without `WideKey`.
fn permutation(keys: &[WideTestKey], case: Case) -> Vec<u32> {
    let compare = |a: &WideTestKey, b: &WideTestKey| {
        let ascending: Ordering = match case.options.window {
            None => a.0.cmp(&b.0),
            Some(window) => {
                let (begin, end) = window.in_width(64).expect("the windows of a plan for keys of 64 bits lie in them");
                let of = |key: &WideTestKey| if begin == end { 0 } else { key.0.3 << (64 - end) >> (64 - end + begin) };
                of(a).cmp(&of(b))
            }
        };
        if case.options.order == Order::Descending { ascending.reverse() } else { ascending }
    };
    let mut permutation: Vec<u32> = (0..keys.len() as u32).collect();
    permutation.sort_by(|&a, &b| compare(&keys[a as usize], &keys[b as usize]));
    permutation
}

/// Sorts wide keys on a backend.
pub(crate) fn sort_wide(backend: &DynBackend, case: Case) -> Result<(), String> {
    let (keys, mut case) = (keys(case), case);
    if let Some(window) = &mut case.options.window {
        // Without an end, a window would go on to the end of the wide key.
        window.end = Some(window.end.unwrap_or(64));
    }
    let expected = permutation(&keys, case);
    let sorted_keys: Vec<WideTestKey> = expected.iter().map(|&at| keys[at as usize]).collect();
    let failed = |error| format!("the backend failed: {error}");
    let check = |what: &str, is_right: bool| if is_right { Ok(()) } else { Err(format!("{what} is wrong")) };

    check("argsort_wide", backend.argsort_wide_with(&keys, case.options).map_err(failed)? == expected)?;
    check("argsort_wide_async", block_on(backend.argsort_wide_async(&keys, case.options)).map_err(failed)? == expected)?;
    let mut sorted = keys.clone();
    backend.sort_wide_with(&mut sorted, case.options).map_err(failed)?;
    check("sort_wide", sorted == sorted_keys)?;
    let mut sorted = keys;
    block_on(backend.sort_wide_async(&mut sorted, case.options)).map_err(failed)?;
    check("sort_wide_async", sorted == sorted_keys)
}
