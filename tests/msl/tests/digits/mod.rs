//! The digits of keys, for models of kernels.

use polysort_core::{Masks, Spec, Word};
use polysort_shaders::plan::{Digit, SortPlan};

/// Returns a digit of a key.
pub(crate) fn digit<W: Word>(plan: &SortPlan, key: W, digit: &Digit) -> usize {
    let key = key.widen();
    let ordered = key ^ if key >> (W::BITS - 1) == 1 { plan.masks.set } else { plan.masks.clear };
    (ordered >> (32 * digit.word + digit.shift)) as usize & ((1 << digit.bits) - 1)
}

/// Returns one of several specs: an order, and a window of all bits, of some, or of so few that many keys agree in them.
pub(crate) fn spec<W: Word>(number: usize) -> Spec {
    let bits = W::BITS;
    let masks = [Masks::UNSIGNED, Masks::float(bits).reversed(bits), Masks::signed(bits)][number % 3];
    let (begin, end) = [(0, bits), (0, bits), (3, bits), (5, bits - 7), (bits - 14, bits)][number % 5];
    Spec::new::<W>(masks, begin, end).unwrap()
}
