//! The size and the format of a store.

use crate::checks::check_below;
use crate::error::VectorError;
use crate::precision::Precision;
use polysort_core::Error;

/// The size and the format of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shape {
    /// Numbers of a vector: 1 or more, at most 2³² − 2.
    pub dimension: usize,
    /// Slots, fewer than 2³².
    pub capacity: usize,
    /// The format of the numbers.
    pub precision: Precision,
}

impl Shape {
    /// A store of `capacity` vectors of `dimension` numbers, in single precision.
    pub fn new(dimension: usize, capacity: usize) -> Self {
        Self { dimension, capacity, precision: Precision::F32 }
    }

    /// The same shape with this precision.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The same shape with so many slots.
    #[must_use]
    pub fn capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    /// Bytes of a vector.
    pub fn vector_bytes(&self) -> usize {
        self.dimension * self.precision.bytes()
    }

    /// Checks that a store can have this shape.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a dimension of 0, [`Error::TooLong`] for a dimension above 2³² − 2 or a capacity above 2³² − 1,
    /// [`Error::OutOfMemory`] for more bytes than memory can have.
    pub fn check(&self) -> Result<(), VectorError> {
        if self.dimension == 0 {
            return Err(Error::Unsupported { what: "vectors of dimension 0".into() }.into());
        }
        // Kernels round the dimension up to an even number.
        let limits = [("a vector, in numbers", self.dimension, u32::MAX - 1), ("a store, in slots", self.capacity, u32::MAX)];
        for (what, asked, limit) in limits {
            let (asked, limit) = (asked as u64, u64::from(limit));
            if asked > limit {
                return Err(Error::TooLong { what: what.into(), asked, limit }.into());
            }
        }
        let bytes = self.dimension as u128 * self.capacity as u128 * self.precision.bytes() as u128;
        if bytes > isize::MAX as u128 {
            let asked = u64::try_from(bytes).unwrap_or(u64::MAX);
            return Err(Error::OutOfMemory { asked, limit: Some(isize::MAX as u64) }.into());
        }
        Ok(())
    }

    /// Checks numbers that are to be written from `slot` on, and returns the number of vectors that they are.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a part of a vector, [`VectorError::OutOfRange`] for a vector after the last slot,
    /// [`VectorError::NotFinite`] for a number that is infinite or NaN, or too large for the precision.
    pub fn check_write(&self, slot: u32, numbers: &[f32]) -> Result<usize, VectorError> {
        let vectors = numbers.len() / self.dimension;
        Error::check_lengths("the numbers", numbers.len(), "whole vectors of them", vectors * self.dimension)?;
        let free = (self.capacity as u64).saturating_sub(slot.into());
        if vectors as u64 > free {
            let (value, limit) = (u64::from(slot) + vectors as u64 - 1, self.capacity as u64);
            return Err(VectorError::OutOfRange { what: "the slot of a vector", index: free as usize, value, limit });
        }
        self.precision.check("the vectors", numbers)?;
        Ok(vectors)
    }

    /// Checks that the store has each slot of `slots`, the slots of entries.
    ///
    /// # Errors
    /// [`VectorError::OutOfRange`] with the first one that it does not have.
    pub fn check_entries(&self, slots: &[u32]) -> Result<(), VectorError> {
        check_below("slots of entries", slots, self.capacity)
    }
}
