//! Sorts into other slices: the input stays, and an error leaves the output as it was.

use crate::support::Std;
use polysort::Fallback;
use polysort_core::{
    AnyOperation, Backend, Error, Limits, Operation, Options, Sort, Spec, Values, ValuesMut, Word, sorts_by_run,
};

const BACKEND: Std<0> = Std;

#[test]
fn the_input_stays_and_the_output_is_sorted() -> Result<(), Error> {
    let (keys, values) = ([2.0_f32, -1.0, 2.0, f32::NAN], ['a', 'b', 'c', 'd'].map(u32::from));
    let (mut sorted, mut moved) = ([9.0; 4], [0; 4]);
    BACKEND.sort_into(&keys, &mut sorted)?;
    assert_eq!(format!("{sorted:?}"), "[-1.0, 2.0, 2.0, NaN]");
    BACKEND.sort_pairs_into_with(&keys, &values, &mut sorted, &mut moved, Options::descending())?;
    assert_eq!(format!("{sorted:?}"), "[NaN, 2.0, 2.0, -1.0]");
    assert_eq!(moved, ['d', 'a', 'c', 'b'].map(u32::from));
    // Keys that are mapped to bits.
    let (keys, mut sorted) = (['z', 'a', 'm'], ['?'; 3]);
    BACKEND.sort_into_with(&keys, &mut sorted, Options::descending())?;
    assert_eq!(sorted, ['z', 'm', 'a']);
    BACKEND.sort_pairs_into(&keys, &values[..3], &mut sorted, &mut moved[..3])?;
    assert_eq!((sorted, &moved[..3]), (['a', 'm', 'z'], &['b', 'c', 'a'].map(u32::from)[..]));
    BACKEND.sort_into::<u8>(&[], &mut [])
}

#[test]
fn wrong_lengths_and_ranges_leave_the_output_as_it_was() {
    let (keys, values) = ([3_u16, 1, 2], [1_u8, 2, 3]);
    let (mut sorted, mut moved) = ([7_u16; 3], [7_u8; 3]);
    let lengths = |outcome: Result<(), Error>| assert!(matches!(outcome, Err(Error::LengthMismatch { .. })), "{outcome:?}");
    lengths(BACKEND.sort_into(&keys, &mut sorted[..2]));
    lengths(BACKEND.sort_into(&['a', 'b'], &mut ['c']));
    lengths(BACKEND.sort_pairs_into(&keys, &values[..2], &mut sorted, &mut moved));
    lengths(BACKEND.sort_pairs_into(&keys, &values, &mut sorted[..2], &mut moved));
    lengths(BACKEND.sort_pairs_into(&keys, &values, &mut sorted, &mut moved[..2]));
    let run = |operation: Operation<'_, u16>| BACKEND.run(operation.into(), Spec::unsigned::<u16>());
    lengths(run(Operation::SortInto { keys: &keys, sorted: &mut sorted[..2] }));
    fn pairs<'a>(sorted_keys: &'a mut [u16], sorted_values: ValuesMut<'a>) -> Operation<'a, u16> {
        Operation::SortPairsInto { keys: &[3, 1, 2], values: Values::of(&[1_u8, 2, 3]), sorted_keys, sorted_values }
    }
    lengths(run(pairs(&mut sorted[..2], ValuesMut::of(&mut moved))));
    assert!(matches!(run(pairs(&mut sorted, ValuesMut::of(&mut [7_u16; 3]))), Err(Error::Unsupported { .. })));
    let past = Options::ascending().bits(0..17);
    assert!(matches!(BACKEND.sort_into_with(&keys, &mut sorted, past), Err(Error::InvalidRange { .. })));
    let outcome = BACKEND.sort_pairs_into_with(&keys, &values, &mut sorted, &mut moved, past);
    assert!(matches!(outcome, Err(Error::InvalidRange { .. })));
    assert_eq!((sorted, moved), ([7; 3], [7; 3]));
}

/// Overrides the sorts into other slices, and answers no other call.
#[derive(Clone, Debug)]
struct IntoOnly;

impl Backend for IntoOnly {
    fn open() -> Result<Self, Error> {
        Ok(Self)
    }

    fn name(&self) -> String {
        "into only".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        match operation {
            operation @ AnyOperation::U32(Operation::SortInto { .. } | Operation::SortPairsInto { .. }) => {
                BACKEND.run(operation, spec)
            }
            operation => Err(Error::Unsupported { what: format!("{operation:?}") }),
        }
    }
}

#[test]
fn a_backend_can_override_them_and_a_fallback_forwards_them() -> Result<(), Error> {
    let (keys, values) = ([3_u32, 1, 2], [3_u8, 1, 2]);
    let (mut sorted, mut moved) = ([0; 3], [0; 3]);
    IntoOnly.sort_into(&keys, &mut sorted)?;
    assert_eq!(sorted, [1, 2, 3]);
    let both = Fallback::new(Ok(IntoOnly), BACKEND);
    both.sort_pairs_into_with(&keys, &values, &mut sorted, &mut moved, Options::descending())?;
    assert_eq!((sorted, moved), ([3, 2, 1], [3, 2, 1]));
    both.sort_into(&keys, &mut sorted)?;
    assert_eq!((sorted, both.report().taken, both.report().fell_back), ([1, 2, 3], 2, 0));
    Ok(())
}

#[test]
fn a_provided_sort_that_fails_has_not_touched_the_output() {
    #[derive(Clone, Debug)]
    struct Broken;
    impl Backend for Broken {
        fn open() -> Result<Self, Error> {
            Ok(Self)
        }
        fn name(&self) -> String {
            "broken".into()
        }
        fn limits(&self) -> Limits {
            Limits::default()
        }
        fn sort_bits<W: Word>(&self, _: &mut [W], _: Spec) -> Result<(), Error> {
            Err(Error::OutOfMemory { asked: 1, limit: None })
        }
        fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, _: &mut [W], _: &mut [V], _: Spec) -> Result<(), Error> {
            Err(Error::OutOfMemory { asked: 1, limit: None })
        }
    }
    let (keys, values) = ([3_u32, 1, 2], [3_u8, 1, 2]);
    let (mut sorted, mut moved) = ([7; 3], [7; 3]);
    assert!(matches!(Broken.sort_into(&keys, &mut sorted), Err(Error::OutOfMemory { .. })));
    let outcome = Broken.sort_pairs_into(&keys, &values, &mut sorted, &mut moved);
    assert!(matches!(outcome, Err(Error::OutOfMemory { .. })));
    assert_eq!((sorted, moved), ([7; 3], [7; 3]));
}
