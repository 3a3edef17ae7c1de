//! Sorts and merges of streams within a small memory cap, beside std's stable sort in memory.
#![no_main]

use arbitrary::Arbitrary;
use bytemuck::Pod;
use libfuzzer_sys::fuzz_target;
use polysort_core::{Options, Sortable};
use polysort_external::{ByKey, ExternalError, Keys as KeyRecords, Layout, Rows, Sorter};
use polysort_fuzz::{Choice, Keys, Len, Orders, Slow, Threads, in_order};
use polysort_kit::TestKey;
use polysort_rayon::RayonBackend;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

#[derive(Debug, Arbitrary)]
struct Input {
    operation: Operation,
    orders: Orders,
    threads: [Threads; 2],
    is_compressed: bool,
    memory: Choice,
    /// The bytes that a read returns, at most, which repeat.
    reads: Vec<u16>,
    /// Bytes that are missing at the end of the input.
    missing: Choice,
    /// The lengths of rows, or of the inputs of a merge, which repeat.
    lengths: Vec<Len>,
    keys: Keys,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Operation {
    Keys(Choice),
    Records,
    LongRecords,
    Rows,
    MergeKeys,
    MergeLongRecords,
    MergeRows,
    /// A merge of inputs of which one may not be sorted.
    MergeAny,
}

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));

/// A record of which few fit the memory cap: a key, and what follows from its position.
type LongRecord = [u64; 24];

/// The most inputs of a merge: more than are read at the same time.
const MOST_INPUTS: usize = 250;

fuzz_target!(|input: Input| {
    let folder = FOLDER.path();
    match input.operation {
        Operation::Keys(key) => match key.of(&[0, 1, 2, 3]) {
            0 => sort(&input, folder, KeyRecords::<u8>::new(), input.keys.of::<u8>(), |key| *key),
            1 => sort(&input, folder, KeyRecords::<f32>::new(), input.keys.of::<f32>(), |key| *key),
            2 => sort(&input, folder, KeyRecords::<u64>::new(), input.keys.of::<u64>(), |key| *key),
            _ => sort(&input, folder, KeyRecords::<i128>::new(), input.keys.of::<i128>(), |key| *key),
        },
        Operation::Records => sort(&input, folder, by_key(), records(&input.keys.of()), |record| record[0] as i64),
        Operation::LongRecords => sort(&input, folder, by_long_key(), long_records(&input.keys.of()), |record| record[0]),
        Operation::Rows => rows(&input, folder),
        Operation::MergeKeys => merge(&input, folder, KeyRecords::<u16>::new(), input.keys.of::<u16>(), |key| *key),
        Operation::MergeLongRecords | Operation::MergeAny => {
            merge(&input, folder, by_long_key(), long_records(&input.keys.of()), |record| record[0]);
        }
        Operation::MergeRows => merge_rows(&input, folder),
    }
    assert_eq!(std::fs::read_dir(folder).expect("the folder is there").count(), 0, "a spill file is left");
});

fn by_key() -> impl Layout<Record = [u64; 2]> {
    ByKey::new(|record: &[u64; 2]| record[0] as i64)
}

fn by_long_key() -> impl Layout<Record = LongRecord> {
    ByKey::new(|record: &LongRecord| record[0])
}

fn records(keys: &[i64]) -> Vec<[u64; 2]> {
    keys.iter().zip(0..).map(|(&key, at)| [key as u64, at]).collect()
}

fn long_records(keys: &[u64]) -> Vec<LongRecord> {
    // A longer input of long records takes too long.
    keys.iter()
        .take(20_000)
        .zip(0..)
        .map(|(&key, at)| core::array::from_fn(|i| if i == 0 { key } else { at * i as u64 }))
        .collect()
}

impl Input {
    fn sorter<L>(&self, layout: L, options: Options, folder: &Path) -> Sorter<'static, L, RayonBackend> {
        let memory = self.memory.of(&[1 << 20, 1 << 20, 1 << 20, 1_500_000, 1 << 22, 1000]);
        let [sorts, merges] = self.threads.map(Threads::backend);
        let sorter = Sorter::new(layout, sorts).memory(memory).options(options).folder(folder).merge_on(merges);
        if self.is_compressed { sorter.compressed() } else { sorter }
    }

    fn stream<'a>(&'a self, bytes: &'a [u8]) -> Slow<&'a [u8], &'a [u16]> {
        // A stream of single bytes takes too long.
        let reads = if bytes.len() > 50_000 { &[] } else { &self.reads[..] };
        Slow::new(bytes, reads)
    }

    /// Whether the memory cap is large enough.
    fn has_memory(&self) -> bool {
        self.memory.of(&[true, true, true, true, true, false])
    }

    /// The begins and the ends of the inputs of a merge.
    fn parts(&self, len: usize) -> Vec<[usize; 2]> {
        let (mut parts, mut at) = (vec![], 0);
        for &Len(part) in self.lengths.iter().cycle().take(MOST_INPUTS - 1) {
            let end = len.min(at + part);
            parts.push([at, end]);
            at = end;
        }
        parts.push([at, len]);
        parts
    }
}

