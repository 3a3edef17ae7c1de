//! The conformance suite on the CPU and on `Auto`. One line enters a backend; `--full` runs all cases.

#[cfg(feature = "vector")]
use polysort::{AnyBackend, Fallback};
use polysort::{Auto, Backend, RayonBackend};
use polysort_kit::{Plan, Suite, is_thorough};

fn main() {
    let mut suite = Suite::from_args();
    let full = suite.is_full();
    let plan = |thorough, quick| {
        let longest = match (full, is_thorough()) {
            (true, _) => 3_000_000,
            (false, true) => thorough,
            (false, false) => quick,
        };
        Plan::up_to(suite.longest(longest), full)
    };
    // One thread gets shorter inputs: it does not divide them into tasks.
    let (of_one, of_two) = (plan(100_000, 40_000), plan(300_000, 150_000));
    suite.enter_with("rayon, 1 thread", of_one, || RayonBackend::with_threads(1));
    suite.enter_with("rayon, 2 threads", of_two, || RayonBackend::with_threads(2));
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
