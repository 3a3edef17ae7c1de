//! The peers: the functions of std and rayon for the same operation.
//!
//! Floats are compared by `total_cmp`, as polysort orders them. Pairs are sorted by the stable sorts, which do what polysort does, and by
//! rayon's unstable sort, which does less.

use super::case::{Algorithm, Case, Op, Payload, TOP_K};
use super::compare::{by, by_key, sort_pairs};
use super::system::{RAYON, Run, STD, System};
use crate::dtype::Key;
use rayon::prelude::*;

/// The fewest keys from which one thread selects.
const SELECT_KEYS: usize = 1 << 14;

/// Returns std and rayon as systems for a case.
pub(crate) fn peers<K: Key, const DESCENDING: bool>(case: &Case) -> Vec<System<K>> {
    let sort_unstable: fn(&mut [K]) = |keys| keys.sort_unstable_by(by::<K, DESCENDING>);
    match (case.op, case.payload) {
        (Op::Sort, _) => vec![
            std("sort_unstable", on_all(sort_unstable)),
            std("sort", on_all(|keys| keys.sort_by(by::<K, DESCENDING>))),
            rayon("par_sort_unstable", on_all(|keys| keys.par_sort_unstable_by(by::<K, DESCENDING>))),
        ],
        (Op::SortSegments, _) => vec![
            std("sort_unstable", on_segments(move |segments| segments.into_iter().for_each(sort_unstable))),
            rayon("sort_unstable", on_segments(move |segments| segments.into_par_iter().for_each(sort_unstable))),
        ],
        (Op::SortPairs, Payload::U64) => vec![
            std("sort_by_key", Run::Pairs64(|pairs| pairs.sort_by(by_key::<K, u64, DESCENDING>))),
            rayon("par_sort_by_key", Run::Pairs64(|pairs| pairs.par_sort_by(by_key::<K, u64, DESCENDING>))),
            rayon("par_sort_unstable_by_key", Run::Pairs64(|pairs| pairs.par_sort_unstable_by(by_key::<K, u64, DESCENDING>))),
        ],
        (Op::SortPairs, _) => vec![
            std("sort_by_key", Run::Pairs32(sort_pairs::<K, DESCENDING>)),
            rayon("par_sort_by_key", Run::Pairs32(|pairs| pairs.par_sort_by(by_key::<K, u32, DESCENDING>))),
            rayon("par_sort_unstable_by_key", Run::Pairs32(par_sort_pairs::<K, DESCENDING>)),
        ],
        // Sorting pairs of key and index is faster than sorting indices and looking up their keys.
        (Op::Argsort, _) => vec![
            std("sort_by_key", on_indexed(sort_pairs::<K, DESCENDING>)),
            rayon("par_sort_unstable_by_key", on_indexed(par_sort_pairs::<K, DESCENDING>)),
        ],
        (Op::TopK, _) => vec![
            std("threshold", Run::Shared(Box::new(|keys| Ok(indices(&first::<K, DESCENDING>(keys, 0)))))),
            rayon("threshold", Run::Shared(Box::new(|keys| Ok(indices(&par_first::<K, DESCENDING>(keys)))))),
        ],
    }
}

fn std<K>(backend: &'static str, run: Run<K>) -> System<K> {
    System { system: STD, backend, algorithm: Algorithm::Auto, run }
}

fn rayon<K>(backend: &'static str, run: Run<K>) -> System<K> {
    System { system: RAYON, backend, algorithm: Algorithm::Auto, run }
}

fn on_all<K: Key>(sort: fn(&mut [K])) -> Run<K> {
    Run::Keys(Box::new(move |keys, _| {
        sort(keys);
        Ok(())
    }))
}

fn on_segments<K: Key>(sort: impl Fn(Vec<&mut [K]>) + 'static) -> Run<K> {
    Run::Keys(Box::new(move |mut keys, offsets| {
        let mut segments = Vec::with_capacity(offsets.len());
        for bounds in offsets.windows(2) {
            let (head, tail) = keys.split_at_mut(bounds[1] - bounds[0]);
            segments.push(head);
            keys = tail;
        }
        sort(segments);
        Ok(())
    }))
}

fn on_indexed<K: Key>(sort: fn(&mut [(K, u32)])) -> Run<K> {
    Run::Shared(Box::new(move |keys| {
        let mut pairs: Vec<(K, u32)> = keys.iter().copied().zip(0..).collect();
        sort(&mut pairs);
        Ok(indices(&pairs))
    }))
}

fn par_sort_pairs<K: Key, const DESCENDING: bool>(pairs: &mut [(K, u32)]) {
    pairs.par_sort_unstable_by(by_key::<K, u32, DESCENDING>);
}

fn indices<K>(pairs: &[(K, u32)]) -> Vec<u32> {
    pairs.iter().map(|pair| pair.1).collect()
}

/// Returns the first [`TOP_K`] keys of the order, with their indices.
///
/// It collects candidates. When there are twice [`TOP_K`], it sorts them and keeps the first half. The last candidate is then the
/// threshold: nearly every key is only compared with it. Candidates are collected in index order, so that the stable sort puts the lowest
/// index first among equal keys.
fn first<K: Key, const DESCENDING: bool>(keys: &[K], first_index: u32) -> Vec<(K, u32)> {
    let mut best: Vec<(K, u32)> = Vec::with_capacity(2 * TOP_K);
    let mut last: Option<K> = None;
    for (key, index) in keys.iter().zip(first_index..) {
        if last.is_none_or(|last| by::<K, DESCENDING>(key, &last).is_lt()) {
            best.push((*key, index));
            if best.len() == 2 * TOP_K {
                sort_pairs::<K, DESCENDING>(&mut best);
                best.truncate(TOP_K);
                last = best.last().map(|pair| pair.0);
            }
        }
    }
    sort_pairs::<K, DESCENDING>(&mut best);
    best.truncate(TOP_K);
    best
}

/// Selects from a part of the keys on each thread, and then from the selected keys of all threads.
fn par_first<K: Key, const DESCENDING: bool>(keys: &[K]) -> Vec<(K, u32)> {
    let share = keys.len().div_ceil(rayon::current_num_threads()).max(SELECT_KEYS);
    let mut parts: Vec<Vec<(K, u32)>> = vec![vec![]; keys.len().div_ceil(share)];
    rayon::scope(|scope| {
        for ((part, keys), found) in keys.chunks(share).enumerate().zip(&mut parts) {
            scope.spawn(move |_| *found = first::<K, DESCENDING>(keys, (part * share) as u32));
        }
    });
    let mut best = parts.concat();
    sort_pairs::<K, DESCENDING>(&mut best);
    best.truncate(TOP_K);
    best
}
