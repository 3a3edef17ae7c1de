//! Tables with random rows, operators that read them, and answers that can be compared.
#![allow(dead_code, reason = "each test needs a part")]

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UInt8Array, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{Field, Int32Type, Schema, SchemaRef};
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use std::sync::Arc;

/// A column of random values, 0 to `distinct` different ones, with nulls in a share of `nulls` of the rows.
type Column = fn(&mut SmallRng, usize, u64, f64) -> ArrayRef;

/// Every type of column that the random tables have, with its name.
pub(crate) const COLUMNS: &[(&str, Column)] = &[
    ("c_i8", |rng, rows, distinct, nulls| Arc::new(values(rng, rows, distinct, nulls, |v| v as i8).collect::<Int8Array>())),
    ("c_i16", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| mixed(v) as i16).collect::<Int16Array>())
    }),
    ("c_i32", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| mixed(v) as i32).collect::<Int32Array>())
    }),
    ("c_i64", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| mixed(v) as i64).collect::<Int64Array>())
    }),
    ("c_u8", |rng, rows, distinct, nulls| Arc::new(values(rng, rows, distinct, nulls, |v| v as u8).collect::<UInt8Array>())),
    ("c_u32", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| mixed(v) as u32).collect::<UInt32Array>())
    }),
    ("c_u64", |rng, rows, distinct, nulls| Arc::new(values(rng, rows, distinct, nulls, mixed).collect::<UInt64Array>())),
    ("c_f32", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| float(v) as f32).collect::<Float32Array>())
    }),
    ("c_f64", |rng, rows, distinct, nulls| Arc::new(values(rng, rows, distinct, nulls, float).collect::<Float64Array>())),
    ("c_dec", |rng, rows, distinct, nulls| {
        let decimals = values(rng, rows, distinct, nulls, |v| i128::from(mixed(v) as i64) >> 8).collect::<Decimal128Array>();
        Arc::new(decimals.with_precision_and_scale(30, 4).expect("a decimal type"))
    }),
    ("c_bool", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| v % 2 == 0).collect::<BooleanArray>())
    }),
    ("c_date", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| v as i32 - 40).collect::<Date32Array>())
    }),
    ("c_us", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| mixed(v) as i64 >> 20).collect::<TimestampMicrosecondArray>())
    }),
    ("c_ns", |rng, rows, distinct, nulls| {
        Arc::new(values(rng, rows, distinct, nulls, |v| mixed(v) as i64 >> 8).collect::<TimestampNanosecondArray>())
    }),
    ("c_utf8", |rng, rows, distinct, nulls| Arc::new(values(rng, rows, distinct, nulls, text).collect::<StringArray>())),
    ("c_large", |rng, rows, distinct, nulls| Arc::new(values(rng, rows, distinct, nulls, text).collect::<LargeStringArray>())),
    ("c_view", |rng, rows, distinct, nulls| Arc::new(values(rng, rows, distinct, nulls, text).collect::<StringViewArray>())),
    ("c_bin", |rng, rows, distinct, nulls| {
        Arc::new(
            values(rng, rows, distinct, nulls, |v| text(v).into_bytes())
                .map(|v| {
                    v.map(|mut v| {
                        v.push(0);
                        v
                    })
                })
                .collect::<Vec<_>>()
                .iter()
                .map(Option::as_deref)
                .collect::<BinaryArray>(),
        )
    }),
    ("c_fixed", |rng, rows, distinct, nulls| {
        let bytes: Vec<_> = values(rng, rows, distinct, nulls, |v| mixed(v).to_be_bytes()).collect();
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes.into_iter(), 8).expect("eight bytes each"))
    }),
    ("c_dict", |rng, rows, distinct, nulls| {
        let texts: Vec<_> = values(rng, rows, distinct, nulls, text).collect();
        Arc::new(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>())
    }),
];

