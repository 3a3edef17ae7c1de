//! Arrays of NumPy as slices of keys: the type of their elements, and the borrows that other calls must not have.

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1, PyUntypedArray};
use polysort::{Options, Sortable};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A key type of NumPy.
pub(crate) trait Key: Element + Sortable + Send + Sync {}
impl<K: Element + Sortable + Send + Sync> Key for K {}

/// Evaluates an expression with the type `$type` that the elements of an array have, one of the list.
macro_rules! with_type {
    ($array:expr, $type:ident of [$($each:ty)*] => $then:expr) => {{
        let array: &Bound<'_, PyUntypedArray> = $array;
        let (py, dtype) = (array.py(), numpy::PyUntypedArrayMethods::dtype(array));
        $(if numpy::PyArrayDescrMethods::is_equiv_to(&dtype, &numpy::dtype::<$each>(py)) {
            type $type = $each;
            $then
        } else)* {
            Err(pyo3::exceptions::PyTypeError::new_err(format!("no type of this call: {dtype}")))
        }
    }};
}
macro_rules! with_key {
    ($array:expr, $type:ident => $then:expr) => {
        $crate::arrays::with_type!($array, $type of [u8 u16 u32 u64 i8 i16 i32 i64 half::f16 f32 f64] => $then)
    };
}
pub(crate) use {with_key, with_type};

pub(crate) fn options(descending: bool) -> Options {
    if descending { Options::descending() } else { Options::ascending() }
}

pub(crate) fn read<'py, T: Element>(array: &Bound<'py, PyUntypedArray>) -> PyResult<PyReadonlyArray1<'py, T>> {
    array.cast::<PyArray1<T>>()?.try_readonly().map_err(in_use)
}

pub(crate) fn write<'py, T: Element>(array: &Bound<'py, PyUntypedArray>) -> PyResult<PyReadwriteArray1<'py, T>> {
    array.cast::<PyArray1<T>>()?.try_readwrite().map_err(in_use)
}

fn in_use(_: numpy::BorrowError) -> PyErr {
    PyRuntimeError::new_err("another call uses the memory of this array, or the array is read-only")
}
