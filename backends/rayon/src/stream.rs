//! Writing past the cache.
#![allow(unsafe_code, reason = "an instruction that writes past the cache")]

use bytemuck::Pod;

/// Copies a block of records. If both slices are made of whole parts of 16 bytes, and `to` starts at one, the copy does not touch the
/// cache, and other threads may see it only after [`finish`].
///
/// # Panics
/// If the slices differ in length.
#[inline(always)]
pub(crate) fn stream<R: Pod>(from: &[R], to: &mut [R]) {
    #[cfg(target_arch = "x86_64")]
    if let (Ok(from), Ok(to)) = (bytemuck::try_cast_slice::<R, [u8; 16]>(from), parts(to)) {
        assert_eq!(from.len(), to.len());
        for (from, to) in from.iter().zip(to) {
            let bits = bytemuck::pod_read_unaligned(from);
            // SAFETY: `to` is 16 bytes that are ours, and aligned as its type says; SSE2 is part of x86-64.
            unsafe { core::arch::x86_64::_mm_stream_si128(to, bits) };
        }
        return;
    }
    to.copy_from_slice(from);
}

#[cfg(target_arch = "x86_64")]
fn parts<R: Pod>(to: &mut [R]) -> Result<&mut [core::arch::x86_64::__m128i], bytemuck::PodCastError> {
    bytemuck::try_cast_slice_mut(to)
}

/// Makes what this thread has written past the cache visible to whoever is told that it is done.
pub(crate) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}
