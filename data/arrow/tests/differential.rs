//! Random arrays and batches, beside arrow's own sorts.
//!
//! Each case compares three orders. The expected one is std's stable sort by arrow's comparator. Ours must be the same row by row, so that it
//! is stable. Arrow's must have equal values at each place, so that the comparator is the one that arrow sorts by.

mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, ListArray, NullArray, RecordBatch, RecordBatchOptions,
    StringViewArray, StructArray, UInt32Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_ord::ord::make_comparator;
use arrow_schema::{ArrowError, DataType, Field, Schema, SortOptions};
use arrow_select::concat::concat_batches;
use arrow_select::take::{take, take_record_batch};
use polysort_arrow::{NumberedRows, SortBy, SortColumn, cpu, lexsort_to_indices_on_threads};
use polysort_rayon::RayonBackend;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::ops::Range;
use std::sync::Arc;
use support::{array, comparator, limit, options, stable_order, types};

/// A length: tiny in most cases.
fn len(rng: &mut SmallRng) -> usize {
    match rng.random_range(0..100) {
        0..80 => rng.random_range(0..40),
        80..97 => rng.random_range(40..600),
        _ => rng.random_range(600..5000),
    }
}

/// A column of one of `types`.
fn column(rng: &mut SmallRng, types: &[DataType], len: usize) -> SortColumn {
    let data_type = &types[rng.random_range(0..types.len())];
    SortColumn { values: array(rng, data_type, len), options: options(rng) }
}

/// Checks a call on columns beside arrow's result of the same call.
fn check(columns: &[SortColumn], limit: Option<usize>, ours: &UInt32Array, arrow: &UInt32Array, case: &str) {
    let expected = stable_order(columns, limit);
    assert_eq!(ours.values(), &expected, "{case}: the order is not the stable one");
    let compare = comparator(columns);
    let is_equal = arrow.len() == expected.len() && arrow.values().iter().zip(&expected).all(|(&a, &b)| compare(a, b).is_eq());
    assert!(is_equal, "{case}: arrow has another order");
}

/// Checks that two arrays have equal values.
fn check_values(ours: &ArrayRef, arrow: &ArrayRef, case: &str) {
    assert_eq!((ours.data_type(), ours.len()), (arrow.data_type(), arrow.len()), "{case}");
    let compare = make_comparator(ours, arrow, SortOptions::default()).unwrap();
    assert!((0..ours.len()).all(|row| compare(row, row).is_eq()), "{case}: other values");
}

/// Arrow sorts dictionaries of some types only by several columns.
fn arrow_order(column: &SortColumn, limit: Option<usize>) -> Result<UInt32Array, ArrowError> {
    arrow_ord::sort::lexsort_to_indices(std::slice::from_ref(column), limit)
}

/// The seeds that a test takes: the first `all`, or the first `all / shorter` if it is not thorough.
fn seeds(all: u64, shorter: u64) -> Range<u64> {
    0..if polysort_kit::is_thorough() { all } else { all / shorter }
}

#[test]
fn one_column() {
    let mut cases = 0;
    for data_type in types() {
        for seed in seeds(200, 2) {
            let rng = &mut SmallRng::seed_from_u64(seed);
            let len = len(rng);
            let (values, options, limit) = (array(rng, &data_type, len), options(rng), limit(rng, len));
            let case = format!("{data_type}, seed {seed}, {len} rows, {options:?}, limit {limit:?}");
            let columns = [SortColumn { values: values.clone(), options }];
            let arrow = arrow_order(&columns[0], limit).unwrap();
            check(&columns, limit, &cpu::sort_to_indices(&values, options, limit).unwrap(), &arrow, &case);

            let arrow = take(&values, &UInt32Array::from(stable_order(&columns, None)), None).unwrap();
            check_values(&cpu::sort(&values, options).unwrap(), &arrow, &case);
            check_values(
                &cpu::sort_limit(&values, options, limit).unwrap(),
                &arrow.slice(0, limit.unwrap_or(len).min(len)),
                &case,
            );
            if let Ok(ranks) = arrow_ord::rank::rank(&values, options) {
                assert_eq!(cpu::rank(&values, options).unwrap(), ranks, "{case}");
            }
            cases += 1;
        }
    }
    assert!(cases >= 5000, "{cases} cases");
}

