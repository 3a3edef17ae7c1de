//! The operations as free functions. The backend is a type parameter, and its device is opened once for the process.
//!
//! Each function calls the method of [`Sort`] with the same name on [`B::global()`](Backend::global).

use crate::{Backend, Error, Options, Runs, Segments, Sort, Sortable, TopK, WideKey};
use bytemuck::Pod;

/// Sorts `keys` on backend `B`, ascending and stable.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort, RayonBackend};
/// let mut keys = [3, -1, 2];
/// sort::<i32, RayonBackend>(&mut keys)?;
/// assert_eq!(keys, [-1, 2, 3]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort`]. After an error, `keys` is as it was.
pub fn sort<K: Sortable, B: Backend>(keys: &mut [K]) -> Result<(), Error> {
    B::global()?.sort(keys)
}

/// Sorts `keys` on backend `B` by `options`.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort_with, Options, RayonBackend};
/// let mut keys = [0x10f, 0x201, 0x303];
/// sort_with::<u32, RayonBackend>(&mut keys, Options::descending().bits(0..8))?; // by the low byte
/// assert_eq!(keys, [0x10f, 0x303, 0x201]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_with`]. After an error, `keys` is as it was.
pub fn sort_with<K: Sortable, B: Backend>(keys: &mut [K], options: Options) -> Result<(), Error> {
    B::global()?.sort_with(keys, options)
}

/// Sorts `keys`, which stay as they are, into `sorted`, which has the same length, on backend `B`, ascending and stable.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort_into, RayonBackend};
/// let (keys, mut sorted) = ([3, -1, 2], [0; 3]);
/// sort_into::<i32, RayonBackend>(&keys, &mut sorted)?;
/// assert_eq!((keys, sorted), ([3, -1, 2], [-1, 2, 3]));
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_into`]. After an error, `sorted` is as it was.
pub fn sort_into<K: Sortable, B: Backend>(keys: &[K], sorted: &mut [K]) -> Result<(), Error> {
    B::global()?.sort_into(keys, sorted)
}

/// Sorts `keys`, which stay as they are, into `sorted` on backend `B` by `options`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_into_with`]. After an error, `sorted` is as it was.
pub fn sort_into_with<K: Sortable, B: Backend>(keys: &[K], sorted: &mut [K], options: Options) -> Result<(), Error> {
    B::global()?.sort_into_with(keys, sorted, options)
}

/// Sorts `keys` on backend `B`, ascending and stable, and moves each value with its key.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort_pairs, RayonBackend};
/// let (mut depths, mut splats) = ([2.5, 0.5, 1.5], [10, 11, 12]);
/// sort_pairs::<f32, u32, RayonBackend>(&mut depths, &mut splats)?;
/// assert_eq!(splats, [11, 12, 10]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_pairs`]; on an error, both slices stay as they were.
pub fn sort_pairs<K: Sortable, V: Pod, B: Backend>(keys: &mut [K], values: &mut [V]) -> Result<(), Error> {
    B::global()?.sort_pairs(keys, values)
}

/// Sorts `keys` on backend `B` by `options` and moves each value with its key.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_pairs_with`]; on an error, both slices stay as they were.
pub fn sort_pairs_with<K: Sortable, V: Pod, B: Backend>(keys: &mut [K], values: &mut [V], options: Options) -> Result<(), Error> {
    B::global()?.sort_pairs_with(keys, values, options)
}

/// Sorts `keys` into `sorted_keys` on backend `B`, ascending and stable, and moves each value with its key, from `values` to `sorted_values`. The
/// inputs stay as they are.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort_pairs_into, RayonBackend};
/// let (mut depths, mut splats) = ([0.0; 3], [0; 3]);
/// sort_pairs_into::<f32, u32, RayonBackend>(&[2.5, 0.5, 1.5], &[10, 11, 12], &mut depths, &mut splats)?;
/// assert_eq!((depths, splats), ([0.5, 1.5, 2.5], [11, 12, 10]));
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_pairs_into`]. After an error, both outputs are as they were.
pub fn sort_pairs_into<K: Sortable, V: Pod, B: Backend>(
    keys: &[K],
    values: &[V],
    sorted_keys: &mut [K],
    sorted_values: &mut [V],
) -> Result<(), Error> {
    B::global()?.sort_pairs_into(keys, values, sorted_keys, sorted_values)
}

/// Sorts `keys` into `sorted_keys` on backend `B` by `options` and moves each value with its key, from `values` to `sorted_values`. The inputs stay as
/// they are.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_pairs_into_with`]. After an error, both outputs are as they were.
pub fn sort_pairs_into_with<K: Sortable, V: Pod, B: Backend>(
    keys: &[K],
    values: &[V],
    sorted_keys: &mut [K],
    sorted_values: &mut [V],
    options: Options,
) -> Result<(), Error> {
    B::global()?.sort_pairs_into_with(keys, values, sorted_keys, sorted_values, options)
}

