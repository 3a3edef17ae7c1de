//! Wrong calls, which must be refused and leave the slices as they were.

use crate::case::Case;
use crate::compare::{failed, same, same_keys};
use crate::keys::TestKey;
use polysort_core::{Backend, DynBackend, Error, Operation, Segments, Sort, Spec, ValuesMut, Window, Word};

/// Calls that must be refused and leave the slices as they were.
pub(crate) fn misuse<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let len = keys.len();
    let (mut sorted, mut values) = (keys.to_vec(), (0..len as u32 + 1).collect::<Vec<_>>());
    let untouched = values.clone();
    let refused = [
        (
            "a length mismatch",
            matches!(
                backend.sort_pairs_with(&mut sorted, &mut values, case.options),
                Err(Error::LengthMismatch { left_len, right_len, .. }) if (left_len, right_len) == (len, len + 1)
            ),
        ),
        (
            "an output of another length",
            matches!(
                backend.sort_into_with(keys, &mut vec![K::from_raw(1); len + 1], case.options),
                Err(Error::LengthMismatch { left_len, right_len, .. }) if (left_len, right_len) == (len, len + 1)
            ),
        ),
        ("an output of pairs of another length", {
            let mut moved = vec![0_u32; len + 1];
            matches!(
                backend.sort_pairs_into_with(keys, &values[..len], &mut sorted, &mut moved, case.options),
                Err(Error::LengthMismatch { left_len, right_len, .. }) if (left_len, right_len) == (len, len + 1)
            )
        }),
        (
            "the largest of all windows",
            matches!(
                backend.sort_into_with(keys, &mut sorted, case.options.bits(0..u32::MAX)),
                Err(Error::InvalidRange { end: u32::MAX, .. })
            ),
        ),
        (
            "a window past the key",
            matches!(
                backend.sort_with(&mut sorted, case.options.bits(0..K::WIDTH + 1)),
                Err(Error::InvalidRange { end, width, .. }) if (end, width) == (K::WIDTH + 1, K::WIDTH)
            ),
        ),
        ("a window that ends before it begins", {
            let mut options = case.options;
            options.window = Some(Window { begin: 1, end: Some(0) });
            matches!(
                backend.sort_pairs_with(&mut sorted, &mut values[..len], options),
                Err(Error::InvalidRange { begin: 1, end: 0, .. })
            )
        }),
        (
            "offsets that descend",
            matches!(
                backend.sort_segments_with(&mut sorted, &[0, len, len.saturating_sub(1), len + 1], case.options),
                Err(Error::InvalidOffsets { index, .. }) if index == if len == 0 { 2 } else { 1 }
            ),
        ),
        (
            "segments past the end",
            matches!(
                backend.sort_pairs_segments_with(&mut sorted, &mut values[..len], &[0, len + 1], case.options),
                Err(Error::InvalidOffsets { index: 0, end, keys, .. }) if (end, keys) == (len + 1, len)
            ),
        ),
        ("segments that overlap", {
            let ranges = Segments::Ranges { begins: &[0, 0], ends: &[len, len] };
            len == 0
                || matches!(
                    backend.argsort_segments_with(keys, ranges, case.options),
                    Err(Error::InvalidOffsets { index: 1, .. })
                )
        }),
        (
            "a selection past the end",
            matches!(
                backend.top_k_segments_with(keys, 1, &[0, len + 1], case.options),
                Err(Error::InvalidOffsets { index: 0, end, keys, .. }) if (end, keys) == (len + 1, len)
            ),
        ),
        (
            "a partial sort past the end",
            matches!(
                backend.partial_sort_segments_with(&mut sorted, 1, &[0, len + 1], case.options),
                Err(Error::InvalidOffsets { index: 0, end, keys, .. }) if (end, keys) == (len + 1, len)
            ),
        ),
        (
            "runs by a window past the key",
            matches!(
                backend.runs_with(keys, case.options.bits(0..K::WIDTH + 1)),
                Err(Error::InvalidRange { end, width, .. }) if (end, width) == (K::WIDTH + 1, K::WIDTH)
            ),
        ),
        ("no selection at all past the end", backend.top_k_segments_with(keys, 0, &[0, len + 1], case.options).is_err()),
        ("rows that overlap", {
            let rows = Segments::Rows { rows: 2, len: 1, stride: 0 };
            len == 0
                || matches!(backend.argsort_segments_with(keys, rows, case.options), Err(Error::InvalidOffsets { index: 1, .. }))
        }),
        ("rows past the end", {
            let rows = Segments::Rows { rows: 3, len: 1, stride: len };
            matches!(backend.sort_segments_with(&mut sorted, rows, case.options), Err(Error::InvalidOffsets { index, .. }) if index == usize::from(len > 0))
        }),
        ("more begins than ends", {
            let ranges = Segments::Ranges { begins: &[0, 0], ends: &[0] };
            matches!(backend.sort_segments_with(&mut sorted, ranges, case.options), Err(Error::LengthMismatch { .. }))
        }),
    ];
    are_refused(&refused, "")?;
    same_keys("keys after refusals", &sorted, keys)?;
    same("values after refusals", &values, &untouched)?;
    misuse_of_run(backend, keys, case)
}

/// Calls of [`Backend::run`] that a backend must refuse by itself. The methods of [`Sort`] refuse them before a backend sees them.
fn misuse_of_run<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let spec = Spec::of::<K>(case.options).map_err(failed)?;
    let mut words: Vec<K::Bits> = keys.iter().map(|&key| key.to_bits()).collect();
    let (untouched, offsets) = (words.clone(), [0, words.len() + 1]);
    let (mut values, mut indices) = (vec![0_u32; words.len() + 1], vec![0; words.len() + 1]);
    let mut past = spec;
    past.end = K::Bits::BITS + 1;
    let refused = [
        (
            "a window past the word",
            matches!(
                backend.run(Operation::Sort { keys: &mut words, segments: None }.into(), past),
                Err(Error::InvalidRange { end, .. }) if end == past.end
            ),
        ),
        (
            "values of another length",
            matches!(
                backend.run(
                    Operation::SortPairs { keys: &mut words, values: ValuesMut::of(&mut values), segments: None }.into(),
                    spec
                ),
                Err(Error::LengthMismatch { .. })
            ),
        ),
        (
            "indices of another length",
            matches!(
                backend.run(Operation::Argsort { keys: &words, segments: None, indices: &mut indices }.into(), spec),
                Err(Error::LengthMismatch { .. })
            ),
        ),
        (
            "a segment past the end",
            matches!(
                backend.run(Operation::Sort { keys: &mut words, segments: Some(Segments::Offsets(&offsets)) }.into(), spec),
                Err(Error::InvalidOffsets { .. })
            ),
        ),
    ];
    are_refused(&refused, " by the backend itself")?;
    same("words after refusals", &words, &untouched)?;
    same("values after refusals", &values, &vec![0; values.len()])
}

/// Fails if a call, which comes with whether it was refused, was not.
fn are_refused(calls: &[(&str, bool)], by: &str) -> Result<(), String> {
    match calls.iter().find(|(_, is_refused)| !is_refused) {
        Some((what, _)) => Err(format!("{what} was not refused as it should be{by}")),
        None => Ok(()),
    }
}
