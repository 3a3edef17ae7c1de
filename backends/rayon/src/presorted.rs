//! Input that is in order already, or in the opposite one, or two such runs: what appending to a sorted list makes.

use crate::columns::Columns;
use crate::few::Network;
use crate::merge;
use crate::source::{Key, Source};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{TASK, scan_ns};
use crate::window::Window;
use core::ops::Range;
use num_traits::{Bounded, Zero};

/// Keys that one look covers. The first look ends the search for nearly all input that is not sorted.
const LOOKS: [usize; 3] = [8, 256, LONG_LOOK];
const LONG_LOOK: usize = 16 << 10;

/// The least share of the records that the first of two runs must have: shorter ones are likely chance.
const RUN_SHARE: usize = 8;

/// Sorts `columns` if they are one run, ascending or descending by `window`, else gives them back. With `merges` it sorts two runs, too, by way
/// of as much scratch.
pub(crate) fn settle<C: Columns>(mut columns: C, window: Window, network: Network, merges: bool, threads: Threads) -> Option<C> {
    let (len, whole) = (columns.len(), network.whole);
    let ones = window.ones::<Key<C>>();
    let (first, descends) = run(&columns, 0, ones, threads);
    if first == len {
        if descends {
            reverse(&mut columns, ones, whole, threads);
        }
        return None;
    }
    if !merges || first < len / RUN_SHARE {
        return Some(columns);
    }
    // A descending run is reversed before the merge, so it must not have ties, unless no one can tell.
    let (second, second_descends) = run(&columns, first, ones, threads);
    let sortable = |range: Range<usize>, descends: bool| !descends || whole || !has_ties(&columns, range, ones, threads);
    if second < len || !sortable(0..first, descends) || !sortable(first..len, second_descends) {
        return Some(columns);
    }
    merge::merge_halves(columns, first, [descends, second_descends], ones, threads);
    None
}

/// The end of the run that starts at `start`, and whether it descends.
fn run<C: Columns>(columns: &C, start: usize, ones: Key<C>, threads: Threads) -> (usize, bool) {
    let ascending = end_of_run(columns, start, ones, threads, |before, after| before <= after);
    if ascending > start + 1 {
        // Equal keys to begin with can start either.
        let flat = ascending < columns.len() && rank(columns, start, ones) == rank(columns, ascending - 1, ones);
        if !flat {
            return (ascending, false);
        }
    }
    (end_of_run(columns, start, ones, threads, |before, after| before >= after), true)
}

fn rank<C: Columns>(columns: &C, at: usize, ones: Key<C>) -> Key<C> {
    let mut rank = Key::<C>::zero();
    columns.read_keys(at..at + 1, |keys| rank = keys[0] & ones);
    rank
}

/// The first position after `start` whose key is not `ordered` with its predecessor's.
fn end_of_run<C: Columns>(
    columns: &C,
    start: usize,
    ones: Key<C>,
    threads: Threads,
    ordered: impl Fn(Key<C>, Key<C>) -> bool + Copy + Sync,
) -> usize {
    let len = columns.len();
    // A look overlaps the next by a key, so that none misses a neighbour.
    let within = |from: usize, length: usize| from..(from + length + 1).min(len);
    let mut at = start;
    for length in LOOKS {
        if at + 1 < len && !holds(columns, within(at, length), ones, ordered) {
            return at + first_breach(columns, within(at, length), ones, ordered);
        }
        at += length;
    }
    // A run that got this far may go on: all threads look ahead, each time twice as far.
    let mut looks = threads.count();
    while at + 1 < len {
        let threads = threads.at_most(scan_ns((len - at) * size_of::<Key<C>>()));
        looks = looks.min((len - 1 - at).div_ceil(LONG_LOOK));
        let good = threads.map(threads.count().min(looks), |share| {
            let count = threads.count().min(looks);
            let mut own = looks * share / count..looks * (share + 1) / count;
            own.all(|look| holds(columns, within(at + look * LONG_LOOK, LONG_LOOK), ones, ordered))
        });
        if good.into_iter().any(|good| !good) {
            let bad = (0..looks).find(|look| !holds(columns, within(at + look * LONG_LOOK, LONG_LOOK), ones, ordered));
            let from = at + bad.unwrap_or(0) * LONG_LOOK;
            return from + first_breach(columns, within(from, LONG_LOOK), ones, ordered);
        }
        at += looks * LONG_LOOK;
        looks *= 2;
    }
    len
}

/// Whether `ordered` holds for the ranks of all neighbours in `range`.
fn holds<C: Columns>(columns: &C, range: Range<usize>, ones: Key<C>, ordered: impl Fn(Key<C>, Key<C>) -> bool) -> bool {
    let (mut all, mut last) = (true, None);
    columns.read_keys(range, |keys| {
        all &= last.is_none_or(|last| ordered(last, keys[0] & ones));
        all &= match ones == Key::<C>::max_value() {
            true => neighbours(keys, &ordered),
            false => neighbours(keys, |a, b| ordered(a & ones, b & ones)),
        };
        last = keys.last().map(|&key| key & ones);
    });
    all
}