/// Checks an error that is to be: of the memory cap, of the window, or of the end of the input.
#[track_caller]
fn is_refusal(error: &ExternalError, input: &Input, has_bits: bool, left: usize) {
    match error {
        ExternalError::MemoryTooSmall { .. } => assert!(!input.has_memory(), "{error}"),
        ExternalError::Sort(polysort_core::Error::InvalidRange { .. }) => assert!(!has_bits, "{error}"),
        ExternalError::PartialRecord { left: found, .. } => assert!(left > 0 && *found == left, "{error}: {left}"),
        _ => panic!("{error}"),
    }
}

/// Returns the positions of keys in the order of the options.
fn order<K: TestKey>(keys: &[K], options: Options) -> Vec<u32> {
    in_order(keys, options, [0..keys.len()])
}

fn sort<L: Layout, K: TestKey>(input: &Input, folder: &Path, layout: L, records: Vec<L::Record>, key: fn(&L::Record) -> K) {
    let (options, bits) = input.orders.of_width(<K as Sortable>::WIDTH);
    let bytes: &[u8] = bytemuck::cast_slice(&records);
    let missing = input.missing.of(&[0, 0, 0, 0, 0, 1, 3]).min(bytes.len());
    let bytes = &bytes[..bytes.len() - missing];
    let left = bytes.len() % size_of::<L::Record>();
    let mut output = vec![];
    let result = input.sorter(layout, options, folder).sort(input.stream(bytes), &mut output);
    let summary = match result {
        Ok(summary) => summary,
        Err(error) => return is_refusal(&error, input, bits.is_some(), left),
    };
    assert!(bits.is_some() && left == 0 && input.has_memory(), "{summary:?} of a wrong input");
    let records = &records[..bytes.len() / size_of::<L::Record>()];
    assert_eq!(summary.records, records.len() as u64);
    let keys: Vec<K> = records.iter().map(key).collect();
    let expected: Vec<L::Record> = order(&keys, options).into_iter().map(|at| records[at as usize]).collect();
    assert!(same_bytes(&output, &expected), "{summary:?}");
}

fn same_bytes<R: Pod>(output: &[u8], expected: &[R]) -> bool {
    output == bytemuck::cast_slice::<R, u8>(expected)
}

fn merge<L: Layout, K: TestKey>(input: &Input, folder: &Path, layout: L, mut records: Vec<L::Record>, key: fn(&L::Record) -> K) {
    let (options, bits) = input.orders.of_width(<K as Sortable>::WIDTH);
    let parts = input.parts(records.len());
    let sorted_part = |records: &[L::Record]| {
        let keys: Vec<K> = records.iter().map(key).collect();
        order(&keys, options)
    };
    let mut are_sorted = true;
    if bits.is_some() {
        for &[begin, end] in &parts {
            let part = records[begin..end].to_vec();
            let sorted = sorted_part(&part);
            if matches!(input.operation, Operation::MergeAny) {
                are_sorted &= sorted.into_iter().eq(0..part.len() as u32);
            } else {
                sorted.into_iter().zip(&mut records[begin..end]).for_each(|(from, to)| *to = part[from as usize]);
            }
        }
    }
    let mut output = vec![];
    let streams = parts.iter().map(|&[begin, end]| input.stream(bytemuck::cast_slice(&records[begin..end])));
    let summary = match input.sorter(layout, options, folder).merge(streams, &mut output) {
        Ok(summary) => summary,
        Err(ExternalError::Unsorted { input, record, .. }) => {
            assert!(!are_sorted, "each input is sorted, and so is input {input}");
            let [begin, end] = parts[input];
            let keys: Vec<K> = records[begin..end].iter().map(key).collect();
            let pair = &keys[record as usize - 1..=record as usize];
            assert_eq!(order(pair, options), [1, 0], "record {record} of input {input}");
            return;
        }
        Err(error) => return is_refusal(&error, input, bits.is_some(), 0),
    };
    assert!(bits.is_some() && are_sorted && input.has_memory(), "{summary:?} of a wrong input");
    assert_eq!(summary.records, records.len() as u64);
    let expected: Vec<L::Record> = sorted_part(&records).into_iter().map(|at| records[at as usize]).collect();
    assert!(same_bytes(&output, &expected), "{summary:?}");
}

