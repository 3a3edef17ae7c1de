//! Sorts columns with polysort and with arrow, in turns, and prints the medians of both.
//!
//! `cargo run --release -p polysort-arrow --example beside_arrow -- [LOG2_ROWS]… [--reps N] [--only TEXT]`
//!
//! Without arguments it sorts 2^20 and 2^22 rows 9 times; `--only` selects the columns whose name contains TEXT. It verifies answers: the rows are a permutation, arrow's values at each place are
//! equal, and equal rows are in their input order.

use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray, StringArray};
use arrow_ord::ord::{DynComparator, make_comparator};
use polysort_arrow::SortColumn;
use polysort_measure::{Effort, Series, Trial, take_turns, timed};
use polysort_rayon::RayonBackend;
use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut sizes, mut reps, mut only) = (Vec::new(), 9, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--reps" => reps = arguments.next().ok_or("--reps takes a number")?.parse()?,
            "--only" => only = arguments.next().ok_or("--only takes a text")?,
            bits => sizes.push(bits.parse::<u32>()?),
        }
    }
    if sizes.is_empty() {
        sizes = vec![20, 22];
    }
    let threads = std::thread::available_parallelism()?.get();
    println!("medians of {reps}, in ms; × is arrow's time divided by ours; {threads} threads at most");
    println!(
        "{:26} {:>5} {:>9} {:>9} {:>7} {:>9} {:>7}",
        "columns",
        "rows",
        "arrow",
        "1 thread",
        "×",
        format!("{threads} thr."),
        "×"
    );
    for bits in sizes {
        let rng = &mut SmallRng::seed_from_u64(u64::from(bits));
        for (name, columns) in cases(1 << bits, rng).into_iter().filter(|(name, _)| name.contains(&only)) {
            let systems = [None, Some(RayonBackend::with_threads(1)?), Some(RayonBackend::with_threads(threads)?)];
            let times = medians(&columns, &systems, reps)?;
            let ms = times.map(|time| time.as_secs_f64() * 1e3);
            let [arrow, one, all] = ms;
            println!("{name:26} 2^{bits:<3} {arrow:9.2} {one:9.2} {:7.2} {all:9.2} {:7.2}", arrow / one, arrow / all);
        }
    }
    Ok(())
}

/// The columns that are sorted, with their names.
fn cases(len: usize, rng: &mut SmallRng) -> Vec<(&'static str, Vec<SortColumn>)> {
    let rows = len as i64;
    let words: Vec<String> = (0..1000).map(|_| random_text(rng, 8..33)).collect();
    let few = |rng: &mut SmallRng| Some(i64::MIN.wrapping_add((i64::MAX / 50).wrapping_mul(rng.random_range(0..100))));
    let day = |rng: &mut SmallRng| rng.random_range(8000..10_500);
    let url = |rng: &mut SmallRng| format!("https://example.org/{}", random_text(rng, 4..20));
    let nullable = |rng: &mut SmallRng| rng.random_bool(0.9).then(|| rng.random());
    let small = |rng: &mut SmallRng| rng.random_bool(0.9).then(|| rng.random_range(0..1_000_000));
    vec![
        ("i64", columns([ints(len, rng, |rng| Some(rng.random()))])),
        ("i64, 10 % nulls", columns([ints(len, rng, nullable)])),
        ("i64 < 10^6, 10 % nulls", columns([ints(len, rng, small)])),
        ("f64", columns([floats(len, rng, 0.0)])),
        ("f64, 10 % nulls", columns([floats(len, rng, 0.1)])),
        ("(i32, i64)", columns([narrow_ints(len, rng, RngExt::random), ints(len, rng, |rng| Some(rng.random()))])),
        ("(2500 days, i64 < rows)", columns([narrow_ints(len, rng, day), ints(len, rng, |rng| Some(rng.random_range(0..rows)))])),
        ("(100 wide i64, i64)", columns([ints(len, rng, few), ints(len, rng, |rng| Some(rng.random()))])),
        ("Utf8, 8 to 32 bytes", columns([strings(len, rng, |rng| random_text(rng, 8..33))])),
        ("Utf8, shared 20 bytes", columns([strings(len, rng, url)])),
        ("Utf8, 1000 different", columns([strings(len, rng, |rng| words[rng.random_range(0..1000)].clone())])),
    ]
}

