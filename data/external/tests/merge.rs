//! Merges of sorted inputs beside a stable sort in memory.

use polysort_core::Options;
use polysort_external::{ByKey, ExternalError, Keys, Sorter};
use polysort_rayon::RayonBackend;
use std::io::Read;

const MIB: usize = 1 << 20;

fn random(len: usize, seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ z >> 29
    })
    .take(len)
}

/// Sorted inputs of records: a key, and the number of the record in all inputs together.
fn inputs(count: usize, len: usize, values: u64, is_descending: bool) -> Vec<Vec<[u64; 2]>> {
    let mut number = 0;
    let input = |input| {
        let mut keys: Vec<u64> = random(if input % 5 == 3 { 0 } else { len }, input as u64).map(|key| key % values).collect();
        keys.sort_unstable();
        if is_descending {
            keys.reverse();
        }
        let numbered = |key| {
            number += 1;
            [key, number]
        };
        keys.into_iter().map(numbered).collect()
    };
    (0..count).map(input).collect()
}

/// Inputs that fit one merge, and more than one merge reads, with ties within and between inputs.
#[test]
fn any_number_of_inputs_is_merged_stably() {
    let folder = tempfile::tempdir().unwrap();
    for (count, len, passes) in [(0, 0, 1), (1, 1000, 1), (3, 30_000, 1), (100, 700, 1), (500, 200, 2)] {
        for values in [1, 1000, u64::MAX] {
            for options in [Options::ascending(), Options::descending()] {
                let inputs = inputs(count, len, values, options == Options::descending());
                let mut expected = inputs.concat();
                expected.sort_by_key(|record| if options == Options::descending() { !record[0] } else { record[0] });
                let mut output = vec![];
                let mut sorter = Sorter::new(ByKey::new(|record: &[u64; 2]| record[0]), RayonBackend::default())
                    .memory(MIB)
                    .options(options)
                    .folder(folder.path());
                let readers = inputs.iter().map(|input| bytemuck::cast_slice::<_, u8>(input));
                let summary = sorter.merge(readers, &mut output).unwrap();
                assert_eq!((summary.records, summary.passes), (expected.len() as u64, passes), "{count} × {len}: {summary:?}");
                // The last pass writes the output, each other one writes spill files.
                assert_eq!(summary.spilled_bytes, ((passes - 1) * size_of_val(&expected[..])) as u64, "{summary:?}");
                assert!(bytemuck::pod_collect_to_vec::<u8, [u64; 2]>(&output) == expected, "{count} × {len}, {values} values");
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            }
        }
    }
}

/// Within a block, and from one block to the next.
#[test]
fn an_unsorted_input_is_named() {
    let block = MIB / 272 / 4;
    for at in [1, block - 1, block, block + 1, 2 * block] {
        let mut unsorted: Vec<u32> = (1..3 * block as u32).collect();
        unsorted[at] = 0;
        let sorted: Vec<u32> = (0..10).collect();
        let inputs = [&sorted, &unsorted, &sorted].map(|keys| bytemuck::cast_slice::<u32, u8>(keys));
        let mut sorter = Sorter::new(Keys::<u32>::new(), RayonBackend::default()).memory(MIB);
        let error = sorter.merge(inputs, std::io::sink()).unwrap_err();
        let ExternalError::Unsorted { input: 1, record, .. } = error else { panic!("{error}") };
        assert_eq!(record, at as u64);
    }
}

/// Fails after some bytes, and counts the open inputs.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(bytes)? {
            0 => Err(std::io::Error::other("on purpose")),
            count => Ok(count),
        }
    }
}

#[test]
fn errors_of_inputs_are_passed_on() {
    let keys: Vec<u64> = (0..10_000).collect();
    let inputs = std::iter::repeat_with(|| Failing(bytemuck::cast_slice(&keys))).take(5);
    let error = Sorter::new(Keys::<u64>::new(), RayonBackend::default()).memory(MIB).merge(inputs, vec![]).unwrap_err();
    assert!(matches!(&error, ExternalError::Input(error) if error.to_string() == "on purpose"), "{error}");
    let error = Sorter::new(Keys::<u64>::new(), RayonBackend::default()).merge([&[0; 12][..]], vec![]).unwrap_err();
    assert!(matches!(error, ExternalError::PartialRecord { left: 4, record: 8, .. }), "{error}");
}
