//! Kernels that do not compile, or that write nothing: another algorithm sorts, or the call is an error that loses nothing.

use crate::support::{config, ensure, failed};
use libtest_mimic::Failed;
use polysort_core::{Backend, Error, Options, Sort};
use polysort_fallback::Fallback;
use polysort_rayon::RayonBackend;
use polysort_shaders::manifest::Kernel;
use polysort_shaders::plan::Algorithm;
use polysort_wgpu::testing::{self, Flaw};
use polysort_wgpu::{SortBuffer, WgpuBackend};

/// A kernel that only one of the algorithms launches.
const SWEEP: &[Kernel] = &[Kernel::Onesweep];

/// Returns a new device whose kernels have the flaw.
fn flawed(flaw: Flaw, kernels: &'static [Kernel], algorithm: Option<Algorithm>) -> Result<WgpuBackend, Failed> {
    let mut config = config();
    config.algorithm = algorithm;
    let backend = WgpuBackend::open_with(config).map_err(failed)?;
    testing::set_flaw(&backend, flaw, kernels);
    Ok(backend)
}

fn keys() -> Vec<u32> {
    (0..30_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect()
}

/// Whether an error is the one of this flaw.
fn is_of(flaw: Flaw, error: &Error) -> bool {
    match flaw {
        Flaw::Refused => matches!(error, Error::Backend { .. }),
        Flaw::Idle => matches!(error, Error::SelfTest { .. }),
    }
}

/// Without OneSweep's kernel, reduce-then-scan sorts, but not if the caller requests OneSweep.
pub(crate) fn replaced() -> Result<(), Failed> {
    for flaw in [Flaw::Refused, Flaw::Idle] {
        let backend = flawed(flaw, SWEEP, None)?;
        for _ in 0..2 {
            let mut sorted = keys();
            backend.sort(&mut sorted).map_err(failed)?;
            ensure(sorted.is_sorted(), || format!("{flaw:?}: not sorted"))?;
        }
        let backend = flawed(flaw, SWEEP, Some(Algorithm::OneSweep))?;
        let mut untouched = keys();
        let result = backend.sort(&mut untouched);
        let is_right = result.as_ref().is_err_and(|error| is_of(flaw, error)) && untouched == keys();
        ensure(is_right, || format!("{flaw:?}, with OneSweep requested: {result:?}"))?;
    }
    Ok(())
}

/// Each operation is an error, twice, and its slices stay.
pub(crate) fn none() -> Result<(), Failed> {
    for flaw in [Flaw::Refused, Flaw::Idle] {
        let backend = flawed(flaw, &Kernel::ALL, None)?;
        let order: Vec<u32> = (0..30_000).collect();
        for _ in 0..2 {
            let (mut alone, mut paired, mut values, mut segmented) = (keys(), keys(), order.clone(), keys());
            let results = [
                ("sort", backend.sort(&mut alone)),
                ("sort_pairs", backend.sort_pairs(&mut paired, &mut values)),
                ("sort_segments", backend.sort_segments(&mut segmented, &[0, 5, 9000, 30_000])),
                ("argsort", backend.argsort(&keys()).map(drop)),
                ("top_k", backend.top_k(&keys(), 100).map(drop)),
                ("runs", backend.runs(&keys()).map(drop)),
            ];
            for (what, result) in results {
                ensure(result.as_ref().is_err_and(|error| is_of(flaw, error)), || format!("{flaw:?}, {what}: {result:?}"))?;
            }
            let untouched = [alone, paired, segmented].iter().all(|slice| *slice == keys()) && values == order;
            ensure(untouched, || format!("{flaw:?}: an error changed a slice"))?;
            let mut buffer = SortBuffer::from_slice(&backend, &keys()).map_err(failed)?;
            let result = backend.sort_buffer(&mut buffer, Options::ascending());
            ensure(result.as_ref().is_err_and(|error| is_of(flaw, error)), || format!("{flaw:?}, SortBuffer: {result:?}"))?;
            ensure(*buffer.read().map_err(failed)? == *keys(), || format!("{flaw:?}: an error changed a buffer"))?;
        }
    }
    Ok(())
}

pub(crate) fn fallback() -> Result<(), Failed> {
    for flaw in [Flaw::Refused, Flaw::Idle] {
        let backend = flawed(flaw, &Kernel::ALL, None)?;
        let both = Fallback::new(Ok(backend), RayonBackend::open().map_err(failed)?);
        let mut sorted = keys();
        both.sort(&mut sorted).map_err(failed)?;
        let report = both.report();
        let reason = report.last_reason.as_ref().is_some_and(|error| is_of(flaw, error));
        ensure(sorted.is_sorted() && report.fell_back == 1 && reason, || format!("{flaw:?}: {report:?}"))?;
    }
    Ok(())
}
