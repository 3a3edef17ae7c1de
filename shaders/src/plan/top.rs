//! Selection: the first keys of the order, without a sort of the rest.
//!
//! One workgroup selects the first `k` keys of a segment, and sorts them. An array is cut into segments. The keys
//! selected from them are the candidates of the next level, until one segment holds all candidates:
//!
//! ```text
//! level 0   keys        ├────────┼────────┼────────┼───┤      a workgroup for each SELECT_SEGMENT keys
//! level 1   candidates  ├─k─┬─k─┬─k─┬─k─┤                      and for each SELECT_SEGMENT candidates
//! last      result      ├─k─┤
//! ```
//!
//! Candidates keep the order of their segments, and equal keys the order of their positions. So the last level selects
//! the keys that a selection from all keys would.

use super::command::{Buffer, Builder, COUNT_DIGITS, Groups, LAST_LEVEL, Number};
use super::tuning::SELECT_SEGMENT;

/// What to select, instead of sorting everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Top {
    /// The number of keys to select, at least 1.
    pub k: u32,
    /// Whether to select from each of many segments by itself. Counts are then numbers of segments, which lie anywhere
    /// in the keys' binding.
    pub segmented: bool,
}

impl Top {
    /// Returns with how many candidates each level starts, up to the level of a single segment. The candidates of the
    /// first level are the `keys`.
    pub fn levels(self, keys: u64) -> Vec<u64> {
        let mut levels = vec![keys];
        while let Some(&there) = levels.last().filter(|&&there| there > SELECT_SEGMENT.into()) {
            let full = there.div_ceil(SELECT_SEGMENT.into()) - 1;
            let last = there - full * u64::from(SELECT_SEGMENT);
            levels.push(full * u64::from(self.k) + last.min(self.k.into()));
        }
        levels
    }

    /// Returns the number of positions that a selection from up to `max` keys, or segments, writes.
    pub fn results(self, max: u64) -> u64 {
        u64::from(self.k) * if self.segmented { max } else { 1 }
    }
}

impl Builder<'_> {
    /// The most candidates that even, or odd, levels select.
    pub(super) fn candidates(&self, odd: bool) -> u64 {
        let levels = self.plan.request.top.map_or(vec![], |top| top.levels(self.plan.request.max));
        levels.into_iter().skip(1 + usize::from(odd)).step_by(2).max().unwrap_or(0)
    }

    /// Adds the commands of a selection.
    pub(super) fn top(&mut self, top: Top) {
        let variant = self.shapes.top;
        if self.plan.keys_move() {
            self.begin();
            self.move_in();
        }
        let source = if self.plan.keys_move() { Buffer::Spare } else { Buffer::Keys };
        let launch = |level: u32| {
            let mut bindings = vec![Buffer::Number; COUNT_DIGITS.len() + 1];
            bindings.extend([Buffer::Sort, Buffer::Count, source]);
            (COUNT_DIGITS.into_iter().chain([Number::Is(level)]), bindings)
        };
        if top.segmented {
            let (numbers, mut bindings) = launch(LAST_LEVEL);
            bindings.extend([Buffer::Values, Buffer::Bounds]);
            self.push(variant, bindings, numbers, Groups::Each { units: 1, of: 1 });
            return;
        }
        let levels = top.levels(self.plan.request.max);
        for (level, &there) in (0_u32..).zip(&levels) {
            let is_last = level as usize + 1 == levels.len();
            let (numbers, mut bindings) = launch(if is_last { level + LAST_LEVEL } else { level });
            let to = |level: u32| if level.is_multiple_of(2) { Buffer::Candidates } else { Buffer::CandidatesOdd };
            bindings.push(if is_last { Buffer::Values } else { to(level) });
            if level > 0 {
                bindings.push(to(level - 1));
            }
            let groups = there.div_ceil(SELECT_SEGMENT.into()).max(1) as u32;
            self.push(super::Variant { nested: level > 0, ..variant }, bindings, numbers, Groups::Fixed(groups));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_end_with_a_segment() {
        let segment = u64::from(SELECT_SEGMENT);
        let top = |k| Top { k, segmented: false };
        assert_eq!(top(1).levels(0), [0]);
        assert_eq!(top(100).levels(segment), [segment]);
        assert_eq!(top(100).levels(segment + 7), [segment + 7, 107]);
        assert_eq!(top(100).levels(3 * segment), [3 * segment, 300]);
        for k in [1, 100, SELECT_SEGMENT / 4] {
            let levels = top(k).levels((1 << 30) - 1);
            assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] / 4 + u64::from(k)), "{levels:?}");
            assert!(*levels.last().unwrap() <= segment);
        }
        assert_eq!((top(5).results(1000), Top { k: 5, segmented: true }.results(1000)), (5, 5000));
    }
}
