//! Memory that outlives a call.
//!
//! What a call worked in is kept for the next one, since fresh memory costs a page fault for each page. It is freed when
//! [`UNUSED_CALLS`] calls in a row had no use for it: a large sort leaves nothing behind for long, however many small ones follow.

use crate::pages::advise_huge_pages;
use crate::record::Record;
use bytemuck::{Pod, Zeroable};
use polysort_core::Error;
use std::alloc::{Layout, handle_alloc_error};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls that did not use a buffer after which it is freed.
const UNUSED_CALLS: u32 = 64;

/// Each thread counts its calls, and tells them so many at a time: a short sort cannot afford a lock.
const COUNTED_CALLS: u32 = 16;

/// One cache line, so that buffers start on one.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Buffers of more lines than this (1 MiB) are large: each sort uses one of them.
const LARGE_LINES: usize = (1 << 20) / size_of::<Line>();

/// A buffer that no call uses at the moment.
struct Kept {
    lines: Vec<Line>,
    /// Calls since it was used last.
    unused: u32,
}

static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// Bytes of all kept buffers.
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Calls of this thread that it has not told.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// A buffer on loan from those that are kept; it goes back when dropped. For backends that are built on this one.
#[doc(hidden)]
#[derive(Default)]
pub struct Scratch(Vec<Line>);

impl core::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} bytes of scratch", size_of_val(&*self.0))
    }
}

impl Scratch {
    /// A buffer of at least `len` elements of `T` of arbitrary content.
    pub fn room<T: Pod>(len: usize) -> Self {
        Self::of_bytes(len * size_of::<T>())
    }

    /// The first `len` elements of the buffer.
    ///
    /// # Panics
    /// If the buffer is shorter.
    pub fn elements<T: Pod>(&mut self, len: usize) -> &mut [T] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.0);
        bytemuck::cast_slice_mut(&mut bytes[..len * size_of::<T>()])
    }

    /// A buffer of at least `len` records of arbitrary content.
    pub(crate) fn of<R: Record>(len: usize) -> Self {
        Self::of_bytes(len * size_of::<R>())
    }

    fn of_bytes(bytes: usize) -> Self {
        Self::try_of_bytes(bytes).unwrap_or_else(|_| handle_alloc_error(Layout::array::<u8>(bytes).expect("a length in memory")))
    }

    fn try_of_bytes(bytes: usize) -> Result<Self, Error> {
        let lines = bytes.div_ceil(size_of::<Line>());
        if lines == 0 {
            return Ok(Self(vec![]));
        }
        let outgrown = {
            let mut kept = lock();
            // The smallest that is large enough; a small sort leaves the buffer of a large one to its age.
            let most = (4 * lines).max(LARGE_LINES);
            let fits = |at: &usize| (lines..=most).contains(&kept[*at].lines.len());
            let best = (0..kept.len()).filter(fits).min_by_key(|&at| kept[at].lines.len());
            if let Some(best) = best {
                return Ok(Self(take(&mut kept, best).lines));
            }
            // Other large buffers are freed first: none is kept for nothing beside one that is used.
            if lines > LARGE_LINES { take_all(&mut kept, |kept| kept.lines.len() > LARGE_LINES) } else { vec![] }
        };
        drop(outgrown);
        let refused = |()| Error::OutOfMemory { asked: bytes as u64, limit: None };
        let mut buffer = bytemuck::try_zeroed_vec(roomy(lines)).map_err(refused)?;
        if lines > LARGE_LINES {
            advise_huge_pages(bytemuck::cast_slice_mut(&mut buffer));
        }
        Ok(Self(buffer))
    }

    /// The first `len` records of the buffer.
    pub(crate) fn records<R: Record>(&mut self, len: usize) -> &mut [R] {
        self.elements(len)
    }
}

/// The most records that [`on_stack`] has room for.
pub(crate) const MOST_ON_STACK: usize = 1024;

