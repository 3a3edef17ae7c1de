//! How much a backend takes in one call.

use crate::Error;

/// The largest input of one call. The default has no limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest slice, in elements.
    pub max_len: u64,
    /// The largest slice, in bytes: of the keys, and of the values.
    pub max_bytes: u64,
    /// The least number of bytes that the device uses for an element. A smaller element counts as this many bytes of `max_bytes`.
    pub min_element_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_len: u64::MAX, max_bytes: u64::MAX, min_element_bytes: 1 }
    }
}

impl Limits {
    /// The longest slice of elements of `size` bytes, in elements.
    pub fn longest(&self, size: usize) -> u64 {
        let element_bytes = (size as u64).max(self.min_element_bytes).max(1);
        self.max_len.min(self.max_bytes / element_bytes)
    }

    /// Checks that `len` elements of `size` bytes are within the limits.
    ///
    /// # Errors
    /// [`Error::TooLong`], which names `what`, if they are not.
    pub fn check(&self, what: &str, len: usize, size: usize) -> Result<(), Error> {
        let limit = self.longest(size);
        if len as u64 <= limit {
            return Ok(());
        }
        Err(Error::TooLong { what: format!("{what} with elements of {size} bytes"), asked: len as u64, limit })
    }
}
