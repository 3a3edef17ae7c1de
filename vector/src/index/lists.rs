//! The lists of an index: slots, list by list.

use core::ops::Range;
use std::collections::BTreeSet;

/// The slots of all lists, and the offset at which each list begins.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    pub(super) slots: Vec<u32>,
    offsets: Vec<u32>,
}

impl Lists {
    pub(super) fn empty(lists: usize) -> Self {
        Self { slots: vec![], offsets: vec![0; lists + 1] }
    }

    pub(super) fn range(&self, list: usize) -> Range<u32> {
        self.offsets[list]..self.offsets[list + 1]
    }

    pub(super) fn len(&self, list: usize) -> usize {
        self.range(list).len()
    }

    /// Returns the lists without the slots `removed`, and with the slots of `added` at the end of their lists. `added` has pairs of list and slot.
    pub(super) fn changed(&self, removed: &BTreeSet<u32>, mut added: Vec<(u32, u32)>) -> Self {
        added.sort_by_key(|&(list, _)| list);
        let mut changed = Self { slots: vec![], offsets: vec![0] };
        let mut added = added.into_iter().peekable();
        for list in 0..self.offsets.len() - 1 {
            let old = &self.slots[self.range(list).start as usize..self.range(list).end as usize];
            changed.slots.extend(old.iter().filter(|slot| !removed.contains(slot)));
            while let Some((_, slot)) = added.next_if(|&(of, _)| of as usize == list) {
                changed.slots.push(slot);
            }
            changed.offsets.push(changed.slots.len() as u32);
        }
        changed
    }
}
