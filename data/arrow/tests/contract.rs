//! What the functions promise beside the order: types that arrow sorts, errors, and every backend.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
use arrow_array::*;
use arrow_schema::{ArrowError, DataType, Field, Schema, SortOptions};
use polysort_arrow::{
    NumberedRows, SortBy, SortColumn, lexsort_to_indices, rank, sort, sort_batch, sort_batches, sort_limit, sort_to_indices,
};
use polysort_core::{AnyOperation, Backend, Error, Limits, Operation, Spec, Word, with_word};
use polysort_kit::StdBackend;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A device that fails.
#[derive(Clone)]
struct Broken;

impl Broken {
    fn error() -> Error {
        Error::Unsupported { what: "anything".into() }
    }
}

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
        Err(Self::error())
    }

    fn sort_pairs_bits<W: Word, V: polysort_core::Pod>(&self, _: &mut [W], _: &mut [V], _: Spec) -> Result<(), Error> {
        Err(Self::error())
    }
}

fn column(values: impl Array + 'static) -> SortColumn {
    SortColumn { values: Arc::new(values), options: None }
}

#[test]
fn any_backend_sorts() {
    let names =
        StringArray::from(vec![Some("a long name, and more"), None, Some("b"), Some("a long name, and less"), Some("b"), None]);
    let numbers = Int64Array::from(vec![1, i64::MAX, i64::MIN, 4, i64::MIN, -1]);
    assert_eq!(sort_to_indices(&StdBackend, &names, None, None).unwrap().values(), &[1, 5, 3, 0, 2, 4]);
    assert_eq!(sort_to_indices(&StdBackend, &names, None, Some(3)).unwrap().values(), &[1, 5, 3]);
    assert_eq!(rank(&StdBackend, &names, None).unwrap(), [4, 2, 6, 3, 6, 2]);
    assert_eq!(
        sort(&StdBackend, &numbers, None).unwrap().as_ref(),
        &Int64Array::from(vec![i64::MIN, i64::MIN, -1, 1, 4, i64::MAX])
    );
    let columns = [column(names), column(numbers)];
    assert_eq!(lexsort_to_indices(&StdBackend, &columns, None).unwrap().values(), &[5, 1, 3, 0, 2, 4]);
}

#[test]
fn a_failure_of_the_backend_is_an_external_error() {
    let numbers = Int64Array::from((0..100).map(|i| i * i % 17).collect::<Vec<_>>());
    let failures = [
        sort_to_indices(&Broken, &numbers, None, None).map(|_| ()),
        sort_to_indices(&Broken, &numbers, None, Some(2)).map(|_| ()),
        sort(&Broken, &numbers, None).map(|_| ()),
        rank(&Broken, &numbers, None).map(|_| ()),
    ];
    for failure in failures {
        let Err(ArrowError::ExternalError(source)) = failure else { panic!("{failure:?}") };
        assert!(matches!(source.downcast_ref(), Some(Error::Unsupported { .. })), "{source}");
    }
}

/// Counts the keys that it selects from, and those that it sorts.
#[derive(Clone, Default)]
struct Counting {
    selected: Arc<AtomicUsize>,
    sorted: Arc<AtomicUsize>,
}

impl Backend for Counting {
    fn open() -> Result<Self, Error> {
        Ok(Self::default())
    }

    fn name(&self) -> String {
        "counting".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        StdBackend.sort_bits(keys, spec)
    }

    fn sort_pairs_bits<W: Word, V: polysort_core::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        StdBackend.sort_pairs_bits(keys, values, spec)
    }

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        let (is_selection, len) = with_word!(&operation, operation => {
            (matches!(operation, Operation::TopK { .. }), operation.keys().len())
        });
        (if is_selection { &self.selected } else { &self.sorted }).fetch_add(len, Ordering::Relaxed);
        StdBackend.run(operation, spec)
    }
}

