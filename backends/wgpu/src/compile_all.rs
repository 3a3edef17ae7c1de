//! Compiles the kernels of a call on several threads.

use crate::compile::KernelKey;
use crate::gpu::Gpu;
use crate::wait::Waiting;
use polysort_core::Error;
use polysort_shaders::plan::{MergePlan, SortPlan};
use std::sync::Arc;

/// Returns the kernels of a sort.
pub(crate) fn kernels(plan: &SortPlan, native: bool) -> impl Iterator<Item = KernelKey> {
    plan.needed_commands().map(move |command| (command.variant, native))
}

/// Returns the kernels of a merge. None of them exists in a device's own language.
pub(crate) fn merge_kernels(plan: &MergePlan) -> impl Iterator<Item = KernelKey> {
    plan.commands().into_iter().map(|command| (command.variant, false))
}

impl Gpu {
    /// Compiles those of `kernels` that are not compiled yet, on up to as many threads as the host has cores. The thread of
    /// a blocking call is one of them; the thread that polls an async call is not.
    ///
    /// In a browser, this does nothing: there, the launches create kernels, which the browser compiles on its own threads.
    ///
    /// # Errors
    /// The error of one of the kernels.
    #[cfg_attr(target_arch = "wasm32", allow(clippy::unused_async, reason = "on other systems it waits"))]
    pub(crate) async fn compile_all(
        self: &Arc<Self>,
        waiting: Waiting,
        kernels: impl IntoIterator<Item = KernelKey>,
    ) -> Result<(), Error> {
        #[cfg(target_arch = "wasm32")]
        drop((waiting, kernels));
        #[cfg(not(target_arch = "wasm32"))]
        {
            let missing = self.pipelines.missing(kernels);
            // Most calls find all of their kernels compiled.
            if !missing.is_empty() {
                let gpu = self.clone();
                return waiting.run(move || threads::compile(&gpu, &missing)).await;
            }
        }
        Ok(())
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod threads {
    use crate::compile::KernelKey;
    use crate::gpu::Gpu;
    use polysort_core::Error;
    use std::num::NonZero;
    use std::panic::resume_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{Builder, ScopedJoinHandle};

    /// Compiles kernels on this thread, and on others if there are several kernels and cores.
    pub(super) fn compile(gpu: &Gpu, missing: &[KernelKey]) -> Result<(), Error> {
        let next = AtomicUsize::new(0);
        let compile = || {
            while let Some((variant, native)) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                gpu.pipeline(variant, *native)?;
            }
            Ok(())
        };
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        std::thread::scope(|scope| {
            // If no other thread starts, this thread compiles all of them.
            let others = 1..cores.min(missing.len());
            let others: Vec<_> = others.filter_map(|_| Builder::new().spawn_scoped(scope, compile).ok()).collect();
            let own = compile();
            let join = |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
            others.into_iter().map(join).fold(own, Result::and)
        })
    }
}
