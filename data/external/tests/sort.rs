//! External sorts beside a stable sort in memory, and what they leave behind.

use polysort_core::Options;
use polysort_external::{ByKey, ExternalError, Keys, Layout, Phase, Sorter, Summary};
use polysort_rayon::RayonBackend;
use proptest::prelude::*;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const MIB: usize = 1 << 20;

fn random(len: usize) -> Vec<u64> {
    let mut state = len as u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ z >> 29
    };
    (0..len).map(|_| next()).collect()
}

fn sorted<L: Layout>(layout: L, records: &[L::Record], options: Options, folder: &Path) -> (Vec<L::Record>, Summary) {
    let (mut output, mut phases) = (vec![], vec![]);
    let mut sorter =
        Sorter::new(layout, RayonBackend::default()).memory(MIB).options(options).folder(folder).on_progress(|progress| {
            phases.push(progress.phase);
            ControlFlow::Continue(())
        });
    let summary = sorter.sort(bytemuck::cast_slice(records), &mut output).unwrap();
    drop(sorter);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    // Each pass reads all records from spill files, to which the step before it wrote them.
    assert_eq!(summary.spilled_bytes, (summary.passes * size_of_val(records)) as u64, "{summary:?}");
    phases.dedup();
    assert_eq!(phases[0], Phase::Runs);
    assert_eq!(phases.len(), 1 + summary.passes, "{phases:?}");
    for (index, phase) in phases[1..].iter().enumerate() {
        assert!(matches!(phase, Phase::Merge { pass, passes, .. } if (*pass, *passes) == (index, summary.passes)), "{phases:?}");
    }
    (bytemuck::pod_collect_to_vec(&output), summary)
}

#[test]
fn keys_in_one_pass_and_in_two() {
    let folder = tempfile::tempdir().unwrap();
    for (len, passes) in [(0, 0), (1, 0), (30_000, 0), (1_000_000, 1), (4_500_000, 2)] {
        let keys = random(len);
        let (output, summary) = sorted(Keys::<u64>::new(), &keys, Options::ascending(), folder.path());
        assert_eq!((summary.records, summary.passes), (len as u64, passes), "{summary:?}");
        let mut expected = keys;
        expected.sort_unstable();
        assert!(output == expected, "{len} keys");
    }
}

/// Ties within and between blocks and runs.
#[test]
fn records_are_sorted_stably() {
    let folder = tempfile::tempdir().unwrap();
    for values in [1, 3, 1000, u64::MAX] {
        let records: Vec<[u64; 2]> = random(200_000).into_iter().enumerate().map(|(i, key)| [key % values, i as u64]).collect();
        for options in [Options::ascending(), Options::descending(), Options::descending().bits(1..9)] {
            let (output, summary) = sorted(ByKey::new(|record: &[u64; 2]| record[0]), &records, options, folder.path());
            assert!(summary.runs > 5, "{summary:?}");
            let mut expected = records.clone();
            match options {
                _ if options == Options::ascending() => expected.sort_by_key(|record| record[0]),
                _ if options == Options::descending() => expected.sort_by_key(|record| !record[0]),
                _ => expected.sort_by_key(|record| !(record[0] >> 1 & 0xff)),
            }
            assert!(output == expected, "{values} values, {options:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_length(len in 0..400_000_usize, shift in 0..32_u32) {
        let folder = tempfile::tempdir().unwrap();
        let keys: Vec<f32> = random(len).iter().map(|&raw| f32::from_bits(raw as u32 >> shift)).collect();
        let (output, _) = sorted(Keys::<f32>::new(), &keys, Options::descending(), folder.path());
        let mut expected = keys;
        expected.sort_by(|a, b| b.total_cmp(a));
        prop_assert!(bytemuck::cast_slice::<_, u8>(&output) == bytemuck::cast_slice::<_, u8>(&expected));
    }
}

/// An input whose every other read is interrupted, which is no error.
struct Interrupted<'a> {
    input: &'a [u8],
    is_next: bool,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.is_next = !self.is_next;
        if self.is_next { self.input.read(bytes) } else { Err(io::ErrorKind::Interrupted.into()) }
    }
}

