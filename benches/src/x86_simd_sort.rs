//! The C++ peer x86-simd-sort, if it was built in (see `build.rs`).
#![allow(unsafe_code, reason = "calls of C++ functions")]

/// A key that x86-simd-sort sorts, or says that it does not.
pub trait SimdSortKey: Sized {
    /// The sort of a slice; `None` if the peer is not built in or does not know the type.
    const SIMD_SORT: Option<fn(&mut [Self])> = None;
}

impl SimdSortKey for u8 {}
impl SimdSortKey for u128 {}

macro_rules! keys {
    ($($key:ident $function:ident;)*) => {
        #[cfg(x86_simd_sort)]
        unsafe extern "C" {
            $(fn $function(keys: *mut $key, len: usize);)*
        }

        $(impl SimdSortKey for $key {
            #[cfg(x86_simd_sort)]
            const SIMD_SORT: Option<fn(&mut [Self])> = Some(|keys| {
                // SAFETY: the function sorts the `len` keys that start at `keys` in place and touches nothing else.
                unsafe { $function(keys.as_mut_ptr(), keys.len()) }
            });
        })*
    };
}
keys! {
    u16 xss_u16;
    u32 xss_u32;
    i32 xss_i32;
    f32 xss_f32;
    u64 xss_u64;
    f64 xss_f64;
}
