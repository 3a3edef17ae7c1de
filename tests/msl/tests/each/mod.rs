//! What tests of single kernels have in common: the kernels of each source, and the digits that they sort by.

use polysort_core::Word;
use polysort_core::plan::{Digit, SortPlan};

/// A test of each function, by naga's kernels and by our own.
#[macro_export]
macro_rules! each_source {
    ($($test:ident)*) => {
        mod naga {
            $(#[test] fn $test() { super::$test(polysort_msl::Source::NAGA_ROLLED); })*
        }

        mod native {
            $(#[test] fn $test() { super::$test(polysort_msl::Source::NATIVE); })*
        }
    };
}

/// A digit of a key.
pub(crate) fn digit<W: Word>(plan: &SortPlan, key: W, digit: &Digit) -> usize {
    let key = key.widen();
    let ordered = key ^ if key >> (W::BITS - 1) == 1 { plan.masks.set } else { plan.masks.clear };
    (ordered >> (32 * digit.word + digit.shift)) as usize & ((1 << digit.bits) - 1)
}
