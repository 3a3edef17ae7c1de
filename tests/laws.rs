//! The checks of `laws` find a key that breaks a law, and name that law.

use polysort::laws::{Violation, check, check_masks, check_wide};
use polysort::{InPlace, MaskKey, Masks, Sortable, WideKey};
use std::cmp::Reverse;

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
    let law = |found: Result<(), Violation>| found.unwrap_err().law;
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

#[test]
fn a_bit_behind_the_last_one_of_a_wide_key_is_found() {
    /// Sixteen bits, of which it names only ten.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Ten(u16);
    impl WideKey for Ten {
        const TOTAL_BITS: u32 = 10;
        fn bits_from(self, first: u32) -> u64 {
            u64::from(self.0) << 48 << first
        }
    }
    assert_eq!(check_wide(&[Ten(0), Ten(0xffc0)], Ord::cmp), Ok(()));
    let law = "bits_from gives the bits from any bit on, and 0 from TOTAL_BITS on";
    for bits in [1 << 5, 1] {
        assert_eq!(check_wide(&[Ten(bits)], Ord::cmp).unwrap_err().law, law);
    }
}
