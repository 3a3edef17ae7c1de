//! The key types of the targets.

use arbitrary::Arbitrary;

/// Defines [`KeyType`], and `with_key!`, which maps each of its values to a type of keys. (`$dollar` is a `$` for the inner macro.)
macro_rules! keys {
    ($dollar:tt $($variant:ident = $key:ty;)*) => {
        /// A type of keys.
        #[derive(Clone, Copy, Debug, Arbitrary)]
        pub enum KeyType {
            $(
                #[allow(missing_docs, reason = "the variant names its type")]
                $variant,
            )*
        }

        /// Evaluates an expression in which a name stands for a type of keys: `with_key!(key, K => run::<K>())`.
        #[macro_export]
        macro_rules! with_key {
            ($dollar key:expr, $dollar Key:ident => $dollar body:expr) => {
                match $dollar key {
                    $(
                        $crate::KeyType::$variant => {
                            type $dollar Key = $key;
                            $dollar body
                        }
                    )*
                }
            };
        }
    };
}
keys! { $
    U8 = u8;
    U16 = u16;
    U32 = u32;
    U64 = u64;
    U128 = u128;
    I32 = i32;
    I64 = i64;
    F16 = half::f16;
    F32 = f32;
    F64 = f64;
    Bool = bool;
    Char = char;
    Reversed = core::cmp::Reverse<f32>;
    Pair = (u16, i32);
    Optional = (Option<i8>, polysort_core::NoneLast<u16>);
    Custom = polysort_kit::Custom;
    Scored = polysort_kit::Scored;
    I8 = i8;
    I16 = i16;
    I128 = i128;
    Usize = usize;
    Bf16 = half::bf16;
}
