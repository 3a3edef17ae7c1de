//! Permutations of `u32` indices, and moving elements by them.

use crate::Error;

/// The longest slice whose positions are `u32` indices.
pub const MAX_LEN: u64 = 1 << 32;

/// Whether the positions of `len` elements are `u32` indices.
///
/// # Errors
/// [`Error::TooLong`] above [`MAX_LEN`].
pub fn check_len(len: usize) -> Result<(), Error> {
    if len as u64 <= MAX_LEN {
        return Ok(());
    }
    Err(Error::TooLong { what: "a permutation of u32 indices".into(), asked: len as u64, limit: MAX_LEN })
}

/// The permutation that moves nothing: `0..len`.
///
/// # Errors
/// As [`check_len`].
pub fn identity(len: usize) -> Result<Vec<u32>, Error> {
    check_len(len)?;
    Ok((0..len as u64).map(|index| index as u32).collect())
}

/// Moves `items` so that position `i` holds what was at `permutation[i]`: what [`argsort`](crate::Sort::argsort) gives, done.
///
/// Works in place by following cycles; elements need not be `Copy`. Takes one index of scratch for each element.
///
/// # Errors
/// [`Error::LengthMismatch`], or [`Error::InvalidPermutation`] with the first index that is out of range or came before; `items` is then
/// as it was.
///
/// ```
/// let mut words = ["d".to_string(), "a".into(), "c".into(), "b".into()];
/// polysort_core::permutation::apply(&mut words, &[1, 3, 2, 0])?;
/// assert_eq!(words, ["a", "b", "c", "d"]);
/// # Ok::<(), polysort_core::Error>(())
/// ```
pub fn apply<T>(items: &mut [T], permutation: &[u32]) -> Result<(), Error> {
    Error::check_lengths("items", items.len(), "permutation", permutation.len())?;
    let mut seen = vec![false; items.len()];
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

/// The items at `indices`.
///
/// # Panics
/// If an index is out of range.
pub fn gather<T: Copy>(items: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().map(|&index| items[index as usize]).collect()
}

/// Moves keys and their values by a permutation that a backend made.
///
/// # Panics
/// If an index is out of range, or the slices differ in length; both are then as they were.
pub fn gather_pairs<K: Copy, V: Copy>(keys: &mut [K], values: &mut [V], permutation: &[u32]) {
    let (sorted, moved) = (gather(keys, permutation), gather(values, permutation));
    assert!(sorted.len() == keys.len() && moved.len() == values.len(), "a permutation of the pairs");
    keys.copy_from_slice(&sorted);
    values.copy_from_slice(&moved);
}
