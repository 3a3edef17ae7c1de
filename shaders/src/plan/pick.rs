//! Selection of many keys: all workgroups together select them, and a sort of these keys follows.
//!
//! ```text
//! pick_count  pick_digit    digit by digit from the top: count the keys that agree with the threshold (the last key to be
//!                           selected) so far, and find its next digit; stop once all of these keys are selected
//! pick_tally  pick_spine    for each tile, the number of selected keys before it
//! pick                      write the selected keys and their indices, in the order of the indices
//! then a sort of the selected keys
//! ```
//!
//! Each digit that the selection needs takes one read of the keys. Two more reads follow.

use super::builder::Builder;
use super::command::{Buffer, Groups, Number, each};
use super::digit::RADIX;
use super::facts::Facts;
use super::kernel_shape::KernelShape;
use super::request::{Payload, Request, Top};
use super::shapes::Shapes;
use super::sort_plan::SortPlan;
use super::tuning::MAX_PICK_KEYS;
use super::variant::Variant;
use polysort_core::Error;

/// Keys of each thread of a workgroup. The thread has one bit of a word for each key.
const MARKS: u32 = 32;

impl Shapes {
    /// Returns whether all workgroups together select, instead of one workgroup per segment.
    pub(super) fn picks(&self, top: Top) -> bool {
        self.top.and_then(|kernel| kernel.tile()).is_none_or(|tile| top.k > tile)
    }
}

impl Request {
    /// Returns the largest number of keys that all workgroups together select.
    pub(super) fn picked(&self) -> u64 {
        self.top.map_or(0, |top| u64::from(top.k).min(self.max))
    }
}

impl SortPlan {
    /// Adds the sort of the selected keys.
    pub(super) fn sort_picked(&mut self, facts: &Facts) -> Result<(), Error> {
        let (request, k) = (self.request, self.request.picked());
        let mut spec = request.spec;
        (spec.masks, (spec.begin, spec.end)) = (self.masks, self.window);
        let keys = Request::keys(32 * request.key_words(), spec, k);
        let sort = Self::new(
            Request {
                payload: Payload::Words(request.value_words()),
                values: request.wide_indices.unwrap_or(request.values),
                algorithm: request.algorithm,
                ..keys
            },
            facts,
        )?;
        // The two plans share scratch buffers, since the first has finished before the second starts. So each buffer has
        // the larger of the two sizes.
        for &(buffer, bytes) in &sort.scratch {
            match self.scratch.iter_mut().find(|(own, _)| *own == buffer) {
                Some((_, own)) => *own = bytes.max(*own),
                None => self.scratch.push((buffer, bytes)),
            }
        }
        self.then = Some(Box::new(sort));
        Ok(())
    }
}

impl Builder<'_> {
    /// Bytes of the two counts of each tile.
    pub(super) fn tally_bytes(&self) -> u64 {
        8 * self.plan.request.max.div_ceil((MARKS * self.shapes.group).into()).max(1)
    }

    /// Adds the commands of a selection by all workgroups.
    pub(super) fn pick(&mut self) {
        let request = &self.plan.request;
        self.begin();
        self.move_in();
        let source = if self.plan.keys_move() { Buffer::Spare } else { Buffer::Keys };
        let keys = self.shapes.histogram_keys.min(MAX_PICK_KEYS);
        let group = self.shapes.group;
        let reading = |shape| Variant::of(shape, request.key_bits, group);
        // Without digits all keys are equal, and the first ones are selected.
        for level in 0..self.plan.digits.len().max(1) as u32 {
            let count = reading(KernelShape::PickCount { keys });
            let bindings = [Buffer::Number, Buffer::Sort, Buffer::State, source];
            if !self.plan.digits.is_empty() {
                self.push(count, bindings, [Number::Is(level)], each(1, group * keys));
            }
            let digit = Variant::of(KernelShape::PickDigit, 32 * request.key_words(), RADIX);
            let bindings = [Buffer::Number, Buffer::Sort, Buffer::State, Buffer::Values, Buffer::PickedCount];
            self.push(digit, bindings, [Number::Is(level)], Groups::Fixed(1));
        }
        let tiles = each(1, MARKS * group);
        let tally = reading(KernelShape::PickTally);
        self.push(tally, [Buffer::Sort, Buffer::State, Buffer::Status, source], [], tiles);
        let spine = self.shapes.plain(KernelShape::PickSpine);
        self.push(spine, [Buffer::State, Buffer::Status], [], Groups::Fixed(1));
        let bindings = [Buffer::Sort, Buffer::State, Buffer::Status, source, Buffer::Values, Buffer::Picked];
        self.push(reading(KernelShape::Pick { aliased: request.aliased }), bindings, [], tiles);
    }
}
