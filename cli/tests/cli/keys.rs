//! Keys of every dtype, in the order of std, which no code of polysort has a part in.

use bytemuck::Pod;
use core::cmp::Ordering;
use core::fmt::Debug;
use half::{bf16, f16};

pub(crate) trait Key: Pod + Debug {
    const NAME: &'static str;
    /// numpy's name, if it has one.
    const DESCR: Option<&'static str>;
    fn compare(&self, other: &Self) -> Ordering;
}

macro_rules! keys {
    ($($key:ident $descr:expr, $compare:ident;)*) => {$(
        impl Key for $key {
            const NAME: &'static str = stringify!($key);
            const DESCR: Option<&'static str> = $descr;

            fn compare(&self, other: &Self) -> Ordering {
                self.$compare(other)
            }
        }
    )*};
}
keys! {
    u8 Some("|u1"), cmp;
    u16 Some("<u2"), cmp;
    u32 Some("<u4"), cmp;
    u64 Some("<u8"), cmp;
    u128 None, cmp;
    i8 Some("|i1"), cmp;
    i16 Some("<i2"), cmp;
    i32 Some("<i4"), cmp;
    i64 Some("<i8"), cmp;
    i128 None, cmp;
    f16 Some("<f2"), total_cmp;
    bf16 None, total_cmp;
    f32 Some("<f4"), total_cmp;
    f64 Some("<f8"), total_cmp;
}

/// Calls a generic function for every dtype.
macro_rules! for_every_dtype {
    ($check:ident) => {
        for_every_dtype!(@ $check u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 half::f16 half::bf16 f32 f64)
    };
    (@ $check:ident $($key:ty)*) => {$( $check::<$key>(); )*};
}
pub(crate) use for_every_dtype;

/// Keys of random bits, NaNs among the floats, each third one equal to one before it.
pub(crate) fn keys<K: Key>(len: usize) -> Vec<K> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    };
    let mut keys: Vec<K> = vec![];
    for i in 0..len {
        let bytes = [random().to_le_bytes(), random().to_le_bytes(), random().to_le_bytes()].concat();
        let again = i % 3 == 2;
        keys.push(if again { keys[random() as usize % i] } else { bytemuck::pod_read_unaligned(&bytes[2..2 + size_of::<K>()]) });
    }
    keys
}

/// The stable order of std.
pub(crate) fn order<K: Key>(keys: &[K], descending: bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let ascending = keys[a as usize].compare(&keys[b as usize]);
        if descending { ascending.reverse() } else { ascending }
    });
    order
}

/// The bytes of the keys in that order, as they lie in a file.
pub(crate) fn sorted_bytes<K: Key>(keys: &[K], descending: bool) -> Vec<u8> {
    bytes(&order(keys, descending).iter().map(|&index| keys[index as usize]).collect::<Vec<_>>())
}

/// The little-endian bytes of keys.
pub(crate) fn bytes<K: Pod>(keys: &[K]) -> Vec<u8> {
    let mut bytes = bytemuck::cast_slice::<K, u8>(keys).to_vec();
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size_of::<K>()).for_each(<[u8]>::reverse);
    }
    bytes
}
