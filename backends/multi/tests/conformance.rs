//! The conformance suite on several devices of different kinds.

use polysort_core::{AnyOperation, Backend, DynBackend, Error, Limits, Spec, sorts_by_run};
use polysort_kit::{Plan, StdBackend, Suite};
use polysort_multi::{MultiBackend, Speeds};
use polysort_rayon::RayonBackend;

/// `std`'s sort, of at most so many elements.
#[derive(Clone)]
struct Short(u64);

impl Backend for Short {
    fn open() -> Result<Self, Error> {
        Ok(Self(500))
    }

    fn name(&self) -> String {
        format!("std, up to {} elements", self.0)
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_len = self.0;
        limits
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        polysort_core::with_word!(&operation, operation => self.limits().check("std", operation.keys().len(), 1))?;
        StdBackend.run(operation, spec)
    }
}

fn main() {
    let mut suite = Suite::from_args();
    let full = suite.is_full();
    let longest = suite.longest(if full { 1_000_000 } else { 40_000 });
    // Each check draws some of its cases: the devices pass all of them by themselves.
    let plan = |longest| if full { Plan::up_to(longest, true) } else { Plan::up_to(longest, false).sampled(12, 7) };
    suite.enter_with("pools of 1, 2 and 1 threads", plan(longest), || {
        let pools = [1, 2, 1].map(|threads| RayonBackend::with_threads(threads).map(DynBackend::new));
        let speeds = Speeds::new([3.0, 2.0, 1.0], f64::INFINITY);
        Ok(MultiBackend::new(pools.into_iter().collect::<Result<Vec<_>, _>>()?)?.with_speeds(speeds)?.least_part(5))
    });
    suite.enter_with("devices with limits", plan(3000), || {
        let devices = [DynBackend::new(Short(500)), DynBackend::new(RayonBackend::default()), DynBackend::new(Short(61))];
        Ok(MultiBackend::new(devices)?.least_part(1))
    });
    suite.run();
}
