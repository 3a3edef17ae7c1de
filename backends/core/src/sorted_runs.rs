//! Sorted runs: where a part of their merge ends in each run.
//!
//! The first `count` records of a merge of any number of runs are those below some key, and the earliest of those equal to it. A bisection over the *values*
//! of keys finds that key; each of its steps counts the smaller records of each run by a bisection over a range that the steps before have narrowed.

use crate::{Spec, Word};

/// The keys of sorted runs, as they lie in memory, and the order that each run is sorted by.
#[derive(Clone, Copy, Debug)]
pub struct SortedRuns<'a, W> {
    keys: &'a [&'a [W]],
    spec: Spec,
}

impl<'a, W: Word> SortedRuns<'a, W> {
    /// Runs of raw words, each sorted in the order of `spec`.
    pub fn new(keys: &'a [&'a [W]], spec: Spec) -> Self {
        Self { keys, spec }
    }

    /// The keys of each run.
    pub fn keys(&self) -> &'a [&'a [W]] {
        self.keys
    }

    /// The order of the runs.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// Returns the end in each run of the next `count` records of the stable merge after those before `from`. Of equal keys, those of earlier runs come
    /// first. `from` has the index of the next key of each run.
    ///
    /// For runs that are not sorted, too, the ends are not before `from`, and `count` records lie between, or all that are left.
    ///
    /// # Panics
    /// If `from` has another length than there are runs, or an index is behind the end of its run.
    pub fn cut(&self, from: &[usize], count: usize) -> Vec<usize> {
        assert_eq!(from.len(), self.keys.len(), "one index for each run");
        assert!(from.iter().zip(self.keys).all(|(&from, keys)| from <= keys.len()), "no index is behind the end of its run");
        let mut low = from.to_vec();
        let mut high: Vec<usize> =
            self.keys.iter().zip(from).map(|(keys, &from)| keys.len().min(from.saturating_add(count))).collect();
        let taken = |to: &[usize]| -> usize { to.iter().zip(from).map(|(to, from)| to - from).sum() };
        if taken(&high) <= count {
            return high;
        }
        // The least key with at least `count` records up to it lies between the first and the last of all keys.
        let nonempty = || (0..self.keys.len()).filter(|&run| low[run] < high[run]);
        let first = nonempty().map(|run| self.rank(self.keys[run][low[run]])).min();
        let last = nonempty().map(|run| self.rank(self.keys[run][high[run] - 1])).max();
        let (mut first, mut last) = first.zip(last).unwrap_or((W::zero(), W::zero()));
        while first < last {
            let middle = first + ((last - first) >> 1);
            let ends = self.ends(&low, &high, middle);
            if taken(&ends) >= count {
                (high, last) = (ends, middle);
            } else {
                (low, first) = (ends, middle + W::one());
            }
        }
        // All records before `low` are taken, and the rest of `count` from those before `high`. These are equal, so those of earlier runs come first.
        let mut missing = count - taken(&low);
        let mut to = low;
        for (to, high) in to.iter_mut().zip(high) {
            let more = missing.min(high - *to);
            *to += more;
            missing -= more;
        }
        to
    }

    /// The number that a raw key is sorted by.
    fn rank(&self, raw: W) -> W {
        self.spec.rank(raw)
    }

    /// The end in each run, within `low..high`, of the records whose rank is at most `last`.
    fn ends(&self, low: &[usize], high: &[usize], last: W) -> Vec<usize> {
        let end = |((keys, &low), &high): ((&&[W], &usize), &usize)| {
            low + keys[low..high].partition_point(|&raw| self.rank(raw) <= last)
        };
        self.keys.iter().zip(low).zip(high).map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Masks;

    #[test]
    fn cuts_are_exact_and_take_earlier_runs_first() {
        let runs: [&[u32]; 5] = [&[1, 3, 3, 8], &[], &[0, 3, 3, 3], &[7], &[0x8000_0003, 0x8000_0004]];
        let runs = SortedRuns::new(&runs, Spec { masks: Masks::UNSIGNED, begin: 0, end: 31 });
        let mut order: Vec<(u32, usize)> = vec![];
        for (run, keys) in runs.keys.iter().enumerate() {
            order.extend(keys.iter().map(|&key| (runs.rank(key), run)));
        }
        order.sort();
        let count =
            |range: &[(u32, usize)]| -> Vec<usize> { (0..5).map(|run| range.iter().filter(|r| r.1 == run).count()).collect() };
        for start in 0..=order.len() {
            let from = runs.cut(&[0; 5], start);
            assert_eq!(from, count(&order[..start]));
            for end in start..=order.len() {
                assert_eq!(runs.cut(&from, end - start), count(&order[..end]), "{start}..{end}");
            }
        }
    }

    #[test]
    fn cuts_of_unsorted_runs_have_the_right_count() {
        let runs: [&[u8]; 3] = [&[9, 1, 8, 0], &[255, 0, 3], &[7, 200, 6, 201, 5]];
        let runs = SortedRuns::new(&runs, Spec::unsigned::<u8>());
        let mut from = vec![0; 3];
        for _ in 0..6 {
            let to = runs.cut(&from, 2);
            assert_eq!(to.iter().zip(&from).map(|(to, from)| to - from).sum::<usize>(), 2, "{from:?} {to:?}");
            from = to;
        }
        assert_eq!(from, [4, 3, 5]);
    }

    #[test]
    #[should_panic(expected = "no index is behind the end of its run")]
    fn a_cut_from_behind_the_end_of_a_run_panics() {
        SortedRuns::new(&[&[1_u8, 2][..], &[3, 4]], Spec::unsigned::<u8>()).cut(&[3, 0], 1);
    }
}