#[test]
fn a_small_limit_selects_and_others_sort() {
    let numbers = Int64Array::from_iter_values((0..1000).rev());
    for (limit, selected, sorted) in [(Some(3), 1000, 0), (Some(900), 0, 1000), (None, 0, 1000)] {
        let backend = Counting::default();
        let rows = sort_to_indices(&backend, &numbers, None, limit).unwrap();
        assert!(rows.values().iter().copied().eq((0..1000).rev().take(limit.unwrap_or(1000))));
        let counts = [&backend.selected, &backend.sorted].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [selected, sorted], "limit {limit:?}");
    }
}

/// Lists, and other types that polysort does not sort by bits.
fn other_types() -> Vec<ArrayRef> {
    let rows = [Some(vec![Some(2), None]), None, Some(vec![]), Some(vec![Some(1)]), Some(vec![Some(2), Some(0)]), None];
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(rows);
    let fields = vec![Arc::new(Field::new("n", DataType::Int64, true))];
    let structs = StructArray::new(fields.into(), vec![Arc::new(Int64Array::from(vec![3, 1, 2, 1, 9, 9]))], None);
    let runs: RunArray<Int32Type> = ["b", "b", "a", "a", "a", "c"].into_iter().collect();
    vec![Arc::new(list), Arc::new(structs), Arc::new(runs), Arc::new(NullArray::new(6))]
}

#[test]
fn other_types_alone_are_arrows() {
    for values in other_types() {
        let case = values.data_type();
        for limit in [None, Some(2)] {
            let (ours, arrow) =
                (sort_to_indices(&StdBackend, &values, None, limit), arrow_ord::sort::sort_to_indices(&values, None, limit));
            assert_eq!(format!("{ours:?}"), format!("{arrow:?}"), "{case}");
            let (ours, arrow) =
                (sort_limit(&StdBackend, &values, None, limit), arrow_ord::sort::sort_limit(&values, None, limit));
            assert_eq!(format!("{ours:?}"), format!("{arrow:?}"), "{case}");
        }
        assert_eq!(
            format!("{:?}", sort(&StdBackend, &values, None)),
            format!("{:?}", arrow_ord::sort::sort(&values, None)),
            "{case}"
        );
        assert_eq!(
            format!("{:?}", rank(&StdBackend, &values, None)),
            format!("{:?}", arrow_ord::rank::rank(&values, None)),
            "{case}"
        );
    }
}

#[test]
fn other_types_among_columns_are_compared_stably() {
    for values in other_types() {
        let first = Int64Array::from(vec![1, 0, 1, 1, 1, 0]);
        let last = StringArray::from(vec!["z", "y", "z", "z", "a", "a"]);
        for options in [None, Some(SortOptions { descending: true, nulls_first: false })] {
            let columns = [column(first.clone()), SortColumn { values: values.clone(), options }, column(last.clone())];
            let compare = arrow_ord::sort::LexicographicalComparator::try_new(&columns).unwrap();
            let mut expected: Vec<u32> = (0..6).collect();
            expected.sort_by(|&a, &b| compare.compare(a as usize, b as usize));
            let ours = lexsort_to_indices(&StdBackend, &columns, None).unwrap();
            assert_eq!(ours.values(), &expected, "{}, {options:?}", values.data_type());
        }
    }
}

#[test]
fn misuse_is_an_error() {
    let message = |result: Result<UInt32Array, ArrowError>| result.unwrap_err().to_string();
    assert_eq!(message(lexsort_to_indices(&StdBackend, &[], None)), message(arrow_ord::sort::lexsort_to_indices(&[], None)));
    let uneven = [column(Int64Array::from(vec![1])), column(Int64Array::from(vec![1, 2]))];
    assert_eq!(
        message(lexsort_to_indices(&StdBackend, &uneven, None)),
        message(arrow_ord::sort::lexsort_to_indices(&uneven, None))
    );
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![2, 1]))]).unwrap();
    assert!(sort_batch(&StdBackend, &batch, &[], None).is_err());
    assert!(sort_batch(&StdBackend, &batch, &[SortBy::column(1)], None).unwrap_err().to_string().contains("column 1"));
    assert_eq!(sort_batches(&StdBackend, &schema, &[], &[SortBy::column(0)], None).unwrap().num_rows(), 0);
    assert_eq!(sort_batches(&StdBackend, &schema, &[batch.clone(), batch], &[SortBy::column(0)], Some(3)).unwrap().num_rows(), 3);
}

