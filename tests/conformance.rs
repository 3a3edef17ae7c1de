//! The conformance suite on every backend. One line enters a backend; `--full` runs all cases.

use polysort::{Backend, RayonBackend};
use polysort_kit::Suite;

fn main() {
    let mut suite = Suite::from_args();
    suite.enter("rayon, 1 thread", || RayonBackend::with_threads(1));
    suite.enter("rayon, 2 threads", || RayonBackend::with_threads(2));
    suite.enter("std", polysort_kit::StdBackend::open);
    suite.run();
}