/// Sorts any items on backend `B`, ascending and stable, by a key that `key` returns once for each item.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort_by_key, RayonBackend};
/// let mut words = vec!["three".to_string(), "a".into(), "to".into()];
/// sort_by_key::<_, usize, RayonBackend>(&mut words, |word| word.len())?;
/// assert_eq!(words, ["a", "to", "three"]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_by_key`]. After an error, `items` is as it was.
pub fn sort_by_key<T, K: Sortable, B: Backend>(items: &mut [T], key: impl FnMut(&T) -> K) -> Result<(), Error> {
    B::global()?.sort_by_key(items, key)
}

/// Sorts any items on backend `B` by a key and `options`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_by_key_with`]. After an error, `items` is as it was.
pub fn sort_by_key_with<T, K: Sortable, B: Backend>(
    items: &mut [T],
    key: impl FnMut(&T) -> K,
    options: Options,
) -> Result<(), Error> {
    B::global()?.sort_by_key_with(items, key, options)
}

/// Returns the stable permutation that sorts `keys` ascending, made on backend `B`: `keys[result[0]]` is the smallest.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{argsort, RayonBackend};
/// assert_eq!(argsort::<f32, RayonBackend>(&[0.5, -1.0, 0.5])?, [1, 0, 2]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::argsort`].
pub fn argsort<K: Sortable, B: Backend>(keys: &[K]) -> Result<Vec<u32>, Error> {
    B::global()?.argsort(keys)
}

/// Returns the stable permutation that sorts `keys` by `options`, made on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::argsort_with`].
pub fn argsort_with<K: Sortable, B: Backend>(keys: &[K], options: Options) -> Result<Vec<u32>, Error> {
    B::global()?.argsort_with(keys, options)
}

/// Sorts keys of any number of bits on backend `B`, ascending and stable: arrays of keys, [`Wide`](crate::Wide) tuples, and your own. Arrays and tuples are ordered by their first
/// element, then by the second, and so on.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort_wide, RayonBackend};
/// let mut hashes = [[7_u8; 32], [3; 32], [5; 32]];
/// sort_wide::<[u8; 32], RayonBackend>(&mut hashes)?;
/// assert_eq!(hashes, [[3; 32], [5; 32], [7; 32]]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_wide`]. After an error, `keys` is as it was.
pub fn sort_wide<K: WideKey, B: Backend>(keys: &mut [K]) -> Result<(), Error> {
    B::global()?.sort_wide(keys)
}

/// Sorts keys of any number of bits on backend `B` by `options`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_wide_with`]. After an error, `keys` is as it was.
pub fn sort_wide_with<K: WideKey, B: Backend>(keys: &mut [K], options: Options) -> Result<(), Error> {
    B::global()?.sort_wide_with(keys, options)
}

/// Returns the stable permutation that sorts keys of any number of bits on backend `B`, ascending.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::argsort_wide`].
pub fn argsort_wide<K: WideKey, B: Backend>(keys: &[K]) -> Result<Vec<u32>, Error> {
    B::global()?.argsort_wide(keys)
}

/// Returns the stable permutation that sorts keys of any number of bits on backend `B` by `options`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::argsort_wide_with`].
pub fn argsort_wide_with<K: WideKey, B: Backend>(keys: &[K], options: Options) -> Result<Vec<u32>, Error> {
    B::global()?.argsort_wide_with(keys, options)
}

/// Sorts each segment of `keys` by itself on backend `B`, ascending and stable.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{sort_segments, RayonBackend};
/// let mut rows = [3, 1, 2, /**/ 9, 8];
/// sort_segments::<u32, RayonBackend>(&mut rows, &[0, 3, 5])?;
/// assert_eq!(rows, [1, 2, 3, 8, 9]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_segments`]. After an error, `keys` is as it was.
pub fn sort_segments<'a, K: Sortable, B: Backend>(keys: &mut [K], segments: impl Into<Segments<'a>>) -> Result<(), Error> {
    B::global()?.sort_segments(keys, segments)
}

/// Sorts each segment of `keys` separately, in the order of `options`, on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_segments_with`]. After an error, `keys` is as it was.
pub fn sort_segments_with<'a, K: Sortable, B: Backend>(
    keys: &mut [K],
    segments: impl Into<Segments<'a>>,
    options: Options,
) -> Result<(), Error> {
    B::global()?.sort_segments_with(keys, segments, options)
}

