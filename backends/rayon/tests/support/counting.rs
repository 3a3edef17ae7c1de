//! The allocator of tests that count bytes. A program that has this module allocates by it.
#![allow(unsafe_code, reason = "an allocator")]
#![allow(dead_code, reason = "each program uses a part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with the bytes that are allocated now and the most since they were set.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, and `alloc` got the pointer from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that are allocated now.
pub(crate) fn now() -> usize {
    NOW.load(Ordering::Relaxed)
}

/// The most bytes that were allocated at once since the last call.
pub(crate) fn take_peak() -> usize {
    PEAK.swap(now(), Ordering::Relaxed)
}
