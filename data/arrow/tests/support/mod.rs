//! Random arrays of every type, and the order that they must come in.

mod value;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, IntervalUnit, SortOptions, TimeUnit};
use polysort_arrow::SortColumn;
use rand::rngs::SmallRng;
use rand::{Rng, RngExt};
use std::cmp::Ordering;
use std::sync::Arc;
use value::Value;

/// Every type that is sorted by bits, bytes or ranks.
pub(crate) fn types() -> Vec<DataType> {
    use DataType::*;
    let mut types = vec![
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Boolean,
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
    ];
    types.extend([
        Time32(TimeUnit::Second),
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Microsecond),
        Time64(TimeUnit::Nanosecond),
    ]);
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        types.extend([Duration(unit), Timestamp(unit, None), Timestamp(unit, Some("+02:00".into()))]);
    }
    types.extend([Interval(IntervalUnit::YearMonth), Interval(IntervalUnit::DayTime), Interval(IntervalUnit::MonthDayNano)]);
    types.extend([Decimal32(9, 2), Decimal64(18, 3), Decimal128(38, 10), Decimal256(76, 20)]);
    types.extend([1, 5, 8, 9, 16, 40].map(FixedSizeBinary));
    for keys in [Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64] {
        types.push(Dictionary(Box::new(keys), Box::new(Utf8)));
    }
    for values in [Int64, Float32, Boolean, Decimal256(76, 20), Utf8View, LargeBinary, FixedSizeBinary(9)] {
        types.push(Dictionary(Box::new(Int16), Box::new(values)));
    }
    types
}

/// How the values of an array are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draw {
    /// All bits random.
    Any,
    /// A few values.
    Few,
    /// A range around zero, or short strings of few letters.
    Narrow,
    /// Extremes of the type, or long strings with common beginnings.
    Special,
}

impl Draw {
    pub(crate) fn random(rng: &mut SmallRng) -> Self {
        [Self::Any, Self::Few, Self::Narrow, Self::Special][rng.random_range(0..4)]
    }
}

/// A random array, which is a slice at some offset of a longer one in half of the cases.
pub(crate) fn array(rng: &mut SmallRng, data_type: &DataType, len: usize) -> ArrayRef {
    let (before, after) = if rng.random() { (rng.random_range(0..70), rng.random_range(0..9)) } else { (0, 0) };
    let null_rate = [0.0, 0.0, 0.1, 0.5, 1.0][rng.random_range(0..5)];
    let draw = Draw::random(rng);
    whole_array(rng, data_type, before + len + after, null_rate, draw).slice(before, len)
}

fn nulls(rng: &mut SmallRng, len: usize, null_rate: f64) -> Option<NullBuffer> {
    (null_rate > 0.0).then(|| BooleanBuffer::collect_bool(len, |_| !rng.random_bool(null_rate)).into())
}

fn whole_array(rng: &mut SmallRng, data_type: &DataType, len: usize, null_rate: f64, draw: Draw) -> ArrayRef {
    let nulls = nulls(rng, len, null_rate);
    macro_rules! primitive {
        ($type:ty) => {{
            let values: Vec<_> = values(rng, len, draw, Value::draw);
            Arc::new(PrimitiveArray::<$type>::new(values.into(), nulls).with_data_type(data_type.clone()))
        }};
    }
    macro_rules! bytes {
        ($type:ty, $value:expr) => {{
            let (offsets, bytes, _) = GenericByteArray::<$type>::from_iter_values(values(rng, len, draw, $value)).into_parts();
            Arc::new(GenericByteArray::<$type>::new(offsets, bytes, nulls))
        }};
    }
    macro_rules! views {
        ($type:ty, $value:expr) => {{
            let (views, buffers, _) =
                GenericByteViewArray::<$type>::from_iter_values(values(rng, len, draw, $value)).into_parts();
            Arc::new(GenericByteViewArray::<$type>::new(views, buffers, nulls))
        }};
    }
    macro_rules! dictionary {
        ($type:ty, $values:expr) => {{
            let distinct = rng.random_range(1..100);
            let value_nulls = if rng.random() { 0.0 } else { 0.2 };
            let values = whole_array(rng, $values, distinct, value_nulls, draw);
            // The keys of null rows are any numbers.
            let key = |row: usize| match &nulls {
                Some(nulls) if nulls.is_null(row) => rng.random(),
                _ => rng.random_range(0..distinct) as <$type as ArrowPrimitiveType>::Native,
            };
            let keys: Vec<_> = (0..len).map(key).collect();
            Arc::new(DictionaryArray::<$type>::new(PrimitiveArray::new(keys.into(), nulls), values))
        }};
    }
    downcast_primitive! {
        data_type => (primitive),
        DataType::Boolean => Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(len, |_| rng.random()), nulls)),
        DataType::Utf8 => bytes!(Utf8Type, text),
        DataType::LargeUtf8 => bytes!(LargeUtf8Type, text),
        DataType::Binary => bytes!(BinaryType, binary),
        DataType::LargeBinary => bytes!(LargeBinaryType, binary),
        DataType::Utf8View => views!(StringViewType, text),
        DataType::BinaryView => views!(BinaryViewType, binary),
        DataType::FixedSizeBinary(size) => {
            let width = *size as usize;
            let fixed = |rng: &mut SmallRng, draw| {
                let mut bytes = binary(rng, draw);
                bytes.resize(width, 0);
                bytes
            };
            let bytes: Vec<u8> = values(rng, len, draw, fixed).concat();
            Arc::new(FixedSizeBinaryArray::try_new_with_len(*size, bytes.into(), nulls, len).unwrap())
        }
        DataType::Dictionary(keys, values) => downcast_integer! {
            keys.as_ref() => (dictionary, values),
            _ => unreachable!("the key of a dictionary is an integer")
        },
        other => unreachable!("{other} is not among the types")
    }
}