#[test]
fn several_columns() {
    let types = types();
    for seed in seeds(4000, 3) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let len = len(rng);
        let columns: Vec<SortColumn> = (0..rng.random_range(1..5)).map(|_| column(rng, &types, len)).collect();
        let limit = limit(rng, len);
        let names: Vec<_> = columns.iter().map(|column| (column.values.data_type().to_string(), column.options)).collect();
        let case = format!("seed {seed}, {len} rows, {names:?}, limit {limit:?}");
        let arrow = arrow_ord::sort::lexsort_to_indices(&columns, limit).unwrap();
        check(&columns, limit, &cpu::lexsort_to_indices(&columns, limit).unwrap(), &arrow, &case);
        let sorted = cpu::lexsort(&columns, limit).unwrap();
        for (column, sorted) in columns.iter().zip(&sorted) {
            let expected = take(&column.values, &UInt32Array::from(stable_order(&columns, limit)), None).unwrap();
            check_values(sorted, &expected, &case);
        }
    }
}

#[test]
fn long_columns() {
    let types = types();
    for seed in seeds(60, 6) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let len = rng.random_range(70_000..150_000);
        let columns: Vec<SortColumn> = (0..1 + seed % 2).map(|_| column(rng, &types, len)).collect();
        let limit = limit(rng, len);
        let ours = cpu::lexsort_to_indices(&columns, limit).unwrap();
        // Of three threads, two or three have rows.
        let on_threads = lexsort_to_indices_on_threads(&RayonBackend::default(), &columns, limit, 3).unwrap();
        assert_eq!(on_threads, ours, "seed {seed}, {len} rows");
        let names: Vec<_> = columns.iter().map(|column| column.values.data_type().to_string()).collect();
        let arrow = arrow_ord::sort::lexsort_to_indices(&columns, limit).unwrap();
        check(&columns, limit, &ours, &arrow, &format!("seed {seed}, {len} rows, {names:?}, limit {limit:?}"));
    }
}

