//! The conformance suite on the CPU and on `Auto`. One line enters a backend; `--full` runs all cases.

#[cfg(feature = "vector")]
use polysort::{AnyBackend, Fallback};
use polysort::{Auto, Backend, RayonBackend};
use polysort_kit::{Plan, Suite, is_thorough};

fn main() {
    let mut suite = Suite::from_args();
    // Shorter inputs than for two threads: one thread does not divide an input into tasks.
    let full = suite.is_full();
    let longest = suite.longest(match full {
        true => 3_000_000,
        false if is_thorough() => 100_000,
        false => 40_000,
    });
    suite.enter_with("rayon, 1 thread", Plan::up_to(longest, full), || RayonBackend::with_threads(1));
    suite.enter("rayon, 2 threads", || RayonBackend::with_threads(2));
    #[cfg(feature = "vector")]
    {
        for (name, threads) in [("rayon, 1 thread", 1), ("rayon, 2 threads", 2)] {
            suite.enter_vectors(name, move || RayonBackend::with_threads(threads));
        }
        suite.enter_vectors("any", || AnyBackend::by_name("rayon"));
        suite.enter_vectors("fallback", Fallback::<RayonBackend, RayonBackend>::open);
        suite.enter_vectors("auto", Auto::open);
    }
    // `Auto` forwards each call to another backend, an `AnyBackend`. Short inputs show whether it forwards them rightly.
    suite.enter_with("auto", Plan::up_to(1000, false), Auto::open);
    suite.run();
}
