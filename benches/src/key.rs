//! What a key must do for every peer to sort it.

use crate::x86_simd_sort::SimdSortKey;
use polysort_core::{MaskKey, Word};
use polysort_kit::TestKey;
use voracious_radix_sort::{RadixKey as VoraciousKey, Radixable};

/// A function that sorts a slice.
pub type SortFn<K> = fn(&mut [K]);

/// A key that all the peers sort, or of which it is known that they do not.
pub trait BenchKey:
    TestKey + MaskKey + Default + PartialOrd + SimdSortKey + rdst::RadixKey + radsort::Key + Radixable<Self> + VoraciousKey
{
    /// turbosort's sort of this key: on one thread, and on those of the current pool.
    const TURBOSORT: Option<[SortFn<Self>; 2]>;

    /// The order in a number, from which the key can be made again.
    fn ordered(self) -> u128 {
        self.to_bits().widen()
    }

    /// turbosort's stable sort by such a key, if it knows the type.
    fn turbosort_by_key<T: Clone>(items: &mut [T], key: impl FnMut(&T) -> Self) -> bool;

    /// The keys without those that some peers refuse or change: NaN.
    #[must_use]
    fn tamed(self) -> Self {
        self
    }
}

macro_rules! keys {
    ($($key:ident)*) => {$(
        impl BenchKey for $key {
            const TURBOSORT: Option<[SortFn<Self>; 2]> = Some([turbosort::sort, turbosort::sort_parallel]);

            fn turbosort_by_key<T: Clone>(items: &mut [T], key: impl FnMut(&T) -> Self) -> bool {
                turbosort::sort_by_key(items, key);
                true
            }
        }
    )*};
}
keys!(u8 u16 u32 u64 i32);

macro_rules! floats {
    ($($key:ident)*) => {$(
        impl BenchKey for $key {
            const TURBOSORT: Option<[SortFn<Self>; 2]> = Some([turbosort::sort, turbosort::sort_parallel]);

            fn turbosort_by_key<T: Clone>(items: &mut [T], key: impl FnMut(&T) -> Self) -> bool {
                turbosort::sort_by_key(items, key);
                true
            }

            fn tamed(self) -> Self {
                // The sign and the fraction of the NaN, with an exponent that numbers have.
                if self.is_nan() { $key::from_bits(self.to_bits() ^ (1.0 as $key).to_bits()) } else { self }
            }
        }
    )*};
}
floats!(f32 f64);

impl BenchKey for u128 {
    const TURBOSORT: Option<[SortFn<Self>; 2]> = None;

    fn turbosort_by_key<T: Clone>(_: &mut [T], _: impl FnMut(&T) -> Self) -> bool {
        false
    }
}