/// A row: its key and its text.
type Row = (f64, Vec<u8>);

/// The most bytes of all rows.
const MOST_TEXT: usize = 2 << 20;

/// Rows with the lengths of the input. The text of a row tells its position.
fn rows_of(input: &Input) -> Vec<Row> {
    let keys: Vec<f64> = input.keys.of();
    let mut text = 0;
    let row = |(at, &key): (usize, &f64)| {
        let len = input.lengths.get(at % input.lengths.len().max(1)).map_or(at % 7, |len| len.0);
        let mut row = format!("{at}\n").into_bytes();
        row.resize(len, at as u8);
        text += len;
        (text <= MOST_TEXT).then_some((key, row))
    };
    keys.iter().enumerate().map_while(row).collect()
}

fn reader(rows: &[Row]) -> impl FnMut(&mut Vec<u8>) -> io::Result<Option<f64>> + Send {
    let mut rows = rows.iter();
    move |text| {
        Ok(rows.next().map(|(key, row)| {
            text.extend_from_slice(row);
            *key
        }))
    }
}

/// Returns the text of all rows in the order of the options.
fn text_in_order(rows: &[Row], options: Options) -> Vec<u8> {
    let keys: Vec<f64> = rows.iter().map(|&(key, _)| key).collect();
    order(&keys, options).into_iter().flat_map(|at| rows[at as usize].1.iter().copied()).collect()
}

fn rows(input: &Input, folder: &Path) {
    let rows = rows_of(input);
    let (options, bits) = input.orders.of_width(64);
    let mut sorter = input.sorter(Rows::<f64>::new(), options, folder);
    let most = sorter.longest_row();
    let mut output = vec![];
    let result = sorter.sort_rows(reader(&rows), &mut output);
    let first_long = rows.iter().position(|(_, row)| row.len() > most);
    let summary = match result {
        Err(ExternalError::RowTooLong { row, .. }) => return assert_eq!(Some(row as usize), first_long),
        Err(error) => return is_refusal(&error, input, bits.is_some(), 0),
        Ok(summary) => summary,
    };
    assert!(bits.is_some() && input.has_memory() && first_long.is_none(), "{summary:?} of a wrong input");
    assert_eq!(summary.records, rows.len() as u64);
    assert!(output == text_in_order(&rows, options), "{summary:?}");
}

fn merge_rows(input: &Input, folder: &Path) {
    let mut rows = rows_of(input);
    let (options, bits) = input.orders.of_width(64);
    let parts = input.parts(rows.len());
    if bits.is_some() {
        for &[begin, end] in &parts {
            let keys: Vec<f64> = rows[begin..end].iter().map(|row| row.0).collect();
            let sorted: Vec<Row> = order(&keys, options).into_iter().map(|at| rows[begin + at as usize].clone()).collect();
            rows[begin..end].clone_from_slice(&sorted);
        }
    }
    let mut sorter = input.sorter(Rows::<f64>::new(), options, folder);
    let most = sorter.longest_merged_row();
    let mut output = vec![];
    let result = sorter.merge_rows(parts.iter().map(|&[begin, end]| reader(&rows[begin..end])), &mut output);
    let is_long = |at: usize| rows[at].1.len() > most;
    let summary = match result {
        Err(ExternalError::RowTooLong { row, .. }) => {
            let is_in_part = |&[begin, end]: &[usize; 2]| begin + (row as usize) < end && is_long(begin + row as usize);
            return assert!(parts.iter().any(is_in_part), "row {row} is not too long");
        }
        Err(error) => return is_refusal(&error, input, bits.is_some(), 0),
        Ok(summary) => summary,
    };
    assert!(bits.is_some() && input.has_memory() && !(0..rows.len()).any(is_long), "{summary:?} of a wrong input");
    assert_eq!(summary.records, rows.len() as u64);
    assert!(output == text_in_order(&rows, options), "{summary:?}");
}
