//! Every key type keeps its laws: all values of 8 and 16 bits, edges and a walk through the rest.

use half::{bf16, f16};
use polysort::laws::{check, check_masks};
use polysort_core::{Masks, NoneLast, Sortable, Word};
use std::cmp::Reverse;

/// Bits at the edges of a word and a few thousand spread over it.
fn words<W: Word>() -> Vec<W> {
    let edges = (0..W::BITS).flat_map(|bit| {
        let one = 1_u128 << bit;
        [one, one - 1, !one, !(one - 1), one | one >> 1]
    });
    // Steps by an odd constant visit the word's low bits evenly, whatever its size.
    let walk = (0..4000_u128).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    edges.chain(walk).map(W::truncate).collect()
}

macro_rules! primitive_laws {
    ($($key:ident: $compare:expr;)*) => {$(
        #[test]
        #[allow(non_snake_case, reason = "tests are named after their types")]
        fn $key() {
            type Bits = <$key as Sortable>::Bits;
            let raws: Vec<Bits> = if Bits::BITS <= 16 { (0..1_u128 << Bits::BITS).map(Word::truncate).collect() } else { words() };
            check_masks::<$key>(raws.iter().copied()).unwrap();
            let keys: Vec<$key> = raws.into_iter().map(bytemuck::cast).collect();
            check(&keys, $compare).unwrap();
        }
    )*};
}
primitive_laws! {
    u8: Ord::cmp; u16: Ord::cmp; u32: Ord::cmp; u64: Ord::cmp; u128: Ord::cmp; usize: Ord::cmp;
    i8: Ord::cmp; i16: Ord::cmp; i32: Ord::cmp; i64: Ord::cmp; i128: Ord::cmp; isize: Ord::cmp;
    f16: f16::total_cmp; bf16: bf16::total_cmp; f32: f32::total_cmp; f64: f64::total_cmp;
}

#[test]
fn masks_and_their_inverse_are_a_bijection_in_both_directions() {
    for masks in [Masks::UNSIGNED, Masks::signed(16), Masks::float(16)] {
        for masks in [masks, masks.reversed(16)] {
            let mut seen = vec![false; 1 << 16];
            for raw in 0..=u16::MAX {
                let ordered = masks.apply(raw);
                assert!(!std::mem::replace(&mut seen[usize::from(ordered)], true));
                assert_eq!(masks.invert(ordered), raw);
            }
        }
        assert_eq!(masks.reversed(16).reversed(16), masks);
    }
}

#[test]
fn mapped_keys() {
    check(&[false, true], Ord::cmp).unwrap();
    let chars: Vec<char> = ('\0'..=char::MAX).step_by(37).chain(['\u{d7ff}', '\u{e000}', char::MAX]).collect();
    check(&chars, Ord::cmp).unwrap();
    let reversed: Vec<Reverse<f32>> = words::<u32>().into_iter().map(|bits| Reverse(f32::from_bits(bits))).collect();
    check(&reversed, |a, b| b.0.total_cmp(&a.0)).unwrap();
    assert_eq!(<Reverse<char> as Sortable>::WIDTH, 21);
}

