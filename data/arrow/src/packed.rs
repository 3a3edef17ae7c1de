//! Rows whose values lie side by side.
//!
//! In columns, the values of a row lie far from each other: rows in a random order cost a cache miss for each value. Packed rows cost one for each cache line
//! of a row:
//!
//! ```text
//! columns     k k k k …   p p p p …   v v v v …
//! packed      k p v   k p v   k p v   k p v   …
//! ```
#![allow(unsafe_code, reason = "`Strings::array` relies on its caller")]

use crate::gather::Place;
use crate::views::Strings;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, BinaryViewType, ByteViewType, StringViewType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, downcast_primitive};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer, i256};
use arrow_schema::{ArrowError, DataType};
use core::cmp::Reverse;
use core::marker::PhantomData;
use core::slice::ChunksExact;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that are copied together before their values are copied to columns. They stay in the cache in between.
const TILE_ROWS: usize = 1024;

/// The columns of numbers and string views of some batches, row by row.
pub(crate) struct Packed {
    fields: Vec<Field>,
    bytes_per_row: usize,
    /// The rows of each batch.
    batches: Vec<Vec<u8>>,
}

/// A column of packed rows.
struct Field {
    column: usize,
    /// The bytes of a value.
    width: usize,
    /// The byte of a row where the value begins.
    offset: usize,
    /// The byte of a row that is 1 if the value is not null. `None` if the column has no nulls.
    valid: Option<usize>,
    values: Arc<dyn Values>,
}

/// How the values of a column are copied.
trait Values: Send + Sync {
    /// The bytes of the values of an array.
    fn bytes<'a>(&self, array: &'a dyn Array) -> &'a [u8];

    /// An array of values. `places` says where each was.
    fn array(&self, values: Buffer, nulls: Option<NullBuffer>, places: &[Place]) -> Result<ArrayRef, ArrowError>;
}

/// Values of numbers.
struct Numbers<T: ArrowPrimitiveType>(DataType, PhantomData<fn() -> T>);

impl<T: ArrowPrimitiveType> Values for Numbers<T> {
    fn bytes<'a>(&self, array: &'a dyn Array) -> &'a [u8] {
        array.as_primitive::<T>().values().inner().as_slice()
    }

    fn array(&self, values: Buffer, nulls: Option<NullBuffer>, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let values = ScalarBuffer::new(values, 0, places.len());
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls)?.with_data_type(self.0.clone())))
    }
}

impl<T: ByteViewType> Values for Strings<T> {
    fn bytes<'a>(&self, array: &'a dyn Array) -> &'a [u8] {
        array.as_byte_view::<T>().views().inner().as_slice()
    }

    fn array(&self, values: Buffer, nulls: Option<NullBuffer>, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let views = ScalarBuffer::<u128>::new(values, 0, places.len());
        let views = places.iter().zip(views.iter()).map(|(&(batch, _), &view)| (batch, view));
        // SAFETY: `new` takes the strings and the views of a field from the same batches, and `gather` copies the view of each of `places` from its batch.
        Ok(unsafe { Strings::array(self, views, nulls) })
    }
}

/// How the values of a column are packed, and the bytes of a value. Returns `None` if the values are neither numbers nor views.
fn values_of(arrays: &[&ArrayRef]) -> Option<(Arc<dyn Values>, usize)> {
    macro_rules! numbers {
        ($type:ty) => {{
            let data_type = arrays[0].data_type().clone();
            let width = size_of::<<$type as ArrowPrimitiveType>::Native>();
            Some((Arc::new(Numbers::<$type>(data_type, PhantomData)), width))
        }};
    }
    downcast_primitive! {
        arrays[0].data_type() => (numbers),
        DataType::Utf8View => Some((Arc::new(Strings::<StringViewType>::new(arrays.iter().map(|array| array.as_string_view()))), 16)),
        DataType::BinaryView => Some((Arc::new(Strings::<BinaryViewType>::new(arrays.iter().map(|array| array.as_binary_view()))), 16)),
        _ => None
    }
}