/// Calls `work` with room for `len` records, at most [`MOST_ON_STACK`], that is on the stack. The room is cleared first, and clearing takes time, so it has at most twice
/// as many records, or 64.
pub(crate) fn on_stack<R: Record>(len: usize, work: &mut dyn FnMut(&mut [R])) {
    /// Not inlined: the caller would have room for all lengths on its stack.
    #[inline(never)]
    fn room<R: Record, const N: usize>(len: usize, work: &mut dyn FnMut(&mut [R])) {
        work(&mut [R::zeroed(); N][..len]);
    }
    match len {
        0..=64 => room::<R, 64>(len, work),
        65..=128 => room::<R, 128>(len, work),
        129..=256 => room::<R, 256>(len, work),
        257..=512 => room::<R, 512>(len, work),
        _ => room::<R, MOST_ON_STACK>(len, work),
    }
}

/// Gets `bytes` bytes of scratch before a call changes anything: the call then finds them among what is kept, unless another call takes them first. Buffers that
/// are not large are not asked for.
///
/// # Errors
/// [`Error::OutOfMemory`] if the system refuses the memory.
pub(crate) fn reserve(bytes: usize) -> Result<(), Error> {
    if !is_large(bytes) {
        return Ok(());
    }
    Scratch::try_of_bytes(bytes).map(drop)
}

/// Whether [`reserve`] gets so many bytes.
pub(crate) fn is_large(bytes: usize) -> bool {
    bytes > LARGE_LINES * size_of::<Line>()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.0);
        if !lines.is_empty() {
            KEPT_BYTES.fetch_add(size_of_val(&*lines), Ordering::Relaxed);
            lock().push(Kept { lines, unused: 0 });
        }
    }
}

/// Counts a call of an operation: buffers that many have not used are freed.
#[inline]
pub(crate) fn count_call() {
    if KEPT_BYTES.load(Ordering::Relaxed) == 0 {
        return;
    }
    let calls = CALLS.get() + 1;
    CALLS.set(calls % COUNTED_CALLS);
    if calls == COUNTED_CALLS {
        let unused = {
            let mut kept = lock();
            kept.iter_mut().for_each(|kept| kept.unused += calls);
            take_all(&mut kept, |kept| kept.unused > UNUSED_CALLS)
        };
        drop(unused);
    }
}

/// Takes out the buffer at one position.
fn take(kept: &mut Vec<Kept>, at: usize) -> Kept {
    let taken = kept.swap_remove(at);
    KEPT_BYTES.fetch_sub(size_of_val(&*taken.lines), Ordering::Relaxed);
    taken
}

/// Takes out all buffers that `which` holds for.
fn take_all(kept: &mut Vec<Kept>, which: impl Fn(&Kept) -> bool) -> Vec<Kept> {
    let positions: Vec<usize> = (0..kept.len()).rev().filter(|&at| which(&kept[at])).collect();
    positions.into_iter().map(|at| take(kept, at)).collect()
}

/// `lines` and up to an eighth more, so that buffers of nearly the same size serve for one another.
fn roomy(lines: usize) -> usize {
    let step = (lines.next_power_of_two() / 16).max(1);
    lines.next_multiple_of(step)
}

/// Gives all kept memory back to the allocator.
pub(crate) fn release() {
    let freed = take_all(&mut lock(), |_| true);
    drop(freed);
}

/// Bytes that are kept and that no call uses.
pub(crate) fn kept_bytes() -> usize {
    KEPT_BYTES.load(Ordering::Relaxed)
}

/// A panic leaves the list whole: its entries are moved, never half written.
fn lock() -> MutexGuard<'static, Vec<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn buffers_have_up_to_an_eighth_more_than_needed_and_few_lengths() {
        for lines in 1..5000 {
            assert!((lines..=lines + lines / 8).contains(&roomy(lines)), "{} for {lines}", roomy(lines));
        }
        for least in [1 << 10, 1 << 20] {
            let lengths: BTreeSet<usize> = (least + 1..=2 * least).map(roomy).collect();
            assert_eq!(lengths.len(), 8, "from {least} to its double");
        }
    }
}
