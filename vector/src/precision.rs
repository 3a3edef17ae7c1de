//! The formats of the numbers in a store.

/// The format in which a store keeps its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// Single precision, 4 bytes each: the numbers are kept as they are.
    #[default]
    F32,
    /// Half precision, 2 bytes each: the numbers are rounded to nearest, ties to even. A number whose absolute value is 65 520
    /// or more would round to infinity and is refused. Distances are computed in single precision.
    F16,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }

    /// The largest number of single precision that is finite in this one.
    pub fn largest(self) -> f32 {
        match self {
            Self::F32 => f32::MAX,
            // 65520 lies half way between the largest half, 65504, and the number after that. It rounds to infinity.
            Self::F16 => 65_520_f32.next_down(),
        }
    }
}
