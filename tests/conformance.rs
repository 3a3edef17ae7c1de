//! The conformance suite on every backend. One line enters a backend; `--full` runs all cases.

use polysort::{Auto, Backend, RayonBackend};
use polysort_kit::{Plan, Suite};

fn main() {
    let mut suite = Suite::from_args();
    suite.enter("rayon, 1 thread", || RayonBackend::with_threads(1));
    suite.enter("rayon, 2 threads", || RayonBackend::with_threads(2));
    suite.enter_vectors("rayon, 1 thread", || RayonBackend::with_threads(1));
    suite.enter_vectors("rayon, 2 threads", || RayonBackend::with_threads(2));
    // It chooses among the others, each of them an `AnyBackend`: what it passes on is soon seen.
    suite.enter_with("auto", Plan::up_to(1000, false), Auto::open);
    suite.run();
}