fn values<'r, T>(
    rng: &'r mut SmallRng,
    rows: usize,
    distinct: u64,
    nulls: f64,
    value: impl Fn(u64) -> T + 'r,
) -> impl Iterator<Item = Option<T>> + 'r {
    (0..rows).map(move |_| (!rng.random_bool(nulls)).then(|| value(rng.random_range(0..distinct))))
}

/// A number whose bits all depend on `value`. Equal values stay equal.
fn mixed(value: u64) -> u64 {
    value.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn float(value: u64) -> f64 {
    match value {
        0 => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        3 => f64::INFINITY,
        4 => f64::NEG_INFINITY,
        5 => -f64::NAN,
        _ => (mixed(value) as i64 >> 32) as f64 / 64.0,
    }
}

/// Strings that are empty, short, or share their first bytes.
fn text(value: u64) -> String {
    match value % 4 {
        0 => String::new(),
        1 => format!("{}", value / 4),
        2 => format!("a shared beginning {:05}", value / 4),
        _ => format!("{:x}", mixed(value)),
    }
}

/// Rows in several partitions, of batches of different lengths.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) partitions: Vec<Vec<RecordBatch>>,
}

impl Table {
    /// A table of random rows: a column of each type, `id` with a different number in each row, and `list`, which no radix sort takes.
    pub(crate) fn random(rng: &mut SmallRng, rows: usize, partitions: usize, distinct: u64, most_batch_rows: usize) -> Self {
        let nulls = *[0.0, 0.1, 0.5].get(rng.random_range(0..3)).expect("one of three");
        let mut ids: Vec<i64> = (0..rows as i64).collect();
        ids.shuffle(rng);
        let mut columns: Vec<(&str, ArrayRef)> = vec![("id", Arc::new(Int64Array::from(ids)))];
        columns.extend(COLUMNS.iter().map(|&(name, column)| (name, column(rng, rows, distinct, nulls))));
        let lists = datafusion::arrow::array::ListArray::from_iter_primitive::<Int32Type, _, _>(
            (0..rows).map(|_| (!rng.random_bool(0.1)).then(|| vec![Some(rng.random_range(0..3)), None])),
        );
        columns.push(("list", Arc::new(lists)));
        let fields: Vec<Field> =
            columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), *name != "id")).collect();
        let schema = Arc::new(Schema::new(fields));
        let all = RecordBatch::try_new(schema.clone(), columns.into_iter().map(|(_, column)| column).collect())
            .expect("columns of one length");
        let mut split = vec![Vec::new(); partitions];
        let mut start = 0;
        while start < rows {
            let len = rng.random_range(1..=most_batch_rows).min(rows - start);
            // A copy: slices would share their memory.
            let ids: UInt32Array = (start as u32..(start + len) as u32).collect();
            let batch = datafusion::arrow::compute::take_record_batch(&all, &ids).expect("rows of the table");
            split[rng.random_range(0..partitions)].push(batch);
            start += len;
        }
        Self { schema, partitions: split }
    }

    /// The bytes of all batches.
    pub(crate) fn bytes(&self) -> usize {
        self.partitions.iter().flatten().map(datafusion::common::utils::memory::get_record_batch_memory_size).sum()
    }

    pub(crate) fn rows(&self) -> usize {
        self.partitions.iter().flatten().map(RecordBatch::num_rows).sum()
    }
}

/// The rows of an answer, as bytes that are equal for equal values only, floats by their bits.
pub(crate) fn rows_of(batches: &[RecordBatch]) -> Vec<OwnedRow> {
    let Some(first) = batches.first() else { return Vec::new() };
    let fields = first.schema().fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
    let converter = RowConverter::new(fields).expect("types that have rows");
    batches
        .iter()
        .flat_map(|batch| {
            let rows = converter.convert_columns(batch.columns()).expect("columns of the types");
            rows.iter().map(|row| row.owned()).collect::<Vec<_>>()
        })
        .collect()
}

/// One of `items`.
pub(crate) fn one_of<'i, T>(rng: &mut impl Rng, items: &'i [T]) -> &'i T {
    &items[rng.random_range(0..items.len())]
}
