//! What each type of array adds to a key.

use crate::error::external;
use crate::field::{Bits, ByRow, Field, Rows};
use crate::key::{Key, Step};
use crate::native::Native;
use crate::order::all_rows;
use crate::text::{Heads, Rest, Text};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, BinaryType, BinaryViewType, LargeBinaryType, LargeUtf8Type, StringViewType,
    Utf8Type,
};
use arrow_array::{Array, downcast_integer, downcast_primitive};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_ord::ord::make_comparator;
use arrow_schema::{ArrowError, DataType, SortOptions};
use polysort_core::{Backend, Error};

/// Whether the backend sorts columns of this type, by their bits. For a column of another type, the calling thread compares the rows
/// that are equal by all columns before it.
///
/// ```
/// use arrow_schema::DataType;
/// assert!(polysort_arrow::is_sorted_by_bits(&DataType::Utf8));
/// assert!(!polysort_arrow::is_sorted_by_bits(&DataType::new_list(DataType::Int32, true)));
/// ```
pub fn is_sorted_by_bits(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => true,
        DataType::Dictionary(_, values) => is_sorted_by_bits(values),
        other => other.is_primitive(),
    }
}

/// The null rows of an array, if there are any. A null value of a dictionary makes null rows.
pub(crate) fn nulls_of(array: &dyn Array) -> Option<NullBuffer> {
    array.logical_nulls().filter(|nulls| nulls.null_count() > 0)
}

/// The rows that are not null.
pub(crate) fn valid_rows(nulls: &NullBuffer) -> Vec<u32> {
    // The iterator does not know how many rows there are.
    let mut rows = Vec::with_capacity(nulls.len() - nulls.null_count());
    rows.extend(nulls.inner().set_indices_u32());
    rows
}

/// Adds a column to a key: its nulls, and its values.
pub(crate) fn add<'a, B: Backend>(
    backend: &B,
    key: &mut Key<'a>,
    array: &'a dyn Array,
    options: SortOptions,
) -> Result<(), ArrowError> {
    if !is_sorted_by_bits(array.data_type()) {
        key.add_step(Step::Compared(make_comparator(array, array, options)?));
        return Ok(());
    }
    let Some(nulls) = nulls_of(array) else {
        return add_values(backend, key, array, Rows::First(array.len()), None, options.descending);
    };
    key.add(Field::nulls(nulls.clone(), options.nulls_first));
    add_values(backend, key, array, Rows::Listed(&valid_rows(&nulls)), Some(nulls), options.descending)
}

/// Adds the values of a column of a supported type, at `rows`: all valid rows that a sort reads. With `nulls`, a sort reads these rows, too.
pub(crate) fn add_values<'a, B: Backend>(
    backend: &B,
    key: &mut Key<'a>,
    array: &'a dyn Array,
    rows: Rows<'_>,
    nulls: Option<NullBuffer>,
    is_descending: bool,
) -> Result<(), ArrowError> {
    let mut column = Column { key, rows, nulls, is_descending };
    macro_rules! primitive {
        ($type:ty) => {
            column.add_primitive::<$type>(array)
        };
    }
    macro_rules! dictionary {
        ($type:ty) => {
            column.add_dictionary::<$type, B>(backend, array)?
        };
    }
    downcast_primitive! {
        array.data_type() => (primitive),
        DataType::Boolean => {
            let values = array.as_boolean().values();
            column.add_bits(1, ByRow(move |row| u64::from(values.value(row))));
        }
        DataType::Utf8 => column.add_text(array.as_bytes::<Utf8Type>()),
        DataType::LargeUtf8 => column.add_text(array.as_bytes::<LargeUtf8Type>()),
        DataType::Utf8View => column.add_text(array.as_byte_view::<StringViewType>()),
        DataType::Binary => column.add_text(array.as_bytes::<BinaryType>()),
        DataType::LargeBinary => column.add_text(array.as_bytes::<LargeBinaryType>()),
        DataType::BinaryView => column.add_text(array.as_byte_view::<BinaryViewType>()),
        DataType::FixedSizeBinary(_) => column.add_text(array.as_fixed_size_binary()),
        DataType::Dictionary(key, _) => downcast_integer! {
            key.as_ref() => (dictionary),
            _ => unreachable!("the key of a dictionary is an integer")
        },
        _ => unreachable!("a supported type")
    }
    Ok(())
}

/// The ranks of an array of a supported type.
pub(crate) fn ranks<B: Backend>(backend: &B, array: &dyn Array, options: SortOptions) -> Result<Vec<u32>, ArrowError> {
    if u32::try_from(array.len()).is_err() {
        let (asked, limit) = (array.len() as u64, u32::MAX.into());
        return Err(external(Error::TooLong { what: "ranks of 32 bits".into(), asked, limit }));
    }
    let mut key = Key::new(array.len(), 1).map_err(external)?;
    add(backend, &mut key, array, options)?;
    let sorted = all_rows(backend, &key.finish()).map_err(external)?;
    let mut ranks = vec![0; array.len()];
    for (&row, rank) in sorted.rows.iter().zip(1..) {
        ranks[row as usize] = rank;
    }
    for tie in sorted.ties {
        for &row in &sorted.rows[tie.clone()] {
            ranks[row as usize] = tie.end as u32;
        }
    }
    Ok(ranks)
}

/// A column while it is added.
struct Column<'k, 'a> {
    key: &'k mut Key<'a>,
    rows: Rows<'k>,
    nulls: Option<NullBuffer>,
    is_descending: bool,
}

impl<'a> Column<'_, 'a> {
    fn add_primitive<T: ArrowPrimitiveType<Native: Native>>(&mut self, array: &'a dyn Array) {
        let threads = self.key.threads();
        for bits in T::Native::fields(array.as_primitive::<T>().values()) {
            self.key.add(Field::measured(bits, self.rows, self.nulls.clone(), self.is_descending, threads));
        }
    }

    /// Adds a field whose bits are at most `most`.
    fn add_bits(&mut self, most: u64, bits: impl Bits + 'a) {
        self.key.add(Field::up_to(most, Box::new(bits), self.nulls.clone(), self.is_descending));
    }

    fn add_text<T: Text>(&mut self, text: &'a T) {
        let heads = Heads::new(text, self.rows);
        let (has_rest, end) = (heads.has_rest(), heads.end());
        self.add_bits(heads.most(), heads);
        if has_rest {
            let rest = Rest::new(text, self.nulls.clone(), end, self.key.code_bits(), self.is_descending);
            self.key.add_step(Step::Rest(rest));
        }
    }

    /// Adds the ranks of a dictionary's values. Null values are null rows, so their ranks do not matter.
    fn add_dictionary<K: ArrowDictionaryKeyType, B: Backend>(
        &mut self,
        backend: &B,
        array: &'a dyn Array,
    ) -> Result<(), ArrowError> {
        let dictionary = array.as_dictionary::<K>();
        let ranks = ranks(backend, dictionary.values(), SortOptions::default())?;
        let most = ranks.iter().copied().max().unwrap_or(0);
        let keys = dictionary.keys().values();
        // The key of a null row can be any number.
        self.add_bits(most.into(), ByRow(move |row: usize| ranks.get(keys[row].as_usize()).copied().unwrap_or(0).into()));
        Ok(())
    }
}
