//! Proving a key: call [`check`] in a test of your own [`Sortable`] impl.

use crate::masks::low_bits;
use crate::{MaskKey, Sortable, Word};
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

/// Checks every law of [`Sortable`] on `samples`, against the order that `compare` gives.
///
/// Choose samples at the edges: extremes, neighbours, equal keys, every field at its limits. Sorts the samples, so that all pairs are
/// covered in `O(n log n)`.
///
/// # Errors
/// The first [`Violation`] found: bits that change from call to call, bits wider than `WIDTH`, a key that `from_bits` does
/// not bring back, or two keys whose bits are in another order than the keys.
pub fn check<K: Sortable + Debug>(samples: &[K], compare: impl Fn(&K, &K) -> Ordering) -> Result<(), Violation> {
    let violation = |law, shown| Violation { key: core::any::type_name::<K>(), law, shown };
    for key in samples {
        let bits = key.to_bits();
        let again = key.to_bits();
        if bits != again {
            return Err(violation("to_bits gives the same bits each time", format!("{key:?} gave {bits:#x}, then {again:#x}")));
        }
        if bits > K::Bits::truncate(low_bits(K::WIDTH)) {
            return Err(violation("bits fit in WIDTH", format!("{key:?} has the bits {bits:#x}, WIDTH is {}", K::WIDTH)));
        }
        let back = K::from_bits(bits);
        if compare(&back, key) != Ordering::Equal || back.to_bits() != bits {
            return Err(violation(
                "from_bits brings the key back",
                format!("{key:?} has the bits {bits:#x} and came back as {back:?}"),
            ));
        }
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(&compare);
    for (low, high) in sorted.iter().zip(sorted.iter().skip(1)) {
        let (order, bits) = (compare(low, high), (low.to_bits(), high.to_bits()));
        if bits.0.cmp(&bits.1) != order {
            let shown = format!("{low:?} is {order:?} to {high:?}, their bits are {:#x} and {:#x}", bits.0, bits.1);
            return Err(violation("bits are in the order of the keys", shown));
        }
    }
    Ok(())
}

/// Checks, on raw words, that a [`MaskKey`]'s `to_bits` and `from_bits` are its masks, and that these are a bijection.
///
/// # Errors
/// The first [`Violation`] found.
pub fn check_masks<K: MaskKey>(raw_words: impl IntoIterator<Item = K::Bits>) -> Result<(), Violation> {
    let violation = |law, shown| Violation { key: core::any::type_name::<K>(), law, shown };
    if !K::MASKS.is_bijective::<K::Bits>() {
        return Err(violation("both masks agree in the top bit", format!("{:x?}", K::MASKS)));
    }
    if K::IN_PLACE.is_none_or(|view| view.masks != K::MASKS) {
        return Err(violation("a MaskKey is sorted in place by its masks", "IN_PLACE is not Some(InPlace::of())".into()));
    }
    for raw in raw_words {
        let key: K = bytemuck::cast(raw);
        let (bits, masked) = (key.to_bits(), K::MASKS.apply(raw));
        let back = bytemuck::bytes_of(&K::from_bits(bits)).to_vec();
        if bits != masked || back != bytemuck::bytes_of(&raw) {
            let shown = format!("raw {raw:#x}: to_bits {bits:#x}, masks {masked:#x}, from_bits {back:x?}");
            return Err(violation("to_bits is Masks::apply and from_bits its inverse", shown));
        }
    }
    Ok(())
}
