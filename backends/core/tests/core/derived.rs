//! What derived keys are computed from.

use polysort_core::derived::{fits_in_word, has_room, inverse, sorted_indices, word_bits};

#[test]
fn a_field_has_room_up_to_128_bits() {
    assert!(has_room(0, 128) && !has_room(0, 129));
    assert!(has_room(127, 1) && !has_room(127, 2));
    assert!(!has_room(128, 1));
    // The fields before it are too much already, so the compiler does not report this one too.
    assert!(has_room(129, 1));
    assert!(fits_in_word::<u16>(16) && !fits_in_word::<u16>(17));
}

#[test]
fn the_smallest_word_has_room() {
    for width in 0..=130 {
        let word = [8, 16, 32, 64].into_iter().find(|&bits| bits >= width).unwrap_or(128);
        assert_eq!(word_bits(width), word, "{width}");
    }
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