#[test]
fn empty_and_single_rows() {
    let none = Int64Array::from(Vec::<i64>::new());
    assert!(sort_to_indices(&StdBackend, &none, None, None).unwrap().is_empty());
    assert!(sort(&StdBackend, &none, None).unwrap().is_empty() && rank(&StdBackend, &none, None).unwrap().is_empty());
    assert_eq!(sort_to_indices(&StdBackend, &StringArray::from(vec![""]), None, None).unwrap().values(), &[0]);
    let widthless = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([]), None, Some([])].into_iter(), 0).unwrap();
    assert_eq!(sort_to_indices(&StdBackend, &widthless, None, None).unwrap().values(), &[1, 0, 2]);
    let no_values =
        DictionaryArray::<Int64Type>::new(PrimitiveArray::new_null(3), Arc::new(StringArray::from(Vec::<&str>::new())));
    assert_eq!(sort_to_indices(&StdBackend, &no_values, None, None).unwrap().values(), &[0, 1, 2]);
}

#[test]
fn rows_of_many_batches_have_numbers() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("at", DataType::Int64, false),
        Field::new("text", DataType::Utf8View, true),
        Field::new("decimal", DataType::Decimal128(20, 3), true),
    ]));
    // Batches of no rows, of few, and longer than an entry of the table of batches.
    let lens = [0, 1, 4095, 0, 1, 4096, 9000, 3, 0, 2, 1];
    let mut at = 0..;
    let batches: Vec<RecordBatch> = lens
        .iter()
        .map(|&len| {
            let numbers: Vec<i64> = at.by_ref().take(len).collect();
            let texts: StringViewArray = numbers.iter().map(|at| (at % 3 > 0).then(|| format!("{at:>20}"))).collect();
            let decimals: Decimal128Array = numbers.iter().map(|&at| (at % 5 > 0).then_some(i128::from(at) << 40)).collect();
            let decimals = decimals.with_precision_and_scale(20, 3).unwrap();
            let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(numbers)), Arc::new(texts), Arc::new(decimals)];
            RecordBatch::try_new(schema.clone(), columns).unwrap()
        })
        .collect();
    for count in [0, 1, 2, lens.len()] {
        let rows = NumberedRows::new(schema.clone(), batches[..count].to_vec()).unwrap();
        assert_eq!((rows.len(), rows.is_empty()), (lens[..count].iter().sum(), count < 2));
        // All of them, from the last to the first; and some twice.
        for numbers in [(0..rows.len() as u32).rev().collect(), vec![0; usize::from(count > 1)]] {
            let taken = rows.take(&numbers).unwrap();
            assert_eq!(taken.num_rows(), numbers.len());
            let (at, text) = (taken.column(0).as_primitive::<Int64Type>(), taken.column(1).as_string_view());
            let decimal = taken.column(2).as_primitive::<Decimal128Type>();
            for (index, &number) in numbers.iter().enumerate() {
                assert_eq!(at.value(index), i64::from(number));
                assert_eq!(text.is_null(index), number % 3 == 0);
                assert!(number % 3 == 0 || text.value(index).trim() == number.to_string());
                assert_eq!(decimal.is_null(index), number % 5 == 0);
                assert!(number % 5 == 0 || decimal.value(index) == i128::from(number) << 40);
            }
        }
    }
    let other = Arc::new(Schema::new(vec![Field::new("at", DataType::Int32, false)]));
    assert!(matches!(NumberedRows::new(other, batches), Err(ArrowError::SchemaError(_))));
}
