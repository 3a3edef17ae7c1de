//! Compiles the kernels of a plan at the same time.

use crate::gpu::Gpu;
use polysort_core::Error;
use polysort_shaders::plan::SortPlan;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, ScopedJoinHandle};

impl Gpu {
    /// Compiles the needed kernels of a plan that are not compiled yet, if there are several, on as many threads as the host has
    /// cores.
    ///
    /// # Errors
    /// The error of one of the kernels.
    pub(crate) fn compile_all(&self, plan: &SortPlan, native: bool) -> Result<(), Error> {
        let missing = self.pipelines.missing(plan.needed_commands().map(|command| command.variant), native);
        if missing.len() < 2 {
            // The launch compiles the kernel that is missing. Most sorts find all of theirs compiled, and ask for no cores.
            return Ok(());
        }
        let next = AtomicUsize::new(0);
        let compile = || {
            while let Some(variant) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.pipeline(variant, native)?;
            }
            Ok(())
        };
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        std::thread::scope(|scope| {
            // This thread compiles too. If no other thread starts, it compiles all of them.
            let others = 1..cores.min(missing.len());
            let others: Vec<_> = others.filter_map(|_| Builder::new().spawn_scoped(scope, compile).ok()).collect();
            let own = compile();
            let join = |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
            others.into_iter().map(join).fold(own, Result::and)
        })
    }
}
