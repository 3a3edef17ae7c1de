//! The backends that are measured.

use super::case::Algorithm;
use crate::backend::open_gpu;
use crate::message::note;
use anyhow::Result;
use polysort::{AnyBackend, Error};

/// Opens the named backends, those on a GPU once for each algorithm. Without names it opens all that it can, and notes why others do not open.
pub(crate) fn open_backends(
    names: &[String],
    adapter: Option<&str>,
    algorithms: &[Algorithm],
) -> Result<Vec<(AnyBackend, Algorithm)>> {
    let all = names.is_empty();
    let names: Vec<&str> = if all { AnyBackend::NAMES.to_vec() } else { names.iter().map(String::as_str).collect() };
    let mut opened = vec![];
    for name in names {
        let is_automatic = algorithms.is_empty() || !AnyBackend::GPU_NAMES.contains(&name);
        let algorithms = if is_automatic { &[Algorithm::Auto] } else { algorithms };
        for &algorithm in algorithms {
            match open(name, adapter, algorithm) {
                Ok(backend) => opened.push((backend, algorithm)),
                Err(error) if all => {
                    note(&format!("{name} is not measured: {error}"));
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(opened)
}

/// `adapter` is for the backends on a GPU.
fn open(name: &str, adapter: Option<&str>, algorithm: Algorithm) -> Result<AnyBackend, Error> {
    let adapter = adapter.filter(|_| AnyBackend::GPU_NAMES.contains(&name));
    match algorithm.forced() {
        None if adapter.is_none() => AnyBackend::by_name(name),
        algorithm => open_gpu(name, adapter, |config| config.algorithm = algorithm),
    }
}
