//! Checks of all numbers or indices of a list. The error has the first wrong one.

use crate::error::VectorError;
use crate::precision::Precision;

impl Precision {
    /// Checks that all numbers are finite in this precision. `what` names them.
    ///
    /// # Errors
    /// [`VectorError::NotFinite`] with the first number that is not.
    pub fn check(self, what: &'static str, numbers: &[f32]) -> Result<(), VectorError> {
        let largest = self.largest();
        // A comparison with NaN is false.
        let is_finite = |number: &f32| number.abs() <= largest;
        // Every number is compared, without an exit in between: this loop is vector code.
        if numbers.iter().fold(true, |all, number| all & is_finite(number)) {
            return Ok(());
        }
        let index = numbers.iter().position(|number| !is_finite(number)).expect("one of the numbers is not finite");
        Err(VectorError::NotFinite { what, index, value: numbers[index], precision: self })
    }
}

/// Checks that all `values` are below `limit`; the error has the first one that is not.
pub(crate) fn check_below(what: &'static str, values: &[u32], limit: usize) -> Result<(), VectorError> {
    // Candidates are many. The largest one is found without an exit in between: this loop is vector code.
    if limit > 0 && (values.iter().fold(0, |largest, &value| value.max(largest)) as usize) < limit {
        return Ok(());
    }
    match values.iter().position(|&value| value as usize >= limit) {
        None => Ok(()),
        Some(index) => Err(VectorError::OutOfRange { what, index, value: values[index].into(), limit: limit as u64 }),
    }
}
