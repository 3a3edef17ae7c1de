//! Tests of a key type: call [`check`] in a test of your own [`Sortable`] impl, and [`check_wide`] for a [`WideKey`].

use crate::{MaskKey, Sortable, WideKey, Word};
use core::cmp::Ordering;
use core::fmt::Debug;

/// A law that a key breaks, with the keys that show it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} breaks the law of Sortable that {law}: {shown}")]
pub struct Violation {
    /// The name of the key type.
    pub key: &'static str,
    /// The law.
    pub law: &'static str,
    /// The keys and bits that show it.
    pub shown: String,
}

fn violation<K>(law: &'static str, shown: String) -> Violation {
    Violation { key: core::any::type_name::<K>(), law, shown }
}

/// Checks every law of [`Sortable`] on `samples`, against the order that `compare` gives.
///
/// Choose samples at the edges: extremes, neighbors, equal keys, every field at its limits. The check sorts the samples and compares neighbors, so
/// it covers all pairs in `O(n log n)`. A key is lost if the key that `from_bits` returns compares unequal, has other bits, is not
/// [`IDENTICAL`](Sortable::IDENTICAL), or prints differently with `Debug`.
///
/// # Errors
/// The first [`Violation`] found:
/// * a `WIDTH` beyond the word,
/// * bits that change from call to call,
/// * bits beyond the `WIDTH` of the key, or of a key inside a tuple,
/// * a key that `from_bits` does not give back,
/// * two keys whose bits are in another order than the keys.
pub fn check<K: Sortable + Debug>(samples: &[K], compare: impl Fn(&K, &K) -> Ordering) -> Result<(), Violation> {
    if K::WIDTH > <K::Bits as Word>::BITS {
        let shown = format!("WIDTH is {}, the word has {} bits", K::WIDTH, <K::Bits as Word>::BITS);
        return Err(violation::<K>("WIDTH is at most the bits of the word", shown));
    }
    for key in samples {
        let bits = key.to_bits();
        let again = key.to_bits();
        if bits != again {
            let shown = format!("{key:?} gave {bits:#x}, then {again:#x}");
            return Err(violation::<K>("to_bits gives the same bits each time", shown));
        }
        let is_too_wide = bits.widen().checked_shr(K::WIDTH).is_some_and(|above| above != 0);
        if is_too_wide || !K::bits_fit(*key, bits) {
            let shown = format!("{key:?} has the bits {bits:#x}, WIDTH is {}", K::WIDTH);
            return Err(violation::<K>("bits fit in WIDTH", shown));
        }
        let back = K::from_bits(bits);
        let is_identical =
            K::IDENTICAL.is_none_or(|identical| identical(back, *key)) && format!("{back:?}") == format!("{key:?}");
        if compare(&back, key) != Ordering::Equal || back.to_bits() != bits || !is_identical {
            let shown = format!("{key:?} has the bits {bits:#x} and came back as {back:?}");
            return Err(violation::<K>("from_bits brings the key back", shown));
        }
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(&compare);
    for (low, high) in sorted.iter().zip(sorted.iter().skip(1)) {
        let (order, bits) = (compare(low, high), (low.to_bits(), high.to_bits()));
        if bits.0.cmp(&bits.1) != order {
            let shown = format!("{low:?} is {order:?} to {high:?}, their bits are {:#x} and {:#x}", bits.0, bits.1);
            return Err(violation::<K>("bits are in the order of the keys", shown));
        }
    }
    Ok(())
}

/// Checks every law of [`WideKey`] on `samples`, against the order that `compare` gives.
///
/// # Errors
/// The first [`Violation`] found:
/// * bits that change from call to call, or that depend on where a call starts to read,
/// * bits behind the `TOTAL_BITS` of the key, or beyond that of a key inside it,
/// * two keys whose bits are in another order than the keys.
pub fn check_wide<K: WideKey + Debug>(samples: &[K], compare: impl Fn(&K, &K) -> Ordering) -> Result<(), Violation> {
    let words = |key: &K| -> Vec<u64> { (0..K::TOTAL_BITS).step_by(64).map(|first| key.bits_from(first)).collect() };
    for key in samples {
        let read = words(key);
        if read != words(key) {
            return Err(violation::<K>("bits_from gives the same bits each time", format!("{key:?} gave {read:x?} first")));
        }
        let bit = |at: u32| read.get(at as usize / 64).is_some_and(|word| word << (at % 64) >> 63 == 1);
        for first in 0..=K::TOTAL_BITS {
            let expected =
                (first..first.saturating_add(64)).fold(0, |bits, at| bits << 1 | u64::from(at < K::TOTAL_BITS && bit(at)));
            let found = key.bits_from(first);
            if found != expected {
                let shown = format!(
                    "{key:?} has the bits {found:#x} from bit {first} on, and {expected:#x} by other calls, with TOTAL_BITS of {}",
                    K::TOTAL_BITS
                );
                return Err(violation::<K>("bits_from gives the bits from any bit on, and 0 from TOTAL_BITS on", shown));
            }
        }
        if !key.parts_fit() {
            return Err(violation::<K>("bits fit in WIDTH", format!("{key:?} has a key with more bits inside")));
        }
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(&compare);
    for (low, high) in sorted.iter().zip(sorted.iter().skip(1)) {
        let (order, bits) = (compare(low, high), (words(low), words(high)));
        if bits.0.cmp(&bits.1) != order {
            let shown = format!("{low:?} is {order:?} to {high:?}, their bits are {:x?} and {:x?}", bits.0, bits.1);
            return Err(violation::<K>("bits are in the order of the keys", shown));
        }
    }
    Ok(())
}

/// Checks the laws of [`MaskKey`] on keys with the given raw words.
///
/// # Errors
/// The first [`Violation`] found:
/// * a size, alignment or `WIDTH` that is not that of the word,
/// * masks that are no bijection on the word,
/// * a `to_bits` that is not [`Masks::apply`](crate::Masks::apply), or a `from_bits` that is not its inverse.
pub fn check_masks<K: MaskKey>(raw_words: impl IntoIterator<Item = K::Bits>) -> Result<(), Violation> {
    let (size, align, bits) = (size_of::<K::Bits>(), align_of::<K::Bits>(), <K::Bits as Word>::BITS);
    if (size_of::<K>(), align_of::<K>(), K::WIDTH) != (size, align, bits) {
        let shown = format!(
            "{} bytes aligned to {} and a WIDTH of {}, the word has {size} bytes aligned to {align} and {bits} bits",
            size_of::<K>(),
            align_of::<K>(),
            K::WIDTH
        );
        return Err(violation::<K>("the memory of a MaskKey is its word", shown));
    }
    if !K::MASKS.is_bijective::<K::Bits>() {
        return Err(violation::<K>("both masks agree in the top bit", format!("{:x?}", K::MASKS)));
    }
    for raw in raw_words {
        let key: K = bytemuck::cast(raw);
        let (bits, masked) = (key.to_bits(), K::MASKS.apply(raw));
        let back = bytemuck::bytes_of(&K::from_bits(bits)).to_vec();
        if bits != masked || back != bytemuck::bytes_of(&raw) {
            let shown = format!("raw {raw:#x}: to_bits {bits:#x}, masks {masked:#x}, from_bits {back:x?}");
            return Err(violation::<K>("to_bits is Masks::apply and from_bits its inverse", shown));
        }
    }
    Ok(())
}
