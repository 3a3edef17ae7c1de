//! Asking for the lines that a scatter will write.
//!
//! A processor makes its writes in their order. So the first write to a line that is not in the cache holds up all later writes until the line is there. A scatter
//! fills each bucket from its start to its end: when it writes a record, it also asks for the line behind that record. The line is there when the bucket
//! reaches it.
#![allow(unsafe_code, reason = "an instruction that fetches a line")]

use crate::tuning::tuning;

/// Whether a scatter to a target of so many bytes asks for lines ahead: if the target fits in the caches of a core, asking takes longer than waiting.
pub(crate) fn is_far(bytes: usize) -> bool {
    bytes >= tuning().far_bytes
}

/// Asks for the line behind the record at `at` of `target`. Changes nothing but the time of later writes.
#[inline(always)]
pub(crate) fn ask_behind<T>(target: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // Bytes of a line of the cache, on most processors.
        const LINE_BYTES: usize = 64;
        let behind = target.as_ptr().wrapping_add(at).wrapping_byte_add(LINE_BYTES);
        // SAFETY: the instruction takes any address, and neither reads nor writes memory that a program can see. Processors without it do nothing.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(behind.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (target, at);
}
