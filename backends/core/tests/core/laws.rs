//! Every key type keeps its laws: all values of 8 and 16 bits, edges and a walk through the rest.

use half::{bf16, f16};
use polysort_core::laws::{check, check_masks};
use polysort_core::{InPlace, MaskKey, Masks, NoneLast, Sortable, Word};
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

#[test]
fn an_order_that_is_not_kept_is_found() {
    #[derive(Clone, Copy, Debug)]
    struct Magnitude(i32);
    impl Sortable for Magnitude {
        type Bits = u32;
        fn to_bits(self) -> u32 {
            self.0 as u32
        }
        fn from_bits(bits: u32) -> Self {
            Magnitude(bits as i32)
        }
    }
    let violation = check(&[Magnitude(1), Magnitude(-1)], |a, b| a.0.cmp(&b.0)).unwrap_err();
    assert_eq!(violation.law, "bits are in the order of the keys");
    assert!(violation.to_string().contains("Magnitude(-1) is Less to Magnitude(1)"), "{violation}");
}

#[test]
fn keys_that_are_equal_in_bits_but_not_in_order_are_found() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Coarse(u16);
    impl Sortable for Coarse {
        type Bits = u8;
        fn to_bits(self) -> u8 {
            (self.0 >> 8) as u8
        }
        fn from_bits(bits: u8) -> Self {
            Coarse(u16::from(bits) << 8)
        }
    }
    assert_eq!(check(&[Coarse(0x101)], Ord::cmp).unwrap_err().law, "from_bits brings the key back");
    assert_eq!(check(&[Coarse(0x100), Coarse(0x200)], Ord::cmp), Ok(()));
}

#[test]
fn bits_past_the_width_are_found() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Wide(u8);
    impl Sortable for Wide {
        type Bits = u8;
        const WIDTH: u32 = 4;
        fn to_bits(self) -> u8 {
            self.0
        }
        fn from_bits(bits: u8) -> Self {
            Wide(bits)
        }
    }
    assert_eq!(check(&[Wide(15), Wide(16)], Ord::cmp).unwrap_err().law, "bits fit in WIDTH");
}

#[test]
fn bits_that_change_are_found() {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    static CALLS: AtomicU8 = AtomicU8::new(0);
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Moody;
    impl Sortable for Moody {
        type Bits = u8;
        fn to_bits(self) -> u8 {
            CALLS.fetch_add(1, Relaxed)
        }
        fn from_bits(_: u8) -> Self {
            Moody
        }
    }
    assert_eq!(check(&[Moody], Ord::cmp).unwrap_err().law, "to_bits gives the same bits each time");
}

#[test]
fn a_mask_key_that_is_not_its_masks_is_found() {
    #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(transparent)]
    struct Flipped(i32);
    impl Sortable for Flipped {
        type Bits = u32;
        const IN_PLACE: Option<InPlace<Self>> = Some(InPlace::of());
        fn to_bits(self) -> u32 {
            self.0 as u32 ^ 1 << 31
        }
        fn from_bits(bits: u32) -> Self {
            Flipped((bits ^ 1 << 31) as i32)
        }
    }
    impl MaskKey for Flipped {
        // Those of floats.
        const MASKS: Masks = Masks::float(32);
    }
    assert!(check_masks::<Flipped>([5]).is_ok());
    assert_eq!(check_masks::<Flipped>([5, 1 << 31]).unwrap_err().law, "to_bits is Masks::apply and from_bits its inverse");
}