#[test]
fn batches() {
    let types = types();
    for seed in 0..500 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let types: Vec<&DataType> = (0..rng.random_range(1..4)).map(|_| &types[rng.random_range(0..types.len())]).collect();
        let fields: Vec<_> =
            types.iter().enumerate().map(|(i, &data_type)| Field::new(format!("{i}"), data_type.clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let len = len(rng);
        let columns: Vec<ArrayRef> = types.iter().map(|data_type| array(rng, data_type, len)).collect();
        let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
        let by: Vec<SortBy> = (0..rng.random_range(1..4))
            .map(|_| SortBy { column: rng.random_range(0..types.len()), options: options(rng).unwrap_or_default() })
            .collect();
        let limit = limit(rng, len);
        let columns: Vec<_> =
            by.iter().map(|by| SortColumn { values: batch.column(by.column).clone(), options: Some(by.options) }).collect();
        let expected = take_record_batch(&batch, &UInt32Array::from(stable_order(&columns, limit))).unwrap();
        let mut cuts: Vec<usize> = (0..rng.random_range(0..4)).map(|_| rng.random_range(0..=len)).chain([0, len]).collect();
        cuts.sort_unstable();
        let parts: Vec<RecordBatch> = cuts.windows(2).map(|cut| batch.slice(cut[0], cut[1] - cut[0])).collect();
        for sorted in [cpu::sort_batch(&batch, &by, limit).unwrap(), cpu::sort_batches(&schema, &parts, &by, limit).unwrap()] {
            for (ours, expected) in sorted.columns().iter().zip(expected.columns()) {
                check_values(ours, expected, &format!("seed {seed}, {by:?}, limit {limit:?}, {schema}"));
            }
        }
    }
}

/// Rows of random batches, with a column of each type that is sorted except dictionaries, in a random order, from columns and packed. Arrow's `take` of one batch of all rows is what is expected.
#[test]
fn packed_rows_are_the_same_rows() {
    let mut rng = SmallRng::seed_from_u64(27);
    let types: Vec<DataType> = types().into_iter().filter(|data_type| !matches!(data_type, DataType::Dictionary(..))).collect();
    let fields = types.iter().enumerate().map(|(index, data_type)| Field::new(index.to_string(), data_type.clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    for round in 0..60 {
        // Tiles of 1024 rows, one and several.
        let most = if round % 20 == 0 { 3000 } else { 40 };
        let batches: Vec<RecordBatch> = (0..rng.random_range(2..6))
            .map(|_| {
                let len = rng.random_range(0..most);
                let columns = types.iter().map(|data_type| array(&mut rng, data_type, len)).collect();
                RecordBatch::try_new(schema.clone(), columns).unwrap()
            })
            .collect();
        let all = concat_batches(&schema, &batches).unwrap();
        let (rows, threads) = (NumberedRows::new(schema.clone(), batches).unwrap(), rng.random_range(1..4));
        let packed = rows.clone().packed(threads);
        assert_eq!(packed.len(), all.num_rows());
        let len = if all.num_rows() == 0 { 0 } else { rng.random_range(0..2 * all.num_rows()) };
        let numbers: Vec<u32> = (0..len).map(|_| rng.random_range(0..all.num_rows() as u32)).collect();
        let expected = take_record_batch(&all, &UInt32Array::from(numbers.clone())).unwrap();
        for (name, rows) in [("columns", &rows), ("packed", &packed)] {
            let taken = rows.take(&numbers).unwrap();
            for (index, data_type) in types.iter().enumerate() {
                assert_eq!(taken.column(index), expected.column(index), "round {round}, {name}, {data_type}");
                // Arrow checks every view and every offset.
                taken.column(index).to_data().validate_full().unwrap();
            }
        }
    }
}

/// Rows of types that are gathered by arrow's `interleave`, beside columns that are packed.
#[test]
fn rows_of_nested_types_and_dictionaries() {
    let batch = |first: i32| {
        let ids = first..first + 100;
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
            ids.clone().map(|id| (id % 7 > 0).then(|| vec![Some(id); id as usize % 3])),
        );
        let structs =
            StructArray::try_from(vec![("inner", Arc::new(Int32Array::from_iter_values(ids.clone())) as ArrayRef)]).unwrap();
        let words: DictionaryArray<Int16Type> =
            ids.clone().map(|id| (id % 5 > 0).then(|| ["a", "b", "c"][id as usize % 3])).collect();
        let columns: [(&str, ArrayRef, bool); 6] = [
            ("id", Arc::new(Int32Array::from_iter_values(ids.clone())), true),
            ("double", Arc::new(Int64Array::from_iter_values(ids.map(|id| 2 * i64::from(id)))), true),
            ("list", Arc::new(lists), true),
            ("struct", Arc::new(structs), true),
            ("word", Arc::new(words), true),
            ("null", Arc::new(NullArray::new(100)), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let batches: Vec<RecordBatch> = (0..5).map(|index| batch(100 * index)).collect();
    let schema = batches[0].schema();
    let all = concat_batches(&schema, &batches).unwrap();
    let numbers: Vec<u32> = (0..700).map(|row| row * 191 % 500).collect();
    let expected = take_record_batch(&all, &UInt32Array::from(numbers.clone())).unwrap();
    let rows = NumberedRows::new(schema, batches).unwrap();
    assert_eq!(rows.packed_bytes(), Some(500 * 12));
    let packed = rows.clone().packed(2);
    assert_eq!(packed.packed_bytes(), None, "they are packed already");
    for rows in [rows, packed] {
        // Dictionaries may have other keys for the same values, so the comparison is of values.
        let values = |batch: &RecordBatch| -> Vec<ArrayRef> {
            batch
                .columns()
                .iter()
                .map(|column| match column.as_any_dictionary_opt() {
                    Some(dictionary) => take(dictionary.values(), dictionary.keys(), None).unwrap(),
                    None => column.clone(),
                })
                .collect()
        };
        assert_eq!(values(&rows.take(&numbers).unwrap()), values(&expected));
        assert_eq!(rows.take(&[]).unwrap().num_rows(), 0);
    }
}

/// Rows without columns still have a number.
#[test]
fn rows_without_columns() {
    let schema = Arc::new(Schema::empty());
    let batch = |rows| {
        RecordBatch::try_new_with_options(schema.clone(), vec![], &RecordBatchOptions::new().with_row_count(Some(rows))).unwrap()
    };
    let rows = NumberedRows::new(schema.clone(), vec![batch(3), batch(4)]).unwrap();
    assert_eq!((rows.packed_bytes(), rows.len(), rows.take(&[6, 0]).unwrap().num_rows()), (None, 7, 2));
}

/// 300 dictionaries of 128 values of a type that arrow does not compare have more values than keys of 16 bits can number.
#[test]
fn dictionaries_of_too_many_values_are_an_error() {
    let batch = |index: usize| {
        let values = StringViewArray::from_iter_values((0..128).map(|value| format!("{index}, {value}")));
        let words = DictionaryArray::<Int16Type>::try_new((0..128).collect::<Vec<i16>>().into(), Arc::new(values)).unwrap();
        RecordBatch::try_from_iter([("word", Arc::new(words) as ArrayRef)]).unwrap()
    };
    let batches: Vec<RecordBatch> = (0..300).map(batch).collect();
    let rows = NumberedRows::new(batches[0].schema(), batches).unwrap();
    let all: Vec<u32> = (0..38_400).rev().collect();
    assert!(matches!(rows.take(&all), Err(ArrowError::DictionaryKeyOverflowError)));
    // Rows of few batches need the values of those batches alone.
    let some = rows.take(&[38_399, 5]).unwrap();
    let words = some.column(0).as_any_dictionary();
    let words = take(words.values(), words.keys(), None).unwrap();
    assert!(words.as_string_view().iter().eq([Some("299, 127"), Some("0, 5")]));
}

/// Arrays that share one dictionary need no more keys together than each needs.
#[test]
fn a_shared_dictionary_needs_its_keys_once() {
    let values: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..5000).map(|value| format!("word {value}"))));
    let batch = |index: i16| {
        let words = DictionaryArray::<Int16Type>::try_new(
            (0..500).map(|row| 500 * index + row).collect::<Vec<i16>>().into(),
            values.clone(),
        );
        RecordBatch::try_from_iter([("word", Arc::new(words.unwrap()) as ArrayRef)]).unwrap()
    };
    let batches: Vec<RecordBatch> = (0..10).map(batch).collect();
    let rows = NumberedRows::new(batches[0].schema(), batches).unwrap();
    let taken = rows.take(&(0..5000).rev().collect::<Vec<u32>>()).unwrap();
    let words = taken.column(0).as_any_dictionary();
    let words = take(words.values(), words.keys(), None).unwrap();
    assert!(words.as_string_view().iter().enumerate().all(|(row, word)| word == Some(&*format!("word {}", 4999 - row))));
}

/// Keys of 8 bits, which number 128 values, also within structs and lists. The numbers of the values of each array begin after those of the arrays before it, and
/// the first one must be a key even if an array has no values.
#[test]
fn dictionaries_in_other_arrays_that_overflow_are_an_error() {
    let dictionary = |len: usize, word: &str| -> ArrayRef {
        let values = StringViewArray::from_iter_values((0..len).map(|value| format!("{word} {value}")));
        let keys = Int8Array::from_iter((0..128).map(|key| (key < len).then_some(key as i8)));
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys, Arc::new(values)).unwrap())
    };
    let structs = |array: ArrayRef| -> ArrayRef {
        let field = Field::new("word", array.data_type().clone(), true);
        Arc::new(StructArray::new(vec![field].into(), vec![array], None))
    };
    let lists = |array: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new_list_field(array.data_type().clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_repeated_length(1, array.len()), array, None))
    };
    for wrap in [&(|array| array) as &dyn Fn(ArrayRef) -> ArrayRef, &structs, &lists] {
        for (first, second, fits) in
            [(128, 128, false), (128, 1, false), (128, 0, false), (100, 100, false), (100, 28, true), (1, 127, true)]
        {
            let batches = [dictionary(first, "a"), dictionary(second, "b")]
                .map(|array| RecordBatch::try_from_iter_with_nullable([("word", wrap(array), true)]).unwrap());
            let rows = NumberedRows::new(batches[0].schema(), batches.into()).unwrap();
            let taken = rows.take(&(0..256).collect::<Vec<u32>>());
            match taken {
                Ok(taken) => assert!(fits && taken.num_rows() == 256, "{first} and {second} values"),
                Err(ArrowError::DictionaryKeyOverflowError) => assert!(!fits, "{first} and {second} values"),
                Err(error) => panic!("{first} and {second} values: {error}"),
            }
            assert_eq!(rows.take(&[127, 5]).unwrap().num_rows(), 2);
        }
    }
}
