//! Merges of sorted arrays, by the CPU.

use crate::arrays::{Key, options, read, with_key, write};
use crate::backend::{cpu, raised};
use numpy::PyUntypedArray;
use polysort::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Merges `runs`, arrays of one type that are sorted, into `out`.
#[pyfunction]
pub(crate) fn merge_into(
    py: Python<'_>,
    runs: Vec<Bound<'_, PyUntypedArray>>,
    out: &Bound<'_, PyUntypedArray>,
    descending: bool,
) -> PyResult<()> {
    fn run<K: Key>(
        py: Python<'_>,
        runs: &[Bound<'_, PyUntypedArray>],
        out: &Bound<'_, PyUntypedArray>,
        descending: bool,
    ) -> PyResult<()> {
        let runs = runs.iter().map(read::<K>).collect::<PyResult<Vec<_>>>()?;
        let runs = runs.iter().map(|run| Ok(run.as_slice()?)).collect::<PyResult<Vec<&[K]>>>()?;
        let mut out = write::<K>(out)?;
        let out = out.as_slice_mut()?;
        let options: Options = options(descending);
        py.detach(|| {
            for (number, keys) in runs.iter().enumerate() {
                if let Some(at) = first_descent(keys, descending) {
                    let order = if descending { "descending" } else { "ascending" };
                    return Err(PyValueError::new_err(format!(
                        "runs[{number}] is not sorted in {order} order: its key {} must come before its key {at}; sort it first",
                        at + 1
                    )));
                }
            }
            cpu().and_then(|cpu| cpu.merge_into_with(&runs, out, options)).map(drop).map_err(raised)
        })
    }
    with_key!(out, K => run::<K>(py, &runs, out, descending))
}

/// The index of the first key that sorts behind the next one.
fn first_descent<K: Key>(keys: &[K], descending: bool) -> Option<usize> {
    let is_descent = |pair: &[K; 2]| {
        let (first, second) = (pair[0].to_bits(), pair[1].to_bits());
        if descending { first < second } else { first > second }
    };
    // Whole chunks without an exit in between are vector code.
    const CHUNK: usize = 1024;
    (0..keys.len()).step_by(CHUNK).find_map(|start| {
        let chunk = &keys[start..keys.len().min(start + CHUNK + 1)];
        let pairs = || chunk.windows(2).map(|pair| is_descent(&[pair[0], pair[1]]));
        let has_descent = pairs().fold(false, |any, is_descent| any | is_descent);
        if has_descent { pairs().position(|is_descent| is_descent).map(|at| start + at) } else { None }
    })
}