#[test]
fn an_interrupted_read_is_repeated() {
    let keys: Vec<u64> = (0..1000).rev().collect();
    let (input, mut output) = (Interrupted { input: bytemuck::cast_slice(&keys), is_next: true }, vec![]);
    Sorter::new(Keys::<u64>::new(), RayonBackend::default()).sort(input, &mut output).unwrap();
    assert!(bytemuck::pod_collect_to_vec::<u8, u64>(&output).into_iter().eq(0..1000));
}

#[test]
fn a_file_is_replaced_when_its_sort_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers");
    std::fs::write(&path, bytemuck::cast_slice::<u64, u8>(&random(300_000))).unwrap();
    let before = std::fs::read(&path).unwrap();
    let sorter = || Sorter::new(Keys::<u64>::new(), RayonBackend::default()).memory(MIB).folder(folder.path());
    let error = sorter().on_progress(|_| ControlFlow::Break(())).sort_file(&path, &path).unwrap_err();
    assert!(matches!(error, ExternalError::Cancelled));
    assert!(std::fs::read(&path).unwrap() == before);
    sorter().sort_file(&path, &path).unwrap();
    assert!(bytemuck::pod_collect_to_vec::<u8, u64>(&std::fs::read(&path).unwrap()).is_sorted());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// In both phases, and nothing is left.
#[test]
fn cancel_and_panic() {
    let folder = tempfile::tempdir().unwrap();
    let keys = random(600_000);
    for in_runs in [true, false] {
        for panics in [false, true] {
            let mut reports = 0;
            let mut sorter = Sorter::new(Keys::<u64>::new(), RayonBackend::default())
                .memory(MIB)
                .folder(folder.path())
                .on_progress(|progress| {
                    reports += usize::from((progress.phase == Phase::Runs) == in_runs);
                    assert!(!panics || reports < 3, "on purpose");
                    if reports == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            let result = catch_unwind(AssertUnwindSafe(|| sorter.sort(bytemuck::cast_slice(&keys), io::sink())));
            assert_eq!(result.is_err(), panics);
            assert!(result.is_err() || matches!(result, Ok(Err(ExternalError::Cancelled))));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn wrong_calls_are_refused() {
    let mut sorter = Sorter::new(Keys::<u32>::new(), RayonBackend::default());
    let error = sorter.sort(&[0; 10][..], vec![]).unwrap_err();
    assert!(matches!(error, ExternalError::PartialRecord { left: 2, record: 4, .. }), "{error}");
    let error = sorter.memory(1000).sort(&[0; 8][..], vec![]).unwrap_err();
    assert!(matches!(error, ExternalError::MemoryTooSmall { cap: 1000, .. }), "{error}");
    let mut sorter = Sorter::new(Keys::<u64>::new(), RayonBackend::default()).memory(MIB).folder("/no/such/folder");
    let error = sorter.sort(bytemuck::cast_slice(&random(200_000)), vec![]).unwrap_err();
    assert!(
        matches!(error, ExternalError::Spill { what: "created", .. }) && error.to_string().contains("/no/such/folder"),
        "{error}"
    );
}

#[cfg(feature = "lz4")]
#[test]
fn compressed_spill_files_are_smaller() {
    let keys: Vec<u64> = random(500_000).iter().map(|key| key & 0xfff).collect();
    let mut output = vec![];
    let summary = Sorter::new(Keys::<u64>::new(), RayonBackend::default())
        .memory(MIB)
        .compressed()
        .sort(bytemuck::cast_slice(&keys), &mut output)
        .unwrap();
    assert!(summary.runs > 5 && summary.spilled_bytes < 8 * 500_000 / 2, "{summary:?}");
    let mut expected = keys;
    expected.sort_unstable();
    assert!(bytemuck::pod_collect_to_vec::<u8, u64>(&output) == expected);
}
