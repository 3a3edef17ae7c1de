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
//! Candidates keep the order of their segments, and equal keys the order of their indices. So the last level selects the
//! same keys as one selection from all keys.

use super::builder::Builder;
use super::command::{Buffer, COUNT_DIGITS, Groups, LAST_LEVEL, Number, fixed_digits};
use super::kernel_shape::KernelShape;
use super::request::{Segmented, Top};
use super::tuning::{LIST_GROUPS, SELECT_SEGMENT};
use super::variant::Variant;

impl Builder<'_> {
    /// Adds the commands that prepare a selection from segments whose offsets lie in buffers.
    fn bounds(&mut self, segments: Segmented) {
        // The state and the copies have the largest number of keys, since the number of keys in all segments is not known.
        self.begin_with(fixed_digits(self.plan.request.max as u32));
        self.move_in();
        let variant = self.shapes.plain(KernelShape::SegmentBounds);
        let numbers = COUNT_DIGITS.into_iter().chain([segments.begins, segments.ends].map(|place| Number::Is(place.first)));
        let mut bindings = vec![Buffer::Number; 5];
        bindings.extend([Buffer::Sort, Buffer::Count, Buffer::State, Buffer::Begins, Buffer::Ends, Buffer::Bounds]);
        let groups = segments.max.div_ceil(variant.group).clamp(1, LIST_GROUPS);
        self.push(variant, bindings, numbers, Groups::Fixed(groups));
    }

    /// Returns the largest number of candidates that an even level selects, or, if `odd` is set, an odd one.
    pub(super) fn candidates(&self, odd: bool) -> u64 {
        let levels = self.plan.request.top.map_or(vec![], |top| top.levels(self.plan.request.max));
        levels.into_iter().skip(1 + usize::from(odd)).step_by(2).max().unwrap_or(0)
    }

    /// Adds the commands of a selection.
    pub(super) fn top(&mut self, top: Top) {
        let Some(variant) = self.shapes.top else { return };
        if let Some(segments) = self.plan.request.segments {
            self.bounds(segments);
        } else if self.plan.keys_move() {
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
            self.push(if level == 0 { variant } else { nested(variant) }, bindings, numbers, Groups::Fixed(groups));
        }
    }
}

/// Returns the kernel of a selection for a level that is not the first.
fn nested(mut variant: Variant) -> Variant {
    if let KernelShape::TopK { nested, .. } = &mut variant.shape {
        *nested = true;
    }
    variant
}
