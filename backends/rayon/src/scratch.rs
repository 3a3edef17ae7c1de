//! Memory that outlives a call.

use crate::record::Record;
use bytemuck::{Pod, Zeroable};
use std::sync::{Mutex, PoisonError};

/// One cache line, so that buffers start on one.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Buffers that no call uses at the moment.
static FREE: Mutex<Vec<Vec<Line>>> = Mutex::new(Vec::new());

/// A buffer on loan from the pool; it goes back when dropped.
pub(crate) struct Scratch(Vec<Line>);

impl Scratch {
    /// A buffer of at least `len` records of arbitrary content.
    pub(crate) fn of<R: Record>(len: usize) -> Self {
        let lines = roomy((len * size_of::<R>()).div_ceil(size_of::<Line>()));
        let mut free = lock();
        // The smallest that fits, so that a small sort does not take the buffer of a large one.
        let best = (0..free.len()).filter(|&i| free[i].len() >= lines).min_by_key(|&i| free[i].len());
        if let Some(best) = best {
            return Self(free.swap_remove(best));
        }
        // None fits: what is there grows by being replaced.
        let largest = (0..free.len()).max_by_key(|&i| free[i].len());
        let outgrown = largest.map(|i| free.swap_remove(i));
        drop(free);
        drop(outgrown);
        Self(bytemuck::zeroed_vec(lines))
    }

    /// The first `len` records of the buffer.
    pub(crate) fn records<R: Record>(&mut self, len: usize) -> &mut [R] {
        &mut self.all()[..len]
    }

    /// Two stretches of `len` records each.
    pub(crate) fn two<R: Record>(&mut self, len: usize) -> (&mut [R], &mut [R]) {
        let (left, right) = self.all().split_at_mut(len);
        (left, &mut right[..len])
    }

    fn all<R: Record>(&mut self) -> &mut [R] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.0);
        let whole = bytes.len() / size_of::<R>() * size_of::<R>();
        bytemuck::cast_slice_mut(&mut bytes[..whole])
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        lock().push(std::mem::take(&mut self.0));
    }
}

/// `lines` and up to an eighth more, so that buffers of nearly the same size serve for one another.
fn roomy(lines: usize) -> usize {
    let step = (lines.next_power_of_two() / 16).max(1);
    lines.next_multiple_of(step)
}

/// Gives all pooled memory back to the allocator.
pub(crate) fn release() {
    let freed = std::mem::take(&mut *lock());
    drop(freed);
}

/// Bytes in the pool that no call uses.
pub(crate) fn pooled_bytes() -> usize {
    lock().iter().map(|buffer| buffer.len() * size_of::<Line>()).sum()
}

/// A panic leaves the list whole: its entries are moved, never half written.
fn lock() -> std::sync::MutexGuard<'static, Vec<Vec<Line>>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}
