//! Sorts and merges of rows of any length beside a stable sort in memory.

use polysort_core::Options;
use polysort_external::{ExternalError, Rows, Sorter, Summary};
use polysort_rayon::RayonBackend;
use std::io;
use std::path::Path;

const MIB: usize = 1 << 20;

type Row = (f64, Vec<u8>);

fn random(len: usize) -> impl Iterator<Item = u64> {
    let mut state = len as u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ z >> 29
    })
    .take(len)
}

/// Rows with keys of few or many values. `longest` bytes at most; many are empty.
fn rows(len: usize, values: u64, longest: u64) -> Vec<Row> {
    let row = |(number, random): (usize, u64)| {
        let length = (random >> 40) % (longest + 1) / (1 + (random >> 20) % 97);
        let mut row = format!("{number}\n").into_bytes();
        row.truncate(length as usize);
        row.resize(length as usize, (random >> 8) as u8);
        ((random % values) as f64 - values as f64 / 2.0, row)
    };
    random(len).enumerate().map(row).collect()
}

fn reader(rows: &[Row]) -> impl FnMut(&mut Vec<u8>) -> io::Result<Option<f64>> + Send {
    let mut rows = rows.iter();
    move |text| {
        let row = rows.next();
        Ok(row.map(|(key, row)| {
            text.extend_from_slice(row);
            *key
        }))
    }
}

fn sorter(options: Options, folder: &Path) -> Sorter<'static, Rows<f64>, RayonBackend> {
    Sorter::new(Rows::new(), RayonBackend::default()).memory(MIB).options(options).folder(folder)
}

fn in_order(rows: &[Row], options: Options) -> Vec<Row> {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| if options == Options::descending() { b.0.total_cmp(&a.0) } else { a.0.total_cmp(&b.0) });
    sorted
}

fn text(rows: &[Row]) -> Vec<u8> {
    rows.iter().flat_map(|(_, row)| row).copied().collect()
}

fn check(rows: &[Row], options: Options) -> Summary {
    let (folder, mut output) = (tempfile::tempdir().unwrap(), vec![]);
    let summary = sorter(options, folder.path()).sort_rows(reader(rows), &mut output).unwrap();
    assert_eq!(summary.records, rows.len() as u64);
    assert!(output == text(&in_order(rows, options)), "{} rows, {options:?}", rows.len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    summary
}

#[test]
fn rows_are_sorted_stably() {
    for (len, longest) in [(0, 0), (1, 10), (500, 100), (60_000, 0), (80_000, 40), (20_000, 3000), (1500, 65_536)] {
        for values in [1, 20, 1 << 40] {
            for options in [Options::ascending(), Options::descending()] {
                let summary = check(&rows(len, values, longest), options);
                assert!(len < 1000 || summary.runs > 1, "{len} rows of up to {longest} bytes: {summary:?}");
            }
        }
    }
}

/// Long rows leave room for few runs at a time.
#[test]
fn long_rows_take_more_passes() {
    let mut rows = rows(60_000, 1000, 100);
    rows[5000].1 = vec![b'x'; 65_536];
    let summary = check(&rows, Options::ascending());
    assert!(summary.passes > 1, "{summary:?}");
}

#[test]
fn merges_are_stable() {
    let folder = tempfile::tempdir().unwrap();
    for (count, len) in [(0, 0), (1, 1000), (7, 20_000), (300, 300)] {
        for options in [Options::ascending(), Options::descending()] {
            let inputs: Vec<Vec<Row>> = (0..count).map(|input| in_order(&rows(len + input % 3, 50, 300), options)).collect();
            let mut output = vec![];
            let summary = sorter(options, folder.path()).merge_rows(inputs.iter().map(|rows| reader(rows)), &mut output).unwrap();
            assert_eq!(summary.passes, if count == 300 { 2 } else { 1 }, "{summary:?}");
            assert!(output == text(&in_order(&inputs.concat(), options)), "{count} × {len}");
        }
    }
}

#[test]
fn wrong_rows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sorter = || sorter(Options::ascending(), folder.path());
    let most = sorter().longest_row();
    let row = |len: usize| (0.0, vec![b'x'; len]);
    let error = sorter().sort_rows(reader(&[row(most), row(most + 1)]), vec![]).unwrap_err();
    assert!(matches!(error, ExternalError::RowTooLong { row: 1, cap: MIB, .. }), "{error}");
    let most = sorter().longest_merged_row();
    let error = sorter().merge_rows([reader(&[row(most), row(most), row(most + 1)])], vec![]).unwrap_err();
    assert!(matches!(error, ExternalError::RowTooLong { row: 2, cap: MIB, .. }), "{error}");
    let unsorted = [(1.0, vec![]), (2.0, vec![]), (1.5, vec![])];
    let error = sorter().merge_rows([reader(&unsorted[..2]), reader(&unsorted)], vec![]).unwrap_err();
    assert!(matches!(error, ExternalError::Unsorted { input: 1, record: 2, .. }), "{error}");
    let error = sorter().sort_rows(|_| Err(io::Error::other("on purpose")), vec![]).unwrap_err();
    assert!(matches!(&error, ExternalError::Input(error) if error.to_string() == "on purpose"), "{error}");
}
