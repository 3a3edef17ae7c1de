//! Tests by the kernels of each source.

/// A test of each function, by naga's kernels and by our own.
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
