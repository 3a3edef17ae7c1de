//! What derived keys are computed from.

use polysort_core::derived::{all, fits_in_word, has_room, index_bits, inverse, sorted_indices, sum, word_bits};

#[test]
fn widths_add_up() {
    assert_eq!((sum([]), sum([7]), sum([1, 20, 300])), (0, 7, 321));
}

#[test]
fn a_field_has_room_up_to_128_bits() {
    assert!(has_room([], 128) && !has_room([], 129));
    assert!(has_room([64, 63], 1) && !has_room([64, 63], 2));
    assert!(!has_room([128], 1));
    // The fields before it are too much already, so the compiler does not report this one too.
    assert!(has_room([100, 29], 1));
    assert!(fits_in_word::<u16>(16) && !fits_in_word::<u16>(17));
}

#[test]
fn one_false_condition_is_enough() {
    assert!(all([]) && all([true, true]));
    for at in 0..3 {
        assert!(!all(std::array::from_fn::<_, 3, _>(|index| index != at)), "{at}");
    }
}

#[test]
fn the_smallest_word_has_room() {
    for width in 0..=130 {
        let word = [8, 16, 32, 64].into_iter().find(|&bits| bits >= width).unwrap_or(128);
        assert_eq!(word_bits(width), word, "{width}");
    }
}

#[test]
fn indices_need_the_bits_of_the_last_one() {
    assert_eq!([1, 2, 3, 4, 5, 256, 257].map(index_bits), [0, 1, 2, 2, 3, 8, 9]);
}

#[test]
fn discriminants_have_an_order_and_its_inverse() {
    let discriminants = [5, -1, i128::MAX, 0, i128::MIN, 7];
    let indices = sorted_indices(discriminants);
    assert_eq!(indices, [4, 1, 3, 0, 5, 2]);
    assert_eq!(inverse(indices), [3, 1, 5, 2, 0, 4]);
    assert_eq!(sorted_indices([1, 2, 3]), [0, 1, 2]);
    assert_eq!(sorted_indices([3, 2, 1]), [2, 1, 0]);
}
