//! Runs tests with the kernels of each source.

/// Defines two tests for each function: with naga's kernels and with the native ones.
#[macro_export]
macro_rules! each_source {
    ($($test:ident)*) => {
        mod naga {
            $(#[test] fn $test() { super::$test(polysort_msl::Source::NAGA_ROLLED); })*
        }

        mod native {
            $(#[test] fn $test() { super::$test(polysort_msl::Source::NATIVE); })*
        }
    };
}
