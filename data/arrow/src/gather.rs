//! Columns of several record batches, whose rows are gathered.
//!
//! Arrow's `interleave` reads the list of all arrays for each call. With thousands of batches and a few thousand rows for each call, that takes as long as the copies. So
//! the values of numbers are listed once, and `interleave` gathers the other types.

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, downcast_primitive};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};
use arrow_select::interleave::interleave;
use core::fmt::Debug;
use std::sync::Arc;

/// The index of a batch, and the index of a row in it.
pub(crate) type Place = (usize, usize);

/// One column of all batches.
pub(crate) trait Gather: Debug + Send + Sync {
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
        _ => Arc::new(Others(arrays))
    }
}

/// Arrays of numbers.
#[derive(Debug)]
struct Numbers<T: ArrowPrimitiveType> {
    data_type: DataType,
    values: Vec<ScalarBuffer<T::Native>>,
    /// The nulls of each array, if there are nulls in any.
    nulls: Option<Vec<Option<NullBuffer>>>,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    fn new(arrays: &[ArrayRef]) -> Self {
        let has_nulls = arrays.iter().any(|array| array.null_count() > 0);
        Self {
            data_type: arrays[0].data_type().clone(),
            values: arrays.iter().map(|array| array.as_primitive::<T>().values().clone()).collect(),
            nulls: has_nulls.then(|| arrays.iter().map(|array| array.nulls().cloned()).collect()),
        }
    }
}

impl<T: ArrowPrimitiveType + Debug> Gather for Numbers<T> {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let values: Vec<T::Native> = places.iter().map(|&(batch, row)| self.values[batch][row]).collect();
        let nulls = self.nulls.as_ref().map(|nulls| {
            let is_valid = |(batch, row): Place| nulls[batch].as_ref().is_none_or(|nulls| nulls.is_valid(row));
            NullBuffer::new(BooleanBuffer::collect_bool(places.len(), |index| is_valid(places[index])))
        });
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?.with_data_type(self.data_type.clone())))
    }
}

/// Arrays of any other type.
#[derive(Debug)]
struct Others(Vec<ArrayRef>);

impl Gather for Others {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let arrays: Vec<&dyn Array> = self.0.iter().map(AsRef::as_ref).collect();
        interleave(&arrays, places)
    }
}
