//! Memory for as many elements as a call has. The system may refuse it.

use crate::Error;
use bytemuck::Zeroable;

/// Returns `len` zeros.
///
/// # Errors
/// [`Error::OutOfMemory`] if the system refuses the memory.
pub(crate) fn zeroed<T: Zeroable>(len: usize) -> Result<Vec<T>, Error> {
    bytemuck::try_zeroed_vec(len).map_err(|()| refused::<T>(len))
}

/// Returns an empty vector with room for `len` elements.
///
/// # Errors
/// As [`zeroed`].
pub(crate) fn with_room<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut elements = vec![];
    elements.try_reserve_exact(len).map_err(|_| refused::<T>(len))?;
    Ok(elements)
}

/// Returns a vector of what `elements` yields.
///
/// # Errors
/// As [`zeroed`].
pub(crate) fn collected<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut all = with_room(elements.len())?;
    all.extend(elements);
    Ok(all)
}

fn refused<T>(len: usize) -> Error {
    Error::OutOfMemory { asked: len as u64 * size_of::<T>() as u64, limit: None }
}