#[test]
fn a_part_that_the_bits_leave_out_is_found() {
    /// Compared by its score alone, as the bits are.
    #[derive(Clone, Copy, Debug)]
    struct Item {
        score: u32,
        #[allow(dead_code, reason = "it is printed")]
        id: u32,
    }
    impl Sortable for Item {
        type Bits = u32;
        fn to_bits(self) -> u32 {
            self.score
        }
        fn from_bits(bits: u32) -> Self {
            Item { score: bits, id: 0 }
        }
    }
    let by_score = |a: &Item, b: &Item| a.score.cmp(&b.score);
    assert_eq!(check(&[Item { score: 1, id: 0 }], by_score), Ok(()));
    assert_eq!(check(&[Item { score: 1, id: 7 }], by_score).unwrap_err().law, "from_bits brings the key back");

    /// Prints nothing of its id, but says what is identical.
    #[derive(Clone, Copy, PartialEq)]
    struct Silent(u8, u8);
    impl std::fmt::Debug for Silent {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.fmt(f)
        }
    }
    impl Sortable for Silent {
        type Bits = u16;
        const IDENTICAL: Option<fn(Self, Self) -> bool> = Some(|a, b| a == b);
        fn to_bits(self) -> u16 {
            self.0.into()
        }
        fn from_bits(bits: u16) -> Self {
            Silent(bits as u8, 0)
        }
    }
    /// Prints nothing, and has no function that says what is identical.
    #[derive(Clone, Copy)]
    struct Mute(u8, u8);
    impl std::fmt::Debug for Mute {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Ok(())
        }
    }
    impl Sortable for Mute {
        type Bits = u16;
        fn to_bits(self) -> u16 {
            self.0.into()
        }
        fn from_bits(bits: u16) -> Self {
            Mute(bits as u8 & 1, 0)
        }
    }
    let by_second = |a: &Mute, b: &Mute| a.1.cmp(&b.1);
    assert_eq!(check(&[Mute(1, 0)], by_second), Ok(()));
    // The first comes back with other bits, the second in another place of the order.
    for lost in [Mute(2, 0), Mute(1, 7)] {
        assert_eq!(check(&[lost], by_second).unwrap_err().law, "from_bits brings the key back");
    }

    let by_first = |a: &Silent, b: &Silent| a.0.cmp(&b.0);
    assert_eq!(check(&[Silent(1, 7)], by_first).unwrap_err().law, "from_bits brings the key back");
    let violation = check(&[(Silent(1, 7), 'x')], |a, b| by_first(&a.0, &b.0).then(a.1.cmp(&b.1))).unwrap_err();
    assert_eq!(violation.law, "from_bits brings the key back");
}

#[test]
fn bits_past_the_width_of_a_key_inside_a_tuple_are_found() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Narrow(u32);
    impl Sortable for Narrow {
        type Bits = u32;
        const WIDTH: u32 = 4;
        fn to_bits(self) -> u32 {
            self.0
        }
        fn from_bits(bits: u32) -> Self {
            Narrow(bits)
        }
    }
    let law = |found: Result<(), polysort_core::laws::Violation>| found.unwrap_err().law;
    assert_eq!(check(&[(1_u8, Narrow(15)), (2, Narrow(0))], Ord::cmp), Ok(()));
    assert_eq!(law(check(&[(1_u8, Narrow(16))], Ord::cmp)), "bits fit in WIDTH");
    assert_eq!(law(check(&[(Narrow(16), 1_u8)], Ord::cmp)), "bits fit in WIDTH");
    assert_eq!(law(check(&[(Narrow(1 << 28), 1_u8)], Ord::cmp)), "bits fit in WIDTH");
    assert_eq!(law(check(&[(1_u8, 2_u8, Narrow(16))], Ord::cmp)), "bits fit in WIDTH");
    assert_eq!(law(check(&[Reverse((1_u8, Narrow(16)))], Ord::cmp)), "bits fit in WIDTH");
    assert_eq!(law(check(&[(Narrow(16),)], Ord::cmp)), "bits fit in WIDTH");
}

#[test]
fn a_width_beyond_the_word_is_found() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(transparent)]
    struct TooWide(u8);
    impl Sortable for TooWide {
        type Bits = u8;
        const WIDTH: u32 = 9;
        fn to_bits(self) -> u8 {
            self.0
        }
        fn from_bits(bits: u8) -> Self {
            TooWide(bits)
        }
    }
    impl MaskKey for TooWide {
        const MASKS: Masks = Masks::UNSIGNED;
    }
    assert_eq!(check(&[TooWide(1)], Ord::cmp).unwrap_err().law, "WIDTH is at most the bits of the word");
    assert_eq!(check_masks::<TooWide>([1]).unwrap_err().law, "the memory of a MaskKey is its word");
}

#[test]
fn a_mask_key_that_is_not_its_word_is_found() {
    /// Twice as large as its bits.
    #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(transparent)]
    struct Large([u16; 2]);
    impl Sortable for Large {
        type Bits = u16;
        fn to_bits(self) -> u16 {
            self.0[0]
        }
        fn from_bits(bits: u16) -> Self {
            Large([bits, 0])
        }
    }
    impl MaskKey for Large {
        const MASKS: Masks = Masks::UNSIGNED;
    }
    let violation = check_masks::<Large>([1]).unwrap_err();
    assert_eq!(violation.law, "the memory of a MaskKey is its word");
    assert!(violation.shown.contains("4 bytes aligned to 2"), "{violation}");
}