/// Whether `ordered` holds for all neighbours, without a branch for each.
fn neighbours<W: Copy>(keys: &[W], ordered: impl Fn(W, W) -> bool) -> bool {
    keys.iter().zip(keys.get(1..).unwrap_or_default()).fold(true, |all, (&a, &b)| all & ordered(a, b))
}

/// How many keys of `range` come before the first that is not ordered. There is one.
fn first_breach<C: Columns>(columns: &C, range: Range<usize>, ones: Key<C>, ordered: impl Fn(Key<C>, Key<C>) -> bool) -> usize {
    let (mut at, mut breach, mut last) = (0, None, None);
    columns.read_keys(range, |keys| {
        for &key in keys {
            if breach.is_none() && last.is_some_and(|last| !ordered(last, key & ones)) {
                breach = Some(at);
            }
            (at, last) = (at + 1, Some(key & ones));
        }
    });
    breach.unwrap_or(at)
}

fn has_ties<C: Columns>(columns: &C, range: Range<usize>, ones: Key<C>, threads: Threads) -> bool {
    let threads = threads.at_most(scan_ns(range.len() * size_of::<Key<C>>()));
    let shares = threads.count();
    let bound = |share: usize| range.start + range.len() * share / shares;
    let has = |share: usize| {
        let mut looks = (bound(share)..bound(share + 1)).step_by(LONG_LOOK);
        looks.any(|at| !holds(columns, at..(at + LONG_LOOK + 1).min(range.end), ones, |before, after| before != after))
    };
    threads.map(shares, has).into_iter().any(|has| has)
}

/// Reverses records in descending order. Equal ones keep their own order, unless no one can tell.
fn reverse<C: Columns>(columns: &mut C, ones: Key<C>, whole: bool, threads: Threads) {
    let len = columns.len();
    let ties = !whole && has_ties(columns, 0..len, ones, threads);
    took(Step::Reversed { ties });
    if ties {
        reverse_ties(columns, ones, threads);
    }
    columns.reverse(0..len, threads);
}

/// Reverses each run of records whose ranks are equal. All are in descending order.
fn reverse_ties<C: Columns>(columns: &mut C, ones: Key<C>, threads: Threads) {
    // Tasks of about equal length, cut where no two equal ranks are parted.
    let len = columns.len();
    let ends: Vec<usize> = (TASK..len).step_by(TASK).map(|at| end_of_tie(columns, at - 1, ones)).collect();
    let (mut tasks, mut start) = (Vec::with_capacity(ends.len() + 1), 0);
    let mut rest = columns.pieces(len).next().expect("a run is not empty");
    for end in ends {
        let (task, others) = rest.split_at(end - start);
        tasks.push(task);
        (rest, start) = (others, end);
    }
    tasks.push(rest);
    let threads = threads.at_most(scan_ns(len * size_of::<C::Record>()));
    threads.for_each(
        tasks,
        || (),
        |(), mut task| {
            let ties = ties_within(&task, 0..task.len(), ones);
            ties.into_iter().for_each(|tie| task.reverse(tie, Threads::ONE));
        },
    );
}

/// The end of the run of equal ranks that `at` lies in. Ranks descend.
fn end_of_tie<C: Columns>(columns: &C, at: usize, ones: Key<C>) -> usize {
    let tied = rank(columns, at, ones);
    let (mut low, mut high) = (at + 1, columns.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if rank(columns, middle, ones) == tied { low = middle + 1 } else { high = middle }
    }
    low
}

/// The ranges of more than one record whose ranks are equal.
fn ties_within<C: Columns>(columns: &C, range: Range<usize>, ones: Key<C>) -> Vec<Range<usize>> {
    let mut ties: Vec<Range<usize>> = vec![];
    let (mut at, mut last) = (range.start, None);
    columns.read_keys(range, |keys| {
        for &key in keys {
            if last.is_some_and(|last: Key<C>| ((last ^ key) & ones).is_zero()) {
                match ties.last_mut() {
                    Some(tie) if tie.end == at => tie.end = at + 1,
                    _ => ties.push(at - 1..at + 1),
                }
            }
            (at, last) = (at + 1, Some(key));
        }
    });
    ties
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Pairs;
    use crate::simd::Set;
    use polysort_core::Masks;

    /// Keys that descend but for one tie, wherever that lies between two tasks, or over how many of them.
    #[test]
    fn ties_where_two_tasks_meet_keep_their_order() {
        let (task, len) = (TASK as u32, 3 * TASK as u32);
        for start in [0, 1].into_iter().chain(task - 4..task + 2) {
            for end in (start + 2..start + 6).chain([task, task + 1, 2 * task - 1, 2 * task + 1, len]).filter(|&end| end > start)
            {
                let keys = Vec::from_iter((0..len).map(|i| len - if (start..end).contains(&i) { start } else { i }));
                let mut expected = Vec::from_iter((0..len).map(|i| (keys[i as usize], i)));
                expected.sort_unstable();
                let (mut sorted, mut values) = (keys, Vec::from_iter(0..len));
                let columns = Pairs { keys: &mut sorted, values: &mut values, masks: Masks::UNSIGNED };
                let network = Network { set: Set::Portable, whole: false };
                assert!(settle(columns, Window { low: 0, high: 32 }, network, true, Threads::ONE).is_none());
                assert!(sorted.into_iter().zip(values).eq(expected), "equal from {start} to {end}");
            }
        }
    }
}
