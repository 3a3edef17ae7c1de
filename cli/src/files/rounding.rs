//! Numbers in text that a float type cannot hold: those that it rounds, and those that it reads as infinity.

use crate::dtype::Key;

/// Whether a number is too large for a float type, which reads it as infinity.
pub(crate) fn overflows<K: Key>(key: K, field: &str) -> bool {
    key.float().is_some_and(f64::is_infinite) && field.contains(|char: char| char.is_ascii_digit())
}

/// Whether a field is an integer that a float type reads as another one. There may be zeros after a decimal point.
pub(crate) fn is_rounded<K: Key>(key: K, field: &str) -> bool {
    let Some(float) = key.float().filter(|_| field.len() > K::EXACT_DIGITS) else { return false };
    let (integer, fraction) = field.trim_start_matches(['+', '-']).split_once('.').unwrap_or((field, ""));
    let digits = integer.trim_start_matches(['+', '-', '0']);
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit()) && fraction.bytes().all(|byte| byte == b'0');
    // The formatter writes every digit of a float.
    is_integer && format!("{:.0}", float.abs()).trim_start_matches('0') != digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn integers_that_a_float_rounds_are_found() {
        fn rounds<K: Key>(field: &str) -> bool {
            is_rounded(K::from_str(field).unwrap_or_else(|_| panic!("{field} is a number")), field)
        }
        for exact in ["9007199254740992", "-9007199254740992", "+0009007199254740994", "0", "-0", "1e23", "0.1", "NaN", "inf"] {
            assert!(!rounds::<f64>(exact), "{exact}");
        }
        for rounded in ["9007199254740993", "-9007199254740993", "+09007199254740993.00", "100000000000000000000000000000000001"]
        {
            assert!(rounds::<f64>(rounded), "{rounded}");
        }
        assert!(
            !rounds::<f64>("1000000000000000000000") && rounds::<f64>("100000000000000000000000"),
            "10^22 is the last exact power"
        );
        assert!(!rounds::<f32>("16777216") && rounds::<f32>("16777217"));
        assert!(!rounds::<f16>("2048") && rounds::<f16>("2049"));
        assert!(!rounds::<bf16>("256") && rounds::<bf16>("257"));
        assert!(!rounds::<i64>("9007199254740993"));
    }

    #[test]
    fn numbers_that_become_infinite_are_found() {
        for field in ["inf", "-Infinity", "1e308"] {
            assert!(!overflows(field.parse::<f64>().expect("a number"), field), "{field}");
        }
        assert!(overflows(f64::INFINITY, "1e309") && overflows(f16::INFINITY, "65536") && overflows(f64::NEG_INFINITY, "-1e999"));
    }
}
