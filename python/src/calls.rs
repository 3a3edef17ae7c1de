//! The sorts, on any backend.

use crate::arrays::{Key, options, read, with_key, with_type, write};
use crate::backend::{Chosen, chosen, raised};
use numpy::{Element, PyArray1, PyReadonlyArray1, PyUntypedArray};
use polysort::{Options, Sort};
use pyo3::prelude::*;

/// Sorts `keys` in place.
#[pyfunction]
pub(crate) fn sort(py: Python<'_>, keys: &Bound<'_, PyUntypedArray>, descending: bool, backend: &str) -> PyResult<()> {
    fn run<K: Key>(py: Python<'_>, keys: &Bound<'_, PyUntypedArray>, options: Options, backend: &Chosen) -> PyResult<()> {
        let mut keys = write::<K>(keys)?;
        let keys = keys.as_slice_mut()?;
        py.detach(|| backend.sort_with(keys, options)).map_err(raised)
    }
    let backend = chosen(py, backend)?;
    with_key!(keys, K => run::<K>(py, keys, options(descending), &backend))
}

/// Sorts `keys` into `out`.
#[pyfunction]
pub(crate) fn sort_into(
    py: Python<'_>,
    keys: &Bound<'_, PyUntypedArray>,
    out: &Bound<'_, PyUntypedArray>,
    descending: bool,
    backend: &str,
) -> PyResult<()> {
    fn run<K: Key>(
        py: Python<'_>,
        keys: &Bound<'_, PyUntypedArray>,
        out: &Bound<'_, PyUntypedArray>,
        options: Options,
        backend: &Chosen,
    ) -> PyResult<()> {
        let (keys, mut out) = (read::<K>(keys)?, write::<K>(out)?);
        let (keys, out) = (keys.as_slice()?, out.as_slice_mut()?);
        py.detach(|| backend.sort_into_with(keys, out, options)).map_err(raised)
    }
    let backend = chosen(py, backend)?;
    with_key!(keys, K => run::<K>(py, keys, out, options(descending), &backend))
}

/// Returns the permutation that sorts `keys`.
#[pyfunction]
pub(crate) fn argsort<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyUntypedArray>,
    descending: bool,
    backend: &str,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    fn run<K: Key>(py: Python<'_>, keys: &Bound<'_, PyUntypedArray>, options: Options, backend: &Chosen) -> PyResult<Vec<u32>> {
        let keys = read::<K>(keys)?;
        let keys = keys.as_slice()?;
        py.detach(|| backend.argsort_with(keys, options)).map_err(raised)
    }
    let backend = chosen(py, backend)?;
    let indices = with_key!(keys, K => run::<K>(py, keys, options(descending), &backend))?;
    Ok(PyArray1::from_vec(py, indices))
}

/// Sorts `keys` in place and moves the values with them. The values are words; each value is one word, or two if `are_pairs`.
#[pyfunction]
pub(crate) fn sort_pairs(
    py: Python<'_>,
    keys: &Bound<'_, PyUntypedArray>,
    values: &Bound<'_, PyUntypedArray>,
    are_pairs: bool,
    descending: bool,
    backend: &str,
) -> PyResult<()> {
    fn run<K: Key, V: Element + bytemuck::Pod + Sync>(
        py: Python<'_>,
        (keys, values): (&Bound<'_, PyUntypedArray>, &Bound<'_, PyUntypedArray>),
        are_pairs: bool,
        options: Options,
        backend: &Chosen,
    ) -> PyResult<()> {
        let (mut keys, mut values) = (write::<K>(keys)?, write::<V>(values)?);
        let (keys, values) = (keys.as_slice_mut()?, values.as_slice_mut()?);
        py.detach(|| {
            if are_pairs {
                backend.sort_pairs_with(keys, values.as_chunks_mut::<2>().0, options)
            } else {
                backend.sort_pairs_with(keys, values, options)
            }
        })
        .map_err(raised)
    }
    let backend = chosen(py, backend)?;
    let pairs = (keys, values);
    with_key!(keys, K => with_type!(values, V of [u8 u16 u32 u64] => run::<K, V>(py, pairs, are_pairs, options(descending), &backend)))
}

/// Returns the first `k` keys of the sorted order, and their indices.
#[pyfunction]
pub(crate) fn top_k<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyUntypedArray>,
    k: usize,
    descending: bool,
    backend: &str,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<u32>>)> {
    fn run<'py, K: Key>(
        py: Python<'py>,
        keys: &Bound<'py, PyUntypedArray>,
        k: usize,
        options: Options,
        backend: &Chosen,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<u32>>)> {
        let keys = read::<K>(keys)?;
        let keys = keys.as_slice()?;
        let top = py.detach(|| backend.top_k_with(keys, k, options)).map_err(raised)?;
        Ok((PyArray1::from_vec(py, top.keys).into_any(), PyArray1::from_vec(py, top.indices)))
    }
    let backend = chosen(py, backend)?;
    with_key!(keys, K => run::<K>(py, keys, k, options(descending), &backend))
}

/// Sorts each segment of `keys` in place. Segment `i` is `offsets[i]..offsets[i + 1]`.
#[pyfunction]
pub(crate) fn sort_segments(
    py: Python<'_>,
    keys: &Bound<'_, PyUntypedArray>,
    offsets: PyReadonlyArray1<'_, u64>,
    descending: bool,
    backend: &str,
) -> PyResult<()> {
    fn run<K: Key>(
        py: Python<'_>,
        keys: &Bound<'_, PyUntypedArray>,
        offsets: &[usize],
        options: Options,
        backend: &Chosen,
    ) -> PyResult<()> {
        let mut keys = write::<K>(keys)?;
        let keys = keys.as_slice_mut()?;
        py.detach(|| backend.sort_segments_with(keys, offsets, options)).map_err(raised)
    }
    let backend = chosen(py, backend)?;
    // An offset that no index can be is behind the last key, too.
    let offsets: Vec<usize> = offsets.as_slice()?.iter().map(|&offset| usize::try_from(offset).unwrap_or(usize::MAX)).collect();
    with_key!(keys, K => run::<K>(py, keys, &offsets, options(descending), &backend))
}