#[test]
fn optional_keys_have_none_first_or_last() {
    let numbers: Vec<i16> = (i16::MIN..=i16::MAX).step_by(97).chain([-1, 0, 1, i16::MAX]).collect();
    let some = numbers.iter().copied().map(Some);
    let first: Vec<Option<i16>> = some.clone().chain([None]).collect();
    check(&first, Ord::cmp).unwrap();
    let last: Vec<NoneLast<i16>> = first.iter().copied().map(NoneLast).collect();
    check(&last, Ord::cmp).unwrap();
    assert_eq!((last.iter().max(), last.iter().min()), (Some(&NoneLast(None)), Some(&NoneLast(Some(i16::MIN)))));
    assert_eq!(NoneLast::<f32>(None).partial_cmp(&NoneLast(Some(f32::NAN))), Some(std::cmp::Ordering::Greater));
    let keys = [(<Option<i16>>::WIDTH, 17), (<NoneLast<bool>>::WIDTH, 2), (<Option<u64>>::WIDTH, 65), (<Option<()>>::WIDTH, 1)];
    assert!(keys.iter().all(|(width, expected)| width == expected), "{keys:?}");

    // With the reverse inside, None stays where it is; with the reverse outside, it goes to the other end.
    let inside: Vec<NoneLast<Reverse<i16>>> = first.iter().map(|key| NoneLast(key.map(Reverse))).collect();
    check(&inside, Ord::cmp).unwrap();
    assert_eq!(inside.iter().max(), Some(&NoneLast(None)));
    let outside: Vec<Reverse<NoneLast<i16>>> = last.iter().copied().map(Reverse).collect();
    check(&outside, Ord::cmp).unwrap();
    assert_eq!(outside.iter().min(), Some(&Reverse(NoneLast(None))));

    // Options nest, in tuples and in each other, and the payloads of NaNs stay.
    let nested: Vec<(Option<Option<bool>>, NoneLast<char>)> = [None, Some(None), Some(Some(false)), Some(Some(true))]
        .into_iter()
        .flat_map(|a| [None, Some('\0'), Some(char::MAX)].map(|b| (a, NoneLast(b))))
        .collect();
    check(&nested, Ord::cmp).unwrap();
    let floats: Vec<Option<f32>> = words::<u32>().into_iter().map(|bits| Some(f32::from_bits(bits))).chain([None]).collect();
    check(&floats, |a, b| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    })
    .unwrap();
}

#[test]
fn an_optional_key_is_checked_as_the_key_inside() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Narrow(u8);
    impl Sortable for Narrow {
        type Bits = u8;
        const WIDTH: u32 = 4;
        fn to_bits(self) -> u8 {
            self.0
        }
        fn from_bits(bits: u8) -> Self {
            Narrow(bits)
        }
    }
    assert_eq!(check(&[None, Some(Narrow(15))], Ord::cmp), Ok(()));
    assert_eq!(check(&[Some(Narrow(16))], Ord::cmp).unwrap_err().law, "bits fit in WIDTH");
    assert_eq!(check(&[NoneLast(Some(Narrow(16)))], Ord::cmp).unwrap_err().law, "bits fit in WIDTH");
}

#[test]
fn optional_keys_are_identical_if_both_are_missing_or_the_keys_inside_are() {
    let identical = <Option<u8>>::IDENTICAL.unwrap();
    let last = <NoneLast<u8>>::IDENTICAL.unwrap();
    for (a, b, expected) in
        [(None, None, true), (Some(1), Some(1), true), (Some(1), Some(2), false), (None, Some(0), false), (Some(0), None, false)]
    {
        assert_eq!((identical(a, b), last(NoneLast(a), NoneLast(b))), (expected, expected), "{a:?} {b:?}");
    }
}

#[test]
fn keys_of_one_value_have_no_bits() {
    check(&[(), ()], Ord::cmp).unwrap();
    check(&[(std::marker::PhantomData::<str>, 3_u128), (std::marker::PhantomData, 4)], Ord::cmp).unwrap();
    assert_eq!((<()>::WIDTH, <((), u128, ())>::WIDTH), (0, 128));
}

#[test]
fn tuples_pack_and_order_lexicographically() {
    let bytes = [0_u8, 1, 127, 128, 255];
    let triples: Vec<(i8, bool, Reverse<u16>)> =
        bytes.iter().flat_map(|&a| bytes.map(|b| (a as i8, b & 1 == 1, Reverse(u16::from(b) << 8 | u16::from(a))))).collect();
    check(&triples, Ord::cmp).unwrap();
    assert_eq!(<(i8, bool, Reverse<u16>) as Sortable>::WIDTH, 25);

    let wide: Vec<(u64, u32, u32)> = words::<u64>().into_iter().map(|w| (w >> 60, (w >> 30) as u32, w as u32)).collect();
    check(&wide, Ord::cmp).unwrap();
    assert_eq!(<(u64, u32, u32) as Sortable>::WIDTH, 128);
    assert_eq!(<(u32, u32, u64) as Sortable>::WIDTH, 128);
    assert_eq!(<(u8, u8, u8, u8) as Sortable>::WIDTH, 32);

    fn bits_of<K: Sortable>() -> u32 {
        <K::Bits as Word>::BITS
    }
    assert_eq!(
        [bits_of::<(u8, i8)>(), bits_of::<(u16, bool)>(), bits_of::<(f32, u32)>(), bits_of::<(char, u64)>()],
        [16, 32, 64, 128]
    );
}
