//! Arrow's fixed-width values as ordered bits, in fields of up to 64.

use crate::field::{Bits, ByValue};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, i256};
use half::f16;
use polysort_core::{Backend, Error, Options, Sort, Sortable};

/// A value of an arrow array of fixed width.
pub(crate) trait Native: Copy + Sync {
    /// The fields of the values, most significant first.
    fn fields(values: &[Self]) -> Vec<Box<dyn Bits + '_>>;

    /// Sorts values in place. `None` if polysort has no key of this type.
    fn sort<B: Backend>(_backend: &B, _values: &mut [Self], _options: Options) -> Option<Result<(), Error>> {
        None
    }
}

fn field<'a, T: Copy + Sync>(values: &'a [T], bits: impl Fn(T) -> u64 + Sync + 'a) -> Box<dyn Bits + 'a> {
    Box::new(ByValue { values, bits })
}

/// Types that are one field, and keys of polysort.
macro_rules! one_field {
    ($($native:ty)*) => {$(
        impl Native for $native {
            fn fields(values: &[Self]) -> Vec<Box<dyn Bits + '_>> {
                vec![field(values, |value| u64::from(Sortable::to_bits(value)))]
            }

            fn sort<B: Backend>(backend: &B, values: &mut [Self], options: Options) -> Option<Result<(), Error>> {
                Some(backend.sort_with(values, options))
            }
        }
    )*};
}
one_field!(i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64);

impl Native for i128 {
    fn fields(values: &[Self]) -> Vec<Box<dyn Bits + '_>> {
        vec![field(values, |value| (Sortable::to_bits(value) >> 64) as u64), field(values, |value| value as u64)]
    }

    fn sort<B: Backend>(backend: &B, values: &mut [Self], options: Options) -> Option<Result<(), Error>> {
        Some(backend.sort_with(values, options))
    }
}

impl Native for i256 {
    fn fields(values: &[Self]) -> Vec<Box<dyn Bits + '_>> {
        vec![
            field(values, |value| (Sortable::to_bits(value.to_parts().1) >> 64) as u64),
            field(values, |value| value.to_parts().1 as u64),
            field(values, |value| (value.to_parts().0 >> 64) as u64),
            field(values, |value| value.to_parts().0 as u64),
        ]
    }
}

impl Native for IntervalDayTime {
    fn fields(values: &[Self]) -> Vec<Box<dyn Bits + '_>> {
        vec![
            field(values, |value| u64::from(Sortable::to_bits(value.days))),
            field(values, |value| u64::from(Sortable::to_bits(value.milliseconds))),
        ]
    }
}

impl Native for IntervalMonthDayNano {
    fn fields(values: &[Self]) -> Vec<Box<dyn Bits + '_>> {
        vec![
            field(values, |value| u64::from(Sortable::to_bits(value.months))),
            field(values, |value| u64::from(Sortable::to_bits(value.days))),
            field(values, |value| Sortable::to_bits(value.nanoseconds)),
        ]
    }
}
