//! The errors of the contract: their data, their messages, and which of them are the caller's mistakes.

use polysort_core::Error;
use polysort_vector::{Check, Metric, Precision, Search, Shape, VectorError};

#[test]
fn wrong_searches_name_the_first_mistake() {
    let of = |queries: &[f32], candidates: &[u32], offsets: &[u32]| {
        let search = Search::new(queries, candidates, offsets).metric(Metric::Cosine);
        let error = search.queries(2, 9).unwrap_err();
        assert!(error.is_misuse(), "{error:?}");
        error.to_string()
    };
    let two = [0.5, 1.0, 2.0, 4.0];
    assert_eq!(of(&two[..3], &[1], &[0, 1]), "the queries and as many as the offsets are for differ in length: 3 and 2");
    assert_eq!(of(&two, &[1, 2, 3], &[1, 1, 3]), "candidate_offsets: number 0 is 1, but must be below 1");
    let descends = "segment 1 is 2..1, but must lie in 2..3, after its predecessor and within the keys";
    assert_eq!(of(&two, &[1, 2, 3], &[0, 2, 1]), descends);
    let too_far = "segment 1 is 2..4, but must lie in 2..3, after its predecessor and within the keys";
    assert_eq!(of(&two, &[1, 2, 3], &[0, 2, 4]), too_far);
    assert_eq!(
        of(&[0.5, 1.0, f32::NAN, 4.0], &[1], &[0, 1, 1]),
        "the queries: number 2 is NaN, which is not finite in the precision F32"
    );
    assert_eq!(of(&two, &[1, 9, 10], &[0, 2, 3]), "candidate_indices: number 1 is 9, but must be below 9");
    // The device finds wrong candidates then.
    assert_eq!(Search::new(&two, &[1, 9, 10], &[0, 2, 3]).check(Check::Device).queries(2, 9).unwrap(), 2);
}

#[test]
fn wrong_writes_name_the_first_mistake() {
    let shape = Shape::new(2, 3).precision(Precision::F16);
    let of = |slot, numbers: &[f32]| {
        let error = shape.check_write(slot, numbers).unwrap_err();
        assert!(error.is_misuse(), "{error:?}");
        error
    };
    assert!(matches!(of(0, &[1.0; 3]), VectorError::General(Error::LengthMismatch { left_len: 3, right_len: 2, .. })));
    assert!(matches!(of(2, &[1.0; 4]), VectorError::OutOfRange { index: 1, value: 3, limit: 3, .. }));
    let halves = of(1, &[1.0, 2.0, 65_519.0, -65_520.0]);
    assert!(matches!(halves, VectorError::NotFinite { index: 3, precision: Precision::F16, .. }), "{halves:?}");
    assert!(matches!(shape.check_entries(&[0, 2, 3]), Err(VectorError::OutOfRange { index: 2, value: 3, limit: 3, .. })));
}

#[test]
fn what_a_device_cannot_do_is_no_mistake_of_the_caller() {
    let unsupported = Shape::new(0, 3).check().unwrap_err();
    assert!(!unsupported.is_misuse());
    assert_eq!(unsupported.to_string(), "unsupported: vectors of dimension 0");
    let too_large = Shape::new(1 << 31, (1 << 32) - 1).check().unwrap_err();
    assert!(matches!(too_large, VectorError::General(Error::OutOfMemory { limit: Some(_), .. })) && !too_large.is_misuse());
}

#[test]
fn a_count_of_wrong_candidates_is_an_error() {
    assert!(VectorError::check_candidates(0).is_ok());
    let error = VectorError::check_candidates(5).unwrap_err();
    assert!(matches!(error, VectorError::BadCandidates { count: 5 }) && error.is_misuse());
}
