//! Input that is in order already, or in the opposite one, or two such runs: what appending to a sorted list makes.

use crate::columns::Columns;
use crate::few::Network;
use crate::merge;
use crate::source::{Key, Keyed};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{TASK, scan_ns};
use crate::window::Window;
use core::ops::Range;
use polysort_core::Word;

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
fn run<W: Word>(columns: &dyn Keyed<Key = W>, start: usize, ones: W, threads: Threads) -> (usize, bool) {
    let ascending = end_of_run(columns, start, ones, threads, |before, after| before <= after);
    // Equal keys to begin with can start either.
    let flat = ascending < columns.len() && rank(columns, start, ones) == rank(columns, ascending - 1, ones);
    if !flat {
        return (ascending, false);
    }
    (end_of_run(columns, start, ones, threads, |before, after| before >= after), true)
}

fn rank<W: Word>(columns: &dyn Keyed<Key = W>, at: usize, ones: W) -> W {
    columns.key(at) & ones
}

/// The first position after `start` whose key is not `ordered` with its predecessor's.
fn end_of_run<W: Word>(
    columns: &dyn Keyed<Key = W>,
    start: usize,
    ones: W,
    threads: Threads,
    ordered: impl Fn(W, W) -> bool + Copy + Sync,
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
        let threads = threads.at_most(scan_ns((len - at) * size_of::<W>()));
        looks = looks.min((len - 1 - at).div_ceil(LONG_LOOK));
        let good = threads.map(threads.count().min(looks), &|share| {
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
fn holds<W: Word>(columns: &dyn Keyed<Key = W>, range: Range<usize>, ones: W, ordered: impl Fn(W, W) -> bool) -> bool {
    let (mut all, mut last) = (true, None);
    columns.read_keys(range, &mut |keys| {
        all &= last.is_none_or(|last| ordered(last, keys[0] & ones));
        all &= match ones == W::max_value() {
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
fn first_breach<W: Word>(columns: &dyn Keyed<Key = W>, range: Range<usize>, ones: W, ordered: impl Fn(W, W) -> bool) -> usize {
    let (mut at, mut breach, mut last) = (0, None, None);
    columns.read_keys(range, &mut |keys| {
        for &key in keys {
            if breach.is_none() && last.is_some_and(|last| !ordered(last, key & ones)) {
                breach = Some(at);
            }
            (at, last) = (at + 1, Some(key & ones));
        }
    });
    breach.unwrap_or(at)
}

fn has_ties<W: Word>(columns: &dyn Keyed<Key = W>, range: Range<usize>, ones: W, threads: Threads) -> bool {
    let threads = threads.at_most(scan_ns(range.len() * size_of::<W>()));
    let shares = threads.count();
    let bound = |share: usize| range.start + range.len() * share / shares;
    took(Step::Ties { len: range.len(), threads: shares });
    let has = |share: usize| {
        let mut looks = (bound(share)..bound(share + 1)).step_by(LONG_LOOK);
        looks.any(|at| !holds(columns, at..(at + LONG_LOOK + 1).min(range.end), ones, |before, after| before != after))
    };
    threads.map(shares, &has).into_iter().any(|has| has)
}

/// Reverses records in descending order. Equal ones keep their own order, unless no one can tell.
fn reverse<C: Columns>(columns: &mut C, ones: Key<C>, whole: bool, threads: Threads) {
    let len = columns.len();
    let ties = !whole && has_ties(&*columns, 0..len, ones, threads);
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
    let ends: Vec<usize> = (TASK..len).step_by(TASK).map(|at| end_of_tie(&*columns, at - 1, ones)).collect();
    let (mut tasks, mut start) = (Vec::with_capacity(ends.len() + 1), 0);
    let mut rest = columns.pieces(len).next().expect("a run is not empty");
    for end in ends {
        let (task, others) = rest.split_at(end - start);
        tasks.push(task);
        (rest, start) = (others, end);
    }
    tasks.push(rest);
    let threads = threads.at_most(scan_ns(len * size_of::<C::Record>()));
    threads.for_each(tasks, &|| (), &|(), mut task| {
        let ties = ties_within(&task, 0..task.len(), ones);
        ties.into_iter().for_each(|tie| task.reverse(tie, Threads::ONE));
    });
}

/// The end of the run of equal ranks that `at` lies in. Ranks descend.
fn end_of_tie<W: Word>(columns: &dyn Keyed<Key = W>, at: usize, ones: W) -> usize {
    let tied = rank(columns, at, ones);
    let (mut low, mut high) = (at + 1, columns.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if rank(columns, middle, ones) == tied { low = middle + 1 } else { high = middle }
    }
    low
}

/// The ranges of more than one record whose ranks are equal.
fn ties_within<W: Word>(columns: &dyn Keyed<Key = W>, range: Range<usize>, ones: W) -> Vec<Range<usize>> {
    let mut ties: Vec<Range<usize>> = vec![];
    let (mut at, mut last) = (range.start, None);
    columns.read_keys(range, &mut |keys| {
        for &key in keys {
            if last.is_some_and(|last: W| ((last ^ key) & ones).is_zero()) {
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
    use crate::columns::Keys;
    use crate::simd::Set;
    use crate::testing::pairs;
    use crate::trace::steps_of;
    use crate::tuning::STEP_NS;
    use polysort_core::Masks;
    use std::sync::Mutex;

    /// Neighbors that the three looks of one thread cover.
    const FIRST: usize = LOOKS[0] + LOOKS[1] + LOOKS[2];

    const ALL: u32 = u32::MAX;

    fn columns(keys: &mut [u32]) -> Keys<'_, u32> {
        Keys { keys, masks: Masks::UNSIGNED }
    }

    /// The end of the ascending run that starts at `start`, and the neighbors that were compared, each by the later one's key.
    fn compared(keys: &mut [u32], start: usize, threads: Threads) -> (usize, Vec<u32>) {
        let pairs = Mutex::new(vec![]);
        let end = end_of_run(&columns(keys), start, ALL, threads, |before, after| {
            pairs.lock().unwrap().push(before.max(after));
            before <= after
        });
        (end, pairs.into_inner().unwrap())
    }

    #[test]
    fn a_run_ends_before_the_first_neighbor_that_is_out_of_order() {
        let len = FIRST + 9 * LONG_LOOK + 5;
        // Where looks meet: of one thread, and of three, which take 3 and then 6 looks.
        let seams = [0, LOOKS[0], LOOKS[0] + LOOKS[1], FIRST].into_iter().chain((1..=9).map(|look| FIRST + look * LONG_LOOK));
        let mut keys = Vec::from_iter((1..).take(len));
        for end in seams.flat_map(|seam| [seam, seam + 1, seam + 2]).chain([len - 1]).filter(|&end| end > 0 && end < len) {
            keys[end] = 0;
            for threads in [Threads::ONE, Threads::several(3)] {
                let found = end_of_run(&columns(&mut keys), 0, ALL, threads, |before, after| before <= after);
                assert_eq!(found, end, "{threads:?}");
            }
            keys[end] = end as u32 + 1;
        }
    }

    #[test]
    fn each_pair_of_neighbors_of_a_sorted_run_is_compared_once() {
        for start in [0, 3] {
            for len in [1, 2, 8, 9, 10, 264, 265, FIRST, FIRST + 1, FIRST + 2]
                .into_iter()
                .chain([1, 2, 3, 8, 9].into_iter().flat_map(|looks| [0, 1, 2].map(|more| FIRST + looks * LONG_LOOK + more)))
            {
                let mut keys = Vec::from_iter(0..(start + len) as u32);
                for threads in [Threads::ONE, Threads::several(3)] {
                    let (end, mut pairs) = compared(&mut keys, start, threads);
                    pairs.sort_unstable();
                    assert_eq!(end, start + len);
                    assert!(pairs.into_iter().eq(start as u32 + 1..(start + len) as u32), "{len} from {start}, {threads:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_look_ends_the_search_of_input_that_is_not_sorted() {
        let mut keys = Vec::from_iter(1..1 << 16);
        keys[3] = 0;
        let (end, pairs) = compared(&mut keys, 0, Threads::several(3));
        assert_eq!(end, 3);
        assert!(pairs.len() <= 2 * LOOKS[0], "{} pairs", pairs.len());
    }

    #[test]
    fn all_threads_look_ahead_each_time_twice_as_far() {
        let mut keys = Vec::from_iter(1..(FIRST + 30 * LONG_LOOK) as u32);
        // The first neighbors of each round are out of order. Two threads look on, up to the end of the round.
        for (round, looks) in [(0, 3), (3, 6), (9, 12)] {
            let end = FIRST + round * LONG_LOOK + 1;
            let kept = std::mem::take(&mut keys[end]);
            let (found, pairs) = compared(&mut keys, 0, Threads::several(3));
            assert_eq!(found, end);
            let last = FIRST + (round + looks) * LONG_LOOK;
            assert_eq!(pairs.into_iter().max(), Some(keys[last]), "{looks} looks");
            keys[end] = kept;
        }
    }

    #[test]
    fn one_thread_looks_at_an_end_that_is_too_short_for_several() {
        let end = FIRST + 3 * LONG_LOOK + 1;
        let mut keys = Vec::from_iter(1..(FIRST + 5 * LONG_LOOK) as u32);
        keys[end] = 0;
        let (found, pairs) = compared(&mut keys, 0, Threads::several(3));
        assert_eq!(found, end);
        assert!(pairs.into_iter().max() <= Some((FIRST + 4 * LONG_LOOK + 1) as u32), "the look behind the end was taken, too");
    }

    #[test]
    fn a_run_descends_only_if_its_first_unequal_keys_do() {
        let cases: [(&[u32], usize, (usize, bool)); 14] = [
            (&[1, 2, 1], 0, (2, false)),
            (&[1, 2, 1], 2, (3, false)),
            (&[1, 2, 3], 0, (3, false)),
            (&[1, 2, 3, 1], 1, (3, false)),
            (&[3, 2, 1], 0, (3, true)),
            (&[3, 2, 1, 4], 0, (3, true)),
            (&[4, 2], 0, (2, true)),
            (&[5, 5], 0, (2, false)),
            (&[5, 5, 5, 5], 0, (4, false)),
            (&[5, 5, 6, 4], 0, (3, false)),
            (&[5, 5, 4, 4, 3], 0, (5, true)),
            (&[5, 5, 4, 4, 6], 0, (4, true)),
            (&[9, 1, 5, 5, 4], 2, (5, true)),
            (&[9, 1, 2, 2, 3, 0], 1, (5, false)),
        ];
        for (keys, start, expected) in cases {
            assert_eq!(run(&columns(&mut keys.to_vec()), start, ALL, Threads::ONE), expected, "{keys:?} from {start}");
            // The same keys in a window, with bits around it that have another order.
            let mut other = Vec::from_iter(keys.iter().zip((0..7).cycle()).map(|(key, i)| (i * 5 % 7) << 8 | key << 4 | (6 - i)));
            assert_eq!(run(&columns(&mut other), start, 0xf0, Threads::ONE), expected, "{keys:?} from {start} in a window");
        }
    }

    /// Orders hold, and breaches are found, where the blocks meet in which keys are mapped.
    #[test]
    fn neighbors_in_different_blocks_are_compared() {
        for masks in [Masks::UNSIGNED, Masks::signed(32)] {
            for (ones, shift) in [(ALL, 0), (0xffff0, 4)] {
                for breach in [1, 2, 126, 127, 128, 129, 255, 256, 257, 299] {
                    let mut ordered = Vec::from_iter((1..=300_u32).map(|i| i << shift | (300 - i) & ((1 << shift) - 1)));
                    let ascends = |before: u32, after: u32| before <= after;
                    let of = |ordered: &[u32]| Vec::from_iter(ordered.iter().map(|&key| masks.invert(key)));
                    let mut keys = of(&ordered);
                    assert!(holds(&Keys { keys: &mut keys, masks }, 0..300, ones, ascends));
                    ordered[breach] = 0;
                    let mut keys = of(&ordered);
                    let columns = Keys { keys: &mut keys, masks };
                    for start in [0, 1, breach - 1].into_iter().filter(|&start| start < breach) {
                        assert!(!holds(&columns, start..300, ones, ascends), "{breach} of {start}..");
                        assert_eq!(first_breach(&columns, start..300, ones, ascends), breach - start, "{breach} of {start}..");
                    }
                    assert!(holds(&columns, 0..breach, ones, ascends) && holds(&columns, breach..300, ones, ascends));
                }
            }
        }
    }

    #[test]
    fn an_order_does_not_hold_with_two_breaches() {
        let mut keys = [5, 4, 3, 7, 6];
        assert!(!holds(&columns(&mut keys), 0..3, ALL, |before, after| before <= after));
        assert_eq!(first_breach(&columns(&mut keys), 0..5, ALL, |before, after| before >= after), 3);
        assert_eq!(first_breach(&columns(&mut keys), 1..5, ALL, |before, after| before <= after), 1);
    }

    #[test]
    fn ties_are_found_wherever_they_lie_and_only_in_the_range() {
        let (start, len) = (10, 15 * LONG_LOOK + 7);
        let mut keys = Vec::from_iter(0..(start + len + 10) as u32);
        let shares = (0..3).map(|share| start + len * share / 3);
        let looks = shares.flat_map(|share| (0..=6).map(move |look| share + look * LONG_LOOK)).chain([start + len]);
        // Each tie is of the key at this position and the one before.
        let ties = looks.flat_map(|look| [look - 1, look, look + 1]).filter(|&tie| tie <= start + len + 1);
        for threads in [Threads::ONE, Threads::several(3)] {
            let has = |keys: &mut [u32]| has_ties(&columns(keys), start..start + len, ALL, threads);
            assert!(!has(&mut keys));
            for tie in ties.clone() {
                keys[tie] -= 1;
                assert_eq!(has(&mut keys), tie > start && tie < start + len, "tie at {tie}, {threads:?}");
                keys[tie] += 1;
            }
        }
    }

    #[test]
    fn as_many_threads_look_for_ties_as_that_is_worth() {
        for threads in 2..=3 {
            let pays = |len: usize| scan_ns(len * size_of::<u32>()) >= threads as u64 * STEP_NS;
            let least = (0..).step_by(1000).find(|&len| pays(len)).expect("some length");
            for (len, threads) in [(least - 1000, threads - 1), (least, threads), (4 * least, 3)] {
                let mut keys = Vec::from_iter((0..len as u32).rev());
                let steps = steps_of(|| assert!(!has_ties(&columns(&mut keys), 0..len, ALL, Threads::several(3))));
                assert_eq!(steps, [Step::Ties { len, threads }]);
            }
        }
    }

    #[test]
    fn a_tie_ends_before_the_first_smaller_key() {
        let mut keys = [9, 9, 9, 7, 6, 6, 6, 6, 2, 2];
        for (at, end) in [3, 3, 3, 4, 8, 8, 8, 8, 10, 10].into_iter().enumerate() {
            assert_eq!(end_of_tie(&columns(&mut keys), at, ALL), end, "of {at}");
        }
        assert_eq!(end_of_tie(&columns(&mut keys), 0, 8), 3);
        assert_eq!(end_of_tie(&columns(&mut keys), 3, 8), 10);
    }

    #[test]
    fn ties_are_ranges_of_more_than_one_equal_key() {
        let ties = |keys: &[u32], range, ones| ties_within(&columns(&mut keys.to_vec()), range, ones);
        assert_eq!(ties(&[4, 3, 2, 1], 0..4, ALL), []);
        assert_eq!(ties(&[4, 4, 3, 2, 2, 2, 1, 1], 0..8, ALL), [0..2, 3..6, 6..8]);
        assert_eq!(ties(&[4, 4, 3, 3, 3, 1, 1], 1..7, ALL), [2..5, 5..7]);
        assert_eq!(ties(&[4, 4, 3, 3, 1, 1], 1..5, ALL), vec![2..4; 1]);
        assert_eq!(ties(&[0x41, 0x42, 0x31, 0x28, 0x27], 0..5, 0xf0), [0..2, 3..5]);
        // Where the blocks meet in which keys are mapped.
        let mut keys = Vec::from_iter((0..300_i32).map(|i| if (126..130).contains(&i) { 126 } else { i } as u32));
        assert_eq!(ties_within(&Keys { keys: &mut keys, masks: Masks::signed(32) }, 0..300, ALL), vec![126..130; 1]);
    }

    /// Sorts keys by `settle`, which is to know whether it can, and returns the steps that it takes.
    fn settled(keys: &[u32], whole: bool, merges: bool, sorts: bool) -> Vec<Step> {
        let (mut sorted, mut values) = (keys.to_vec(), Vec::from_iter(0..keys.len() as u32));
        let network = Network { set: Set::Portable, whole };
        let steps = steps_of(|| {
            let columns = pairs(&mut sorted, &mut values, Masks::UNSIGNED);
            let rest = settle(columns, Window { low: 0, high: 32 }, network, merges, Threads::ONE);
            assert_eq!(rest.is_none(), sorts, "{keys:?}");
        });
        if sorts {
            assert!(sorted.is_sorted());
        } else {
            assert_eq!(sorted, keys);
        }
        if !whole && sorts {
            assert!(values.is_sorted_by_key(|&value| (keys[value as usize], value)), "{keys:?} stably");
        }
        steps
    }

    fn ties(len: usize) -> Step {
        Step::Ties { len, threads: 1 }
    }

    #[test]
    fn one_run_is_left_or_reversed() {
        assert_eq!(settled(&[1, 2, 2, 3], false, false, true), []);
        assert_eq!(settled(&[2; 9], false, false, true), []);
        assert_eq!(settled(&[4, 3, 2, 1], false, false, true), [ties(4), Step::Reversed { ties: false }]);
        assert_eq!(settled(&[4, 3, 3, 1], false, false, true), [ties(4), Step::Reversed { ties: true }]);
        assert_eq!(settled(&[4, 3, 3, 1], true, false, true), [Step::Reversed { ties: false }]);
        assert_eq!(settled(&[1, 2, 1, 2], true, false, false), []);
    }

    #[test]
    fn two_runs_are_merged_unless_the_first_is_short_or_no_reversal_is_stable() {
        let first = |len: u32| Vec::from_iter((100..100 + len).chain(0..64 - len));
        assert_eq!(settled(&first(64 / RUN_SHARE as u32 - 1), false, true, false), []);
        assert_eq!(settled(&first(64 / RUN_SHARE as u32), false, true, true), [Step::Merged(64)]);
        assert_eq!(settled(&first(60), false, false, false), []);
        // Three runs, of which the last is one key.
        assert_eq!(settled(&[1, 2, 3, 1, 2, 3, 1], true, true, false), []);
        assert_eq!(settled(&[1, 3, 3, 1, 2, 2], false, true, true), [Step::Merged(6)]);
        assert_eq!(settled(&[3, 2, 1, 4, 5, 5], false, true, true), [ties(3), Step::Merged(6)]);
        assert_eq!(settled(&[3, 3, 1, 4, 5, 5], false, true, false), [ties(3)]);
        assert_eq!(settled(&[3, 3, 1, 4, 5, 5], true, true, true), [Step::Merged(6)]);
        assert_eq!(settled(&[1, 3, 3, 2, 1, 0], false, true, true), [ties(3), Step::Merged(6)]);
        assert_eq!(settled(&[1, 3, 3, 2, 1, 1], false, true, false), [ties(3)]);
        assert_eq!(settled(&[1, 3, 3, 2, 1, 1], true, true, true), [Step::Merged(6)]);
        assert_eq!(settled(&[3, 2, 1, 4, 3, 2], false, true, true), [ties(3), ties(3), Step::Merged(6)]);
    }

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
                let columns = pairs(&mut sorted, &mut values, Masks::UNSIGNED);
                let network = Network { set: Set::Portable, whole: false };
                assert!(settle(columns, Window { low: 0, high: 32 }, network, true, Threads::ONE).is_none());
                assert!(sorted.into_iter().zip(values).eq(expected), "equal from {start} to {end}");
            }
        }
    }
}