/// Sorts each segment of `keys` by itself on backend `B`, ascending and stable, and moves each value with its key.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_pairs_segments`]; on an error, both slices stay as they were.
pub fn sort_pairs_segments<'a, K: Sortable, V: Pod, B: Backend>(
    keys: &mut [K],
    values: &mut [V],
    segments: impl Into<Segments<'a>>,
) -> Result<(), Error> {
    B::global()?.sort_pairs_segments(keys, values, segments)
}

/// Sorts each segment of `keys` separately, in the order of `options`, on backend `B`, and moves each value with its key.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::sort_pairs_segments_with`]; on an error, both slices stay as they were.
pub fn sort_pairs_segments_with<'a, K: Sortable, V: Pod, B: Backend>(
    keys: &mut [K],
    values: &mut [V],
    segments: impl Into<Segments<'a>>,
    options: Options,
) -> Result<(), Error> {
    B::global()?.sort_pairs_segments_with(keys, values, segments, options)
}

/// Returns the permutation that sorts each segment of `keys` by itself, ascending, made on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::argsort_segments`].
pub fn argsort_segments<'a, K: Sortable, B: Backend>(keys: &[K], segments: impl Into<Segments<'a>>) -> Result<Vec<u32>, Error> {
    B::global()?.argsort_segments(keys, segments)
}

/// Returns the permutation that sorts each segment of `keys` separately, in the order of `options`, made on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::argsort_segments_with`].
pub fn argsort_segments_with<'a, K: Sortable, B: Backend>(
    keys: &[K],
    segments: impl Into<Segments<'a>>,
    options: Options,
) -> Result<Vec<u32>, Error> {
    B::global()?.argsort_segments_with(keys, segments, options)
}

/// Returns the `k` largest keys and their indices, largest first, equal keys by lowest index, selected on backend `B`.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{top_k, RayonBackend};
/// let best = top_k::<f32, RayonBackend>(&[0.1, 0.9, 0.4, 0.9], 2)?;
/// assert_eq!((best.keys, best.indices), (vec![0.9, 0.9], vec![1, 3]));
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::top_k`].
pub fn top_k<K: Sortable, B: Backend>(keys: &[K], k: usize) -> Result<TopK<K>, Error> {
    B::global()?.top_k(keys, k)
}

/// Returns the `k` smallest keys and their indices, smallest first, equal keys by lowest index, selected on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::bottom_k`].
pub fn bottom_k<K: Sortable, B: Backend>(keys: &[K], k: usize) -> Result<TopK<K>, Error> {
    B::global()?.bottom_k(keys, k)
}

/// Returns the first `k` keys of the stable sort by `options`, and their indices, selected on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::top_k_with`].
pub fn top_k_with<K: Sortable, B: Backend>(keys: &[K], k: usize, options: Options) -> Result<TopK<K>, Error> {
    B::global()?.top_k_with(keys, k, options)
}

/// Returns the `k` largest keys of each segment and their indices, largest first, equal keys by lowest index, selected on backend `B`. A
/// segment of fewer than `k` keys gives all of them. Indices count from the start of `keys`.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{top_k_segments, RayonBackend};
/// let best = top_k_segments::<u32, RayonBackend>(&[3, 1, 2, /**/ 9, /**/ 5, 5, 6], 2, &[0, 3, 4, 7])?;
/// assert_eq!((best.keys, best.indices), (vec![3, 2, /**/ 9, /**/ 6, 5], vec![0, 2, /**/ 3, /**/ 6, 4]));
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::top_k_segments`].
pub fn top_k_segments<'a, K: Sortable, B: Backend>(
    keys: &[K],
    k: usize,
    segments: impl Into<Segments<'a>>,
) -> Result<TopK<K>, Error> {
    B::global()?.top_k_segments(keys, k, segments)
}

/// Returns the `k` smallest keys of each segment and their indices, smallest first, equal keys by lowest index, selected on backend `B`. A
/// segment of fewer than `k` keys gives all of them. Indices count from the start of `keys`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::bottom_k_segments`].
pub fn bottom_k_segments<'a, K: Sortable, B: Backend>(
    keys: &[K],
    k: usize,
    segments: impl Into<Segments<'a>>,
) -> Result<TopK<K>, Error> {
    B::global()?.bottom_k_segments(keys, k, segments)
}

/// Returns the first `k` keys of the stable sort of each segment by `options`, and their indices, selected on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::top_k_segments_with`].
pub fn top_k_segments_with<'a, K: Sortable, B: Backend>(
    keys: &[K],
    k: usize,
    segments: impl Into<Segments<'a>>,
    options: Options,
) -> Result<TopK<K>, Error> {
    B::global()?.top_k_segments_with(keys, k, segments, options)
}

