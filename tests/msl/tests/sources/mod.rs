//! Runs tests with the kernels of each source.

/// Defines two tests for each function: with the native kernels, and with those that naga translates. The second is left to `scripts/test.sh --full`:
/// compiling kernels takes most of the time, and the conformance suite runs translated kernels too.
#[macro_export]
macro_rules! each_source {
    ($($test:ident)*) => {
        mod naga {
            $(
                #[test]
                #[ignore = "scripts/test.sh --full runs this"]
                fn $test() {
                    super::$test(polysort_msl::Source::NAGA_ROLLED);
                }
            )*
        }

        mod native {
            $(#[test] fn $test() { super::$test(polysort_msl::Source::NATIVE); })*
        }
    };
}
