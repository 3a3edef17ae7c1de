//! Columns of several record batches, whose rows are gathered.
//!
//! Arrow's `interleave` reads the list of all arrays for each call. With thousands of batches and a few thousand rows for each call, that takes as long as the copies. So
//! the values of numbers and of string views are listed once, and `interleave` gathers the other types.
#![allow(unsafe_code, reason = "`Strings::array` relies on its caller")]

use crate::views::Strings;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, BinaryViewType, ByteViewType, StringViewType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, downcast_primitive, new_empty_array};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use arrow_select::interleave::interleave;
use std::sync::Arc;

/// The index of a batch, and the index of a row in it.
pub(crate) type Place = (usize, usize);

/// One column of all batches.
pub(crate) trait Gather: Send + Sync {
    /// The values at `places`.
    ///
    /// # Errors
    /// Those of [`interleave`].
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError>;
}

/// The column `index` of `batches`, of which there is one at least.
pub(crate) fn column(batches: &[RecordBatch], index: usize) -> Arc<dyn Gather> {
    let arrays: Vec<ArrayRef> = batches.iter().map(|batch| batch.column(index).clone()).collect();
    macro_rules! numbers {
        ($type:ty) => {
            Arc::new(Numbers::<$type>::new(&arrays))
        };
    }
    downcast_primitive! {
        arrays[0].data_type() => (numbers),
        DataType::Utf8View => Arc::new(Views::<StringViewType>::new(&arrays)),
        DataType::BinaryView => Arc::new(Views::<BinaryViewType>::new(&arrays)),
        _ => Arc::new(Others(arrays))
    }
}

/// Arrays of numbers.
struct Numbers<T: ArrowPrimitiveType> {
    data_type: DataType,
    values: Vec<ScalarBuffer<T::Native>>,
    /// The nulls of each array, if there are nulls in any.
    nulls: Option<Vec<Option<NullBuffer>>>,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    fn new(arrays: &[ArrayRef]) -> Self {
        Self {
            data_type: arrays[0].data_type().clone(),
            values: arrays.iter().map(|array| array.as_primitive::<T>().values().clone()).collect(),
            nulls: nulls_of(arrays),
        }
    }
}

impl<T: ArrowPrimitiveType> Gather for Numbers<T> {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let values: Vec<T::Native> = places.iter().map(|&(batch, row)| self.values[batch][row]).collect();
        let nulls = gathered_nulls(self.nulls.as_deref(), places);
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?.with_data_type(self.data_type.clone())))
    }
}

/// Arrays of string views.
struct Views<T: ByteViewType> {
    views: Vec<ScalarBuffer<u128>>,
    strings: Strings<T>,
    /// As for numbers.
    nulls: Option<Vec<Option<NullBuffer>>>,
}

impl<T: ByteViewType> Views<T> {
    fn new(arrays: &[ArrayRef]) -> Self {
        let typed = || arrays.iter().map(AsArray::as_byte_view::<T>);
        Self {
            views: typed().map(|array| array.views().clone()).collect(),
            strings: Strings::new(typed()),
            nulls: nulls_of(arrays),
        }
    }
}

impl<T: ByteViewType> Gather for Views<T> {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let views = places.iter().map(|&(batch, row)| (batch, self.views[batch][row]));
        // SAFETY: `views[batch]` has the views of the array `batch`, of which `new` made `strings`.
        Ok(unsafe { self.strings.array(views, gathered_nulls(self.nulls.as_deref(), places)) })
    }
}

/// The nulls of each array, if there are nulls in any.
fn nulls_of(arrays: &[ArrayRef]) -> Option<Vec<Option<NullBuffer>>> {
    let has_nulls = arrays.iter().any(|array| array.null_count() > 0);
    has_nulls.then(|| arrays.iter().map(|array| array.nulls().cloned()).collect())
}

/// The nulls at `places`.
fn gathered_nulls(nulls: Option<&[Option<NullBuffer>]>, places: &[Place]) -> Option<NullBuffer> {
    let nulls = nulls?;
    let is_valid = |(batch, row): Place| nulls[batch].as_ref().is_none_or(|nulls| nulls.is_valid(row));
    Some(NullBuffer::new(BooleanBuffer::collect_bool(places.len(), |index| is_valid(places[index]))))
}

/// Arrays of any other type.
struct Others(Vec<ArrayRef>);

impl Gather for Others {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        // Only the arrays of these places: `interleave` joins all dictionaries that it gets.
        let mut used: Vec<&dyn Array> = Vec::new();
        let mut index_in_used = vec![usize::MAX; self.0.len()];
        let in_used = |&(batch, row): &Place| {
            let index = &mut index_in_used[batch];
            if *index == usize::MAX {
                used.push(self.0[batch].as_ref());
                *index = used.len() - 1;
            }
            (*index, row)
        };
        let places: Vec<Place> = places.iter().map(in_used).collect();
        if used.is_empty() {
            return Ok(new_empty_array(self.0[0].data_type()));
        }
        if self.0[0].data_type().is_nested() || self.0[0].as_any_dictionary_opt().is_some() {
            fits_keys(&used.iter().map(|array| array.to_data()).collect::<Vec<_>>(), true)?;
        }
        interleave(&used, &places)
    }
}

/// Checks that the keys of dictionaries, also of those in other arrays, can number the values of all arrays together. `interleave` panics if not. If
/// `merges`, it merges dictionaries whose values it can compare.
fn fits_keys(arrays: &[ArrayData], merges: bool) -> Result<(), ArrowError> {
    let child = |index: usize| arrays.iter().map(|array| array.child_data()[index].clone()).collect::<Vec<_>>();
    let DataType::Dictionary(keys, values) = arrays[0].data_type() else {
        let merges = merges && matches!(arrays[0].data_type(), DataType::Struct(_));
        return (0..arrays[0].child_data().len()).try_for_each(|index| fits_keys(&child(index), merges));
    };
    let compares = values.is_primitive()
        || matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary);
    let values = child(0);
    if merges && compares || values.iter().all(|others| others.ptr_eq(&values[0])) {
        return Ok(());
    }
    let max_key = match **keys {
        DataType::Int8 => i8::MAX as usize,
        DataType::UInt8 => u8::MAX.into(),
        DataType::Int16 => i16::MAX as usize,
        DataType::UInt16 => u16::MAX.into(),
        DataType::Int32 => i32::MAX as usize,
        DataType::UInt32 => u32::MAX as usize,
        _ => return Ok(()),
    };
    // Each array's keys are raised by the number of the values before it, even if it has none.
    let total: usize = values.iter().map(ArrayData::len).sum();
    let last = values.last().map_or(0, ArrayData::len);
    if total > max_key + 1 || total - last > max_key { Err(ArrowError::DictionaryKeyOverflowError) } else { Ok(()) }
}
