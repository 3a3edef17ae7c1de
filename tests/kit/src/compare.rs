//! Compares results with what is expected, and describes the first difference.

use crate::keys::TestKey;
use core::fmt::{Debug, Display};
use core::ops::Range;
use polysort_core::Error;

/// The first place where two lists of keys differ, bit for bit. `what` is formatted only then: a list of segments is long.
pub(crate) fn same_keys<K: TestKey>(what: impl Display, got: &[K], expected: &[K]) -> Result<(), String> {
    let raws = |keys: &[K]| keys.iter().map(|key| key.raw()).collect::<Vec<_>>();
    if got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| a.raw() == b.raw()) {
        return Ok(());
    }
    same(what, &raws(got), &raws(expected))
}

/// The first place where two lists differ.
pub(crate) fn same<T: PartialEq + Debug>(what: impl Display, got: &[T], expected: &[T]) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    if got.len() != expected.len() {
        return Err(format!("{} {what} instead of {}", got.len(), expected.len()));
    }
    let wrong: Vec<usize> = (0..got.len()).filter(|&i| got[i] != expected[i]).collect();
    let at = wrong[0];
    let around: Range<usize> = at.saturating_sub(2)..(at + 3).min(got.len());
    Err(format!(
        "{} of {} {what} are wrong, the first at {at}: got {:x?}, expected {:x?}",
        wrong.len(),
        got.len(),
        &got[around.clone()],
        &expected[around]
    ))
}

/// The message for an error that a check does not expect.
pub(crate) fn failed(error: Error) -> String {
    format!("the backend failed: {error}")
}
