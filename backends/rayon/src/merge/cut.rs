//! Where a part of a merge ends in each run.
//!
//! The first `count` records of a merge of any number of runs are those below some key, and the earliest of those equal to it. A bisection over the *values*
//! of keys finds that key; each of its steps counts the smaller records of each run by a bisection over a range that the steps before have narrowed.

use polysort_core::{Masks, Word};

/// The keys of sorted runs, as they lie in memory, and the order that they are sorted by.
#[derive(Clone, Copy)]
pub(crate) struct Runs<'a, W> {
    pub(crate) keys: &'a [&'a [W]],
    pub(crate) masks: Masks,
    /// The bits of the ordered keys that count.
    pub(crate) ones: W,
}

impl<W: Word> Runs<'_, W> {
    /// The bits that a raw key is sorted by.
    fn rank(&self, raw: W) -> W {
        self.masks.apply(raw) & self.ones
    }

    /// The end in each run of the next `count` records of the merge after those before `from`.
    ///
    /// For runs that are not sorted, too, the ends are not before `from`, and `count` records lie between, or all that are left.
    pub(crate) fn cut(&self, from: &[usize], count: usize) -> Vec<usize> {
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
            let ends = self.ends(&low, &high, |rank| rank <= middle);
            if taken(&ends) >= count {
                (high, last) = (ends, middle);
            } else {
                (low, first) = (ends, middle + W::one());
            }
        }
        let mut to = self.ends(&low, &high, |rank| rank < first);
        // Of records that are equal, those of earlier runs come first.
        let mut missing = count as isize - taken(&to) as isize;
        for (to, high) in to.iter_mut().zip(high) {
            let more = missing.clamp(0, (high - *to) as isize);
            *to += more as usize;
            missing -= more;
        }
        if missing != 0 {
            settle_unsorted(&mut to, from, self.keys, missing);
        }
        to
    }

    /// The end in each run, within `low..high`, of the records whose rank is `before`.
    fn ends(&self, low: &[usize], high: &[usize], before: impl Fn(W) -> bool) -> Vec<usize> {
        let end = |((keys, &low), &high): ((&&[W], &usize), &usize)| {
            low + keys[low..high].partition_point(|&raw| before(self.rank(raw)))
        };
        self.keys.iter().zip(low).zip(high).map(end).collect()
    }
}

/// Moves ends until the count is right, which it always is for sorted runs.
fn settle_unsorted<W>(to: &mut [usize], from: &[usize], keys: &[&[W]], mut missing: isize) {
    for ((to, from), keys) in to.iter_mut().zip(from).zip(keys) {
        let more = missing.clamp(*from as isize - *to as isize, (keys.len() - *to) as isize);
        *to = to.saturating_add_signed(more);
        missing -= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_exact_and_take_earlier_runs_first() {
        let runs: [&[u32]; 5] = [&[1, 3, 3, 9], &[], &[0, 3, 3, 3], &[7], &[0x8000_0003, 0x8000_0004]];
        let runs = Runs { keys: &runs, masks: Masks::UNSIGNED, ones: 0x7fff_ffff };
        let mut order: Vec<(u32, usize)> = vec![];
        for (run, keys) in runs.keys.iter().enumerate() {
            order.extend(keys.iter().map(|&key| (key & runs.ones, run)));
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
        let runs = Runs { keys: &runs, masks: Masks::UNSIGNED, ones: 0xff };
        let mut from = vec![0; 3];
        for _ in 0..6 {
            let to = runs.cut(&from, 2);
            assert_eq!(to.iter().zip(&from).map(|(to, from)| to - from).sum::<usize>(), 2, "{from:?} {to:?}");
            from = to;
        }
        assert_eq!(from, [4, 3, 5]);
    }
}
