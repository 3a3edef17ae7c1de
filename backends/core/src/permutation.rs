//! Permutations of `u32` indices, and moving elements by them.

use crate::{Error, memory};

/// The longest slice whose positions are `u32` indices.
pub const MAX_LEN: u64 = 1 << 32;

/// Checks that `u32` indices can name the positions of `len` elements.
///
/// # Errors
/// [`Error::TooLong`] if `len` is above [`MAX_LEN`].
pub fn check_len(len: usize) -> Result<(), Error> {
    if len as u64 <= MAX_LEN {
        return Ok(());
    }
    Err(Error::TooLong { what: "a permutation of u32 indices".into(), asked: len as u64, limit: MAX_LEN })
}

/// Returns `len` zeros: room in which the caller writes a permutation of `len` elements.
///
/// # Errors
/// [`Error::TooLong`] if `len` is above [`MAX_LEN`]; [`Error::OutOfMemory`] if the system refuses the memory.
pub fn room(len: usize) -> Result<Vec<u32>, Error> {
    check_len(len)?;
    memory::zeroed(len)
}

/// Returns the permutation that moves nothing: `0..len`.
///
/// # Errors
/// As [`room`].
pub fn identity(len: usize) -> Result<Vec<u32>, Error> {
    let mut indices = room(len)?;
    fill_identity(&mut indices);
    Ok(indices)
}

/// Writes 0, 1, 2, … to `indices`: the permutation that moves nothing. The caller passes at most [`MAX_LEN`] indices; after them, the numbers would
/// start again from 0.
pub fn fill_identity(indices: &mut [u32]) {
    for (position, index) in indices.iter_mut().enumerate() {
        *index = position as u32;
    }
}

/// Moves `items` so that position `i` holds the item that was at `permutation[i]`: applies the result of
/// [`argsort`](crate::Sort::argsort).
///
/// Swaps items along the cycles of the permutation, so items need not be `Copy`. Takes one byte of scratch for each item.
///
/// # Errors
/// [`Error::LengthMismatch`] if the lengths differ, [`Error::InvalidPermutation`] with the first index that is out of range or occurs twice,
/// [`Error::OutOfMemory`] if the system refuses the scratch; `items` then stays as it was.
///
/// ```
/// let mut words = ["d".to_string(), "a".into(), "c".into(), "b".into()];
/// polysort_core::permutation::apply(&mut words, &[1, 3, 2, 0])?;
/// assert_eq!(words, ["a", "b", "c", "d"]);
/// # Ok::<(), polysort_core::Error>(())
/// ```
pub fn apply<T>(items: &mut [T], permutation: &[u32]) -> Result<(), Error> {
    Error::check_lengths("items", items.len(), "permutation", permutation.len())?;
    let mut seen: Vec<bool> = memory::zeroed(items.len())?;
    for (position, &index) in permutation.iter().enumerate() {
        match seen.get_mut(index as usize) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(Error::InvalidPermutation { position, index, len: items.len() }),
        }
    }
    // `seen` is all true now; from here it marks the positions that are still to be filled.
    let mut pending = seen;
    for start in 0..items.len() {
        let mut hole = start;
        while std::mem::take(&mut pending[hole]) {
            let from = permutation[hole] as usize;
            if from == start {
                break;
            }
            items.swap(hole, from);
            hole = from;
        }
    }
    Ok(())
}

/// Returns the items at `indices`, in their order.
///
/// # Panics
/// If an index is out of range.
pub fn gather<T: Copy>(items: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().map(|&index| items[index as usize]).collect()
}

/// Moves keys by a permutation that a backend made: position `i` then holds the key that was at `permutation[i]`.
///
/// # Panics
/// If an index is out of range, or the lengths differ; the keys then stay as they were.
pub fn gather_keys<K: Copy>(keys: &mut [K], permutation: &[u32]) {
    let sorted = gather(keys, permutation);
    keys.copy_from_slice(&sorted);
}

/// Moves keys and their values by a permutation that a backend made.
///
/// # Panics
/// If an index is out of range, or the lengths differ; keys and values then stay as they were.
pub fn gather_pairs<K: Copy, V: Copy>(keys: &mut [K], values: &mut [V], permutation: &[u32]) {
    let (sorted, moved) = (gather(keys, permutation), gather(values, permutation));
    assert!(sorted.len() == keys.len() && moved.len() == values.len(), "a permutation of the pairs");
    keys.copy_from_slice(&sorted);
    values.copy_from_slice(&moved);
}