impl Packed {
    /// The bytes that [`new`](Self::new) allocates for the rows of `batches`. Returns `None` if fewer than two columns can be packed.
    pub(crate) fn bytes(batches: &[RecordBatch]) -> Option<usize> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        Some(rows * Self::layout(batches)?.bytes_per_row)
    }

    /// The place of each column in a packed row of these batches, of which no row is copied yet.
    fn layout(batches: &[RecordBatch]) -> Option<Self> {
        let columns = batches.first()?.num_columns();
        let mut fields = Vec::new();
        for column in 0..columns {
            let arrays: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(column)).collect();
            if let Some((values, width)) = values_of(&arrays) {
                let valid = arrays.iter().any(|array| array.null_count() > 0).then_some(0);
                fields.push(Field { column, width, offset: 0, valid, values });
            }
        }
        if fields.len() < 2 {
            return None;
        }
        // The widest first, so that values whose width is a power of two do not lie on two cache lines more often than they must.
        fields.sort_by_key(|field| Reverse(field.width));
        let mut bytes_per_row = 0;
        for field in &mut fields {
            field.offset = bytes_per_row;
            bytes_per_row += field.width;
        }
        for valid in fields.iter_mut().filter_map(|field| field.valid.as_mut()) {
            *valid = bytes_per_row;
            bytes_per_row += 1;
        }
        Some(Self { fields, bytes_per_row, batches: Vec::new() })
    }

    /// Packs the rows of `batches`, on up to `threads` threads, and drops each batch when it is packed. Returns the batches if fewer than two columns can be packed.
    pub(crate) fn new(batches: Vec<RecordBatch>, threads: usize) -> Result<Self, Vec<RecordBatch>> {
        let Some(mut this) = Self::layout(&batches) else { return Err(batches) };
        let packed = Mutex::new(vec![Vec::new(); batches.len()]);
        let threads = threads.min(batches.len());
        let work = Mutex::new(batches.into_iter().enumerate());
        let pack = || {
            loop {
                // If a thread panics, so does this call: nobody sees what the thread left.
                let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((index, batch)) = next else { return };
                let rows = pack_batch(&this.fields, this.bytes_per_row, &batch);
                packed.lock().unwrap_or_else(PoisonError::into_inner)[index] = rows;
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(pack);
            }
            pack();
        });
        this.batches = packed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(this)
    }

    /// The indices of the columns that are packed, in the order in which [`gather`](Self::gather) returns them.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        self.fields.iter().map(|field| field.column)
    }

    /// The values at `places` of each packed column.
    ///
    /// # Errors
    /// Arrow's, if an array cannot be made.
    pub(crate) fn gather(&self, places: &[Place]) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut outputs: Vec<Output> = self.fields.iter().map(|field| Output::new(field, places.len())).collect();
        let mut tile = Vec::with_capacity(TILE_ROWS.min(places.len()) * self.bytes_per_row);
        for places in places.chunks(TILE_ROWS) {
            tile.clear();
            for &(batch, row) in places {
                tile.extend_from_slice(&self.batches[batch][row * self.bytes_per_row..][..self.bytes_per_row]);
            }
            for (output, field) in outputs.iter_mut().zip(&self.fields) {
                output.append(field, tile.chunks_exact(self.bytes_per_row));
            }
        }
        outputs.into_iter().zip(&self.fields).map(|(output, field)| output.finish(field, places)).collect()
    }
}

