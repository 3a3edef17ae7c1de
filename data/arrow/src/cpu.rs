//! The sorts on the CPU, with exactly the arguments of arrow's functions.
//!
//! To sort with polysort, a program imports this module in place of `arrow::compute`. The sorts run in the rayon pool that they are called in.
//!
//! ```
//! use arrow_array::Int32Array;
//! use polysort_arrow::cpu::sort_to_indices;
//!
//! let order = sort_to_indices(&Int32Array::from(vec![3, 1, 2]), None, Some(2))?;
//! assert_eq!(order.values(), &[1, 2]);
//! # Ok::<(), arrow_schema::ArrowError>(())
//! ```

use crate::{SortBy, SortColumn};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef, SortOptions};
use polysort_rayon::RayonBackend;

/// Defines functions that call those of the crate with the CPU backend.
macro_rules! on_cpu {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), ") on the CPU.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`](crate::", stringify!($name), ").")]
        pub fn $name($($argument: $type),*) -> Result<$result, ArrowError> {
            crate::$name(&RayonBackend::default(), $($argument),*)
        }
    )*};
}
on_cpu! {
    sort_to_indices(array: &dyn Array, options: Option<SortOptions>, limit: Option<usize>) -> UInt32Array;
    sort(array: &dyn Array, options: Option<SortOptions>) -> ArrayRef;
    sort_limit(array: &dyn Array, options: Option<SortOptions>, limit: Option<usize>) -> ArrayRef;
    rank(array: &dyn Array, options: Option<SortOptions>) -> Vec<u32>;
    lexsort_to_indices(columns: &[SortColumn], limit: Option<usize>) -> UInt32Array;
    lexsort(columns: &[SortColumn], limit: Option<usize>) -> Vec<ArrayRef>;
    sort_batch(batch: &RecordBatch, by: &[SortBy], limit: Option<usize>) -> RecordBatch;
    sort_batches(schema: &SchemaRef, batches: &[RecordBatch], by: &[SortBy], limit: Option<usize>) -> RecordBatch;
}
