//! The types of keys in files. `with_key!` turns a dtype, which is known at run time, into a key type.

use bytemuck::Pod;
use clap::ValueEnum;
use core::cmp::Ordering;
use core::fmt::Debug;
use core::str::FromStr;
use half::{bf16, f16};
use polysort::Sortable;

/// A key that files hold.
pub(crate) trait Key: Sortable + Pod + Debug + FromStr + Send + Sync + 'static {
    /// NaN, for types that have it.
    const NAN: Option<Self>;

    /// Every integer with at most this many decimal digits is a value of the type. (An integer type refuses what it cannot hold.)
    const EXACT_DIGITS: usize;

    /// Returns the key whose memory is the low bits of `raw`.
    fn from_raw(raw: u128) -> Self;

    /// Returns the value of a float, exactly; none for an integer.
    fn float(self) -> Option<f64>;

    /// Compares two keys by the order that `std` and `half` define, without code of polysort.
    fn compare(&self, other: &Self) -> Ordering;
}

macro_rules! integers {
    ($($key:ident)*) => {$(
        impl Key for $key {
            const NAN: Option<Self> = None;
            const EXACT_DIGITS: usize = usize::MAX;

            fn from_raw(raw: u128) -> Self {
                raw as $key
            }

            fn float(self) -> Option<f64> {
                None
            }

            #[inline]
            fn compare(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

macro_rules! floats {
    ($($key:ident: $bits:ident;)*) => {$(
        impl Key for $key {
            const NAN: Option<Self> = Some($key::NAN);
            const EXACT_DIGITS: usize = $key::DIGITS as usize;

            fn from_raw(raw: u128) -> Self {
                $key::from_bits(raw as $bits)
            }

            fn float(self) -> Option<f64> {
                Some(self.into())
            }

            #[inline]
            fn compare(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }
        }
    )*};
}
floats! {
    f16: u16;
    bf16: u16;
    f32: u32;
    f64: u64;
}

/// Defines the enum of dtypes, and [`with_key!`], which maps each dtype to its type. (`$dollar` is a `$` for the inner macro.)
macro_rules! dtypes {
    ($dollar:tt $($variant:ident = $key:ty, $doc:literal $(, $value:meta)?;)*) => {
        /// A type of keys, as files and the command line name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
        pub(crate) enum Dtype {
            $(
                #[doc = $doc]
                $(#[$value])?
                $variant,
            )*
        }

        /// Evaluates an expression in which a name stands for the key type of a dtype: `with_key!(dtype, K => read::<K>())`.
        macro_rules! with_key {
            ($dollar dtype:expr, $dollar Key:ident => $dollar body:expr) => {
                match $dollar dtype {
                    $(
                        $crate::dtype::Dtype::$variant => {
                            type $dollar Key = $key;
                            $dollar body
                        }
                    )*
                }
            };
        }
        pub(crate) use with_key;
    };
}
dtypes! { $
    U8 = u8, "unsigned, 8 bits";
    U16 = u16, "unsigned, 16 bits";
    U32 = u32, "unsigned, 32 bits";
    U64 = u64, "unsigned, 64 bits";
    U128 = u128, "unsigned, 128 bits";
    I8 = i8, "signed, 8 bits";
    I16 = i16, "signed, 16 bits";
    I32 = i32, "signed, 32 bits";
    I64 = i64, "signed, 64 bits";
    I128 = i128, "signed, 128 bits";
    F16 = half::f16, "IEEE half precision";
    Bf16 = half::bf16, "bfloat16";
    F32 = f32, "IEEE single precision";
    F64 = f64, "IEEE double precision";
    // Only .npy files have this dtype. Each bool is sorted as its byte.
    Bool = u8, "numpy's bool, a byte that is 0 or 1", value(skip);
}

impl Dtype {
    /// Returns the name of the dtype: `f32`.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Returns the number of bytes of a key.
    pub(crate) fn size(self) -> usize {
        with_key!(self, K => size_of::<K>())
    }
}