/// Moves the `k` smallest keys to the start of `keys`, in ascending order, on backend `B`. The other keys follow in any order.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{partial_sort, RayonBackend};
/// let mut keys = [5, 1, 4, 2, 3];
/// partial_sort::<u32, RayonBackend>(&mut keys, 2)?;
/// assert_eq!(keys[..2], [1, 2]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::partial_sort`]. After an error, `keys` is as it was.
pub fn partial_sort<K: Sortable, B: Backend>(keys: &mut [K], k: usize) -> Result<(), Error> {
    B::global()?.partial_sort(keys, k)
}

/// Puts the `k` keys that come first in the stable order of `options` at the start of `keys`, sorted, on backend `B`. The other keys follow in any
/// order.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::partial_sort_with`]. After an error, `keys` is as it was.
pub fn partial_sort_with<K: Sortable, B: Backend>(keys: &mut [K], k: usize, options: Options) -> Result<(), Error> {
    B::global()?.partial_sort_with(keys, k, options)
}

/// Moves the `k` smallest keys of each segment to its start, in ascending order, on backend `B`. The other keys of the segment follow in any order.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::partial_sort_segments`]. After an error, `keys` is as it was.
pub fn partial_sort_segments<'a, K: Sortable, B: Backend>(
    keys: &mut [K],
    k: usize,
    segments: impl Into<Segments<'a>>,
) -> Result<(), Error> {
    B::global()?.partial_sort_segments(keys, k, segments)
}

/// In each segment, puts the `k` keys that come first in the stable order of `options` at the start of the segment, sorted, on backend `B`. The other
/// keys of the segment follow in any order.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::partial_sort_segments_with`]. After an error, `keys` is as it was.
pub fn partial_sort_segments_with<'a, K: Sortable, B: Backend>(
    keys: &mut [K],
    k: usize,
    segments: impl Into<Segments<'a>>,
    options: Options,
) -> Result<(), Error> {
    B::global()?.partial_sort_segments_with(keys, k, segments, options)
}

/// Puts the key that an ascending sort would put at position `n` there, on backend `B`. No key before it is greater, and no key behind it is smaller.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{select_nth, RayonBackend};
/// let mut keys = [5.0, 1.0, 4.0, 2.0, 3.0];
/// select_nth::<f32, RayonBackend>(&mut keys, 2)?;
/// assert_eq!(keys[2], 3.0); // the median
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::select_nth`]. After an error, `keys` is as it was.
pub fn select_nth<K: Sortable, B: Backend>(keys: &mut [K], n: usize) -> Result<(), Error> {
    B::global()?.select_nth(keys, n)
}

/// Puts the key that a stable sort by `options` would put at position `n` there, on backend `B`. No key before it sorts after it, and no key behind it
/// sorts before it.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::select_nth_with`]. After an error, `keys` is as it was.
pub fn select_nth_with<K: Sortable, B: Backend>(keys: &mut [K], n: usize, options: Options) -> Result<(), Error> {
    B::global()?.select_nth_with(keys, n, options)
}

/// Does in each segment what [`select_nth`] does, on backend `B`; `n` counts from the start of the segment. A segment of `n` keys or fewer has no
/// such key; its keys may change their order.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::select_nth_segments`]. After an error, `keys` is as it was.
pub fn select_nth_segments<'a, K: Sortable, B: Backend>(
    keys: &mut [K],
    n: usize,
    segments: impl Into<Segments<'a>>,
) -> Result<(), Error> {
    B::global()?.select_nth_segments(keys, n, segments)
}

/// Does in each segment what [`select_nth_with`] does, on backend `B`; else as [`select_nth_segments`].
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::select_nth_segments_with`]. After an error, `keys` is as it was.
pub fn select_nth_segments_with<'a, K: Sortable, B: Backend>(
    keys: &mut [K],
    n: usize,
    segments: impl Into<Segments<'a>>,
    options: Options,
) -> Result<(), Error> {
    B::global()?.select_nth_segments_with(keys, n, segments, options)
}

/// Finds the runs of equal neighboring keys on backend `B`. In sorted keys, each run has all keys of one value.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{runs, RayonBackend};
/// let keys = [2, 2, 5, 9, 9, 9];
/// let runs = runs::<u32, RayonBackend>(&keys)?;
/// assert_eq!(runs.offsets, [0, 2, 3, 6]);
/// assert_eq!(runs.unique(&keys), [2, 5, 9]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::runs`].
pub fn runs<K: Sortable, B: Backend>(keys: &[K]) -> Result<Runs, Error> {
    B::global()?.runs(keys)
}

/// Finds the runs of neighboring keys that are equal in the bits that `options` name, on backend `B`.
///
/// # Errors
/// The errors of opening `B`, and of [`Sort::runs_with`].
pub fn runs_with<K: Sortable, B: Backend>(keys: &[K], options: Options) -> Result<Runs, Error> {
    B::global()?.runs_with(keys, options)
}
