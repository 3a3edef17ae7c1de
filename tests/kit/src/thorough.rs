//! How many of their cases tests take.

/// Whether tests of backends take all their cases: with the environment variable `POLYSORT_THOROUGH=1`. Otherwise they take as many as CI has time for.
#[doc(hidden)]
pub fn is_thorough() -> bool {
    std::env::var_os("POLYSORT_THOROUGH").is_some_and(|value| value == "1")
}

/// How far apart the cases are that a test takes: it takes every case if it is thorough (see [`is_thorough`]), else one in `quick`.
#[doc(hidden)]
pub fn step(quick: usize) -> usize {
    if is_thorough() { 1 } else { quick }
}
