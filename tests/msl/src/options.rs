//! The options of a compilation.

/// The options of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// `__METAL_VERSION__`: 310 is Metal 3.1. Fences exist from 320 on.
    pub metal_version: u32,
    /// Whether the compiler may assume that numbers are finite, and reorder sums. This is the default of Metal's compiler.
    pub fast_math: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self::metal(310)
    }
}

impl Options {
    /// Returns options with this `__METAL_VERSION__`.
    pub const fn metal(metal_version: u32) -> Self {
        Self { metal_version, fast_math: false }
    }

    /// Returns these options with or without fast math.
    #[must_use]
    pub const fn fast_math(self, fast_math: bool) -> Self {
        Self { fast_math, ..self }
    }
}