/// The rows of a batch.
fn pack_batch(fields: &[Field], bytes_per_row: usize, batch: &RecordBatch) -> Vec<u8> {
    let mut rows = vec![0; batch.num_rows() * bytes_per_row];
    for field in fields {
        let array = batch.column(field.column);
        let values = field.values.bytes(array.as_ref());
        let pack = match field.width {
            1 => pack_values::<1>,
            2 => pack_values::<2>,
            4 => pack_values::<4>,
            8 => pack_values::<8>,
            16 => pack_values::<16>,
            32 => pack_values::<32>,
            width => unreachable!("no value has {width} bytes"),
        };
        pack(values, &mut rows, bytes_per_row, field.offset);
        if let Some(valid) = field.valid {
            rows.chunks_exact_mut(bytes_per_row)
                .enumerate()
                .for_each(|(row, bytes)| bytes[valid] = u8::from(array.is_valid(row)));
        }
    }
    rows
}

/// Copies values of `WIDTH` bytes to byte `offset` of each row.
fn pack_values<const WIDTH: usize>(values: &[u8], rows: &mut [u8], bytes_per_row: usize, offset: usize) {
    for (row, value) in rows.chunks_exact_mut(bytes_per_row).zip(values.chunks_exact(WIDTH)) {
        row[offset..offset + WIDTH].copy_from_slice(value);
    }
}

/// Values of packed rows, in a column again.
struct Output {
    words: Words,
    /// Whether each value is not null, if there are nulls.
    valid: Option<Vec<bool>>,
}

/// Values as words of their width.
enum Words {
    W1(Vec<u8>),
    W2(Vec<u16>),
    W4(Vec<u32>),
    W8(Vec<u64>),
    W16(Vec<u128>),
    W32(Vec<i256>),
}

impl Output {
    fn new(field: &Field, len: usize) -> Self {
        let words = match field.width {
            1 => Words::W1(Vec::with_capacity(len)),
            2 => Words::W2(Vec::with_capacity(len)),
            4 => Words::W4(Vec::with_capacity(len)),
            8 => Words::W8(Vec::with_capacity(len)),
            16 => Words::W16(Vec::with_capacity(len)),
            32 => Words::W32(Vec::with_capacity(len)),
            width => unreachable!("no value has {width} bytes"),
        };
        Self { words, valid: field.valid.map(|_| Vec::with_capacity(len)) }
    }

    fn append(&mut self, field: &Field, rows: ChunksExact<'_, u8>) {
        fn value<const WIDTH: usize>(row: &[u8], offset: usize) -> [u8; WIDTH] {
            row[offset..offset + WIDTH].try_into().expect("the slice has WIDTH bytes")
        }
        if let Some((valid, byte)) = self.valid.as_mut().zip(field.valid) {
            valid.extend(rows.clone().map(|row| row[byte] == 1));
        }
        let at = field.offset;
        match &mut self.words {
            Words::W1(words) => words.extend(rows.map(|row| row[at])),
            Words::W2(words) => words.extend(rows.map(|row| u16::from_ne_bytes(value(row, at)))),
            Words::W4(words) => words.extend(rows.map(|row| u32::from_ne_bytes(value(row, at)))),
            Words::W8(words) => words.extend(rows.map(|row| u64::from_ne_bytes(value(row, at)))),
            Words::W16(words) => words.extend(rows.map(|row| u128::from_ne_bytes(value(row, at)))),
            Words::W32(words) => words.extend(
                rows.map(|row| i256::from_parts(u128::from_ne_bytes(value(row, at)), i128::from_ne_bytes(value(row, at + 16)))),
            ),
        }
    }

    fn finish(self, field: &Field, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let nulls = self.valid.map(|valid| NullBuffer::new(BooleanBuffer::from(valid)));
        let values = match self.words {
            Words::W1(words) => Buffer::from_vec(words),
            Words::W2(words) => Buffer::from_vec(words),
            Words::W4(words) => Buffer::from_vec(words),
            Words::W8(words) => Buffer::from_vec(words),
            Words::W16(words) => ScalarBuffer::from(words).into_inner(),
            Words::W32(words) => Buffer::from_vec(words),
        };
        field.values.array(values, nulls, places)
    }
}