fn values<T: Clone>(rng: &mut SmallRng, len: usize, draw: Draw, value: impl Fn(&mut SmallRng, Draw) -> T) -> Vec<T> {
    let few: Vec<T> = (0..3).map(|_| value(rng, Draw::Any)).collect();
    let value = |_| if let Draw::Few = draw { few[rng.random_range(0..3)].clone() } else { value(rng, draw) };
    (0..len).map(value).collect()
}

fn binary(rng: &mut SmallRng, draw: Draw) -> Vec<u8> {
    let mut bytes = vec![0; rng.random_range(0..20)];
    rng.fill_bytes(&mut bytes);
    match draw {
        Draw::Any | Draw::Few => {}
        Draw::Narrow => bytes.iter_mut().for_each(|byte| *byte %= 2),
        Draw::Special => {
            bytes.iter_mut().for_each(|byte| *byte = if *byte < 60 { 0xff } else { 0 });
            bytes.splice(0..0, vec![7; [9, 9, 9, 30][rng.random_range(0..4)]]);
        }
    }
    bytes
}

fn text(rng: &mut SmallRng, draw: Draw) -> String {
    let letter = |byte: u8| match draw {
        Draw::Any | Draw::Few => char::from_u32(u32::from(byte) << (byte % 12)).unwrap_or('ß'),
        Draw::Narrow => char::from(b'a' + byte % 2),
        Draw::Special => char::from(b'x' + byte % 3),
    };
    binary(rng, draw).into_iter().map(letter).collect()
}

/// Random options, one of them arrow's default.
pub(crate) fn options(rng: &mut SmallRng) -> Option<SortOptions> {
    rng.random_bool(0.8).then(|| SortOptions { descending: rng.random(), nulls_first: rng.random() })
}

/// A random limit of a sort of `len` rows.
pub(crate) fn limit(rng: &mut SmallRng, len: usize) -> Option<usize> {
    [None, None, None, Some(0), Some(1), Some(len / 20), Some(len / 3), Some(len), Some(len + 5)][rng.random_range(0..9)]
}

/// The stable order, by arrow's own comparators: the first `limit` rows.
pub(crate) fn stable_order(columns: &[SortColumn], limit: Option<usize>) -> Vec<u32> {
    let compare = comparator(columns);
    let mut rows: Vec<u32> = (0..columns[0].values.len() as u32).collect();
    rows.sort_by(|&a, &b| compare(a, b));
    rows.truncate(limit.unwrap_or(usize::MAX));
    rows
}

/// The order of two rows.
pub(crate) fn comparator(columns: &[SortColumn]) -> impl Fn(u32, u32) -> Ordering {
    let compare =
        |column: &SortColumn| make_comparator(&column.values, &column.values, column.options.unwrap_or_default()).unwrap();
    let compare: Vec<_> = columns.iter().map(compare).collect();
    move |a, b| {
        compare.iter().map(|compare| compare(a as usize, b as usize)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}