fn columns<const N: usize>(values: [ArrayRef; N]) -> Vec<SortColumn> {
    values.into_iter().map(|values| SortColumn { values, options: None }).collect()
}

fn narrow_ints(len: usize, rng: &mut SmallRng, mut value: impl FnMut(&mut SmallRng) -> i32) -> ArrayRef {
    Arc::new((0..len).map(|_| Some(value(rng))).collect::<PrimitiveArray<Int32Type>>())
}

fn ints(len: usize, rng: &mut SmallRng, mut value: impl FnMut(&mut SmallRng) -> Option<i64>) -> ArrayRef {
    Arc::new((0..len).map(|_| value(rng)).collect::<PrimitiveArray<Int64Type>>())
}

fn floats(len: usize, rng: &mut SmallRng, nulls: f64) -> ArrayRef {
    Arc::new(
        (0..len).map(|_| (!rng.random_bool(nulls)).then(|| rng.random::<f64>() - 0.5)).collect::<PrimitiveArray<Float64Type>>(),
    )
}

fn strings(len: usize, rng: &mut SmallRng, mut text: impl FnMut(&mut SmallRng) -> String) -> ArrayRef {
    Arc::new((0..len).map(|_| Some(text(rng))).collect::<StringArray>())
}

fn random_text(rng: &mut SmallRng, lengths: std::ops::Range<usize>) -> String {
    let mut bytes = vec![0; rng.random_range(lengths)];
    rng.fill_bytes(&mut bytes);
    bytes.iter().map(|byte| char::from(b'a' + byte % 26)).collect()
}

/// The median times of the systems, which take turns. `None` is arrow.
fn medians<const N: usize>(
    columns: &[SortColumn],
    systems: &[Option<RayonBackend>; N],
    reps: usize,
) -> Result<[Duration; N], Box<dyn Error>> {
    let compare = comparators(columns)?;
    let expected = arrow_ord::sort::lexsort_to_indices(columns, None)?;
    let mut series: [Series; N] = std::array::from_fn(|_| Series::default());
    let mut verified = [0; N];
    take_turns(&mut series, Effort::rounds(1, reps), |at| {
        let (time, order) = timed(|| match &systems[at] {
            None => arrow_ord::sort::lexsort_to_indices(black_box(columns), None),
            Some(backend) => polysort_arrow::lexsort_to_indices(backend, black_box(columns), None),
        });
        let order = order?;
        // The first two answers: a comparison takes longer than a sort.
        let is_right = systems[at].is_none() || verified[at] == 2 || is_stable(order.values(), expected.values(), &compare);
        verified[at] = (verified[at] + 1).min(2);
        Ok::<_, arrow_schema::ArrowError>(Trial::new(time, is_right))
    });
    assert!(series.iter().all(Series::is_verified), "another order, or not stable: {series:?}");
    Ok(series.map(|series| series.ranked().median()))
}

fn comparators(columns: &[SortColumn]) -> Result<Vec<DynComparator>, Box<dyn Error>> {
    let compare = |column: &SortColumn| make_comparator(&column.values, &column.values, column.options.unwrap_or_default());
    Ok(columns.iter().map(compare).collect::<Result<_, _>>()?)
}

/// Whether `order` is the stable order whose values `expected`, in any order of equal rows, has.
fn is_stable(order: &[u32], expected: &[u32], compare: &[DynComparator]) -> bool {
    let equal = |a: u32, b: u32| compare.iter().all(|compare| compare(a as usize, b as usize).is_eq());
    order.len() == expected.len()
        && order.iter().zip(expected).all(|(&ours, &theirs)| equal(ours, theirs))
        && order.windows(2).all(|rows| rows[0] < rows[1] || !equal(rows[0], rows[1]))
}
