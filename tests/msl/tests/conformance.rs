//! The conformance suite on kernels in Metal's language.

use polysort_kit::{Plan, Suite};
use polysort_msl::{Config, MslBackend, Source};

fn main() {
    let mut suite = Suite::from_args();
    let plan = Plan::up_to(suite.longest(3000), false).segmented_up_to(300).sampled(if suite.is_full() { 40 } else { 6 }, 1);
    suite.enter_with("msl, naga's", plan, || MslBackend::open_with(Config::of(Source::NAGA_ROLLED)));
    suite.run();
}
