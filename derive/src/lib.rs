//! `#[derive(Sortable)]` for [polysort](https://docs.rs/polysort). Use it through the feature `derive` of `polysort` or of `polysort-core`.
//!
//! The macro reads the type (`input.rs`), and writes the impl of a struct (`structs.rs`) or of an enum (`enums.rs`).
#![forbid(unsafe_code)]

mod enums;
mod input;
mod structs;

use input::Container;
use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Derives `Sortable` for a struct or for an enum without fields, so that its values are sort keys.
///
/// # Structs
/// Values are ordered by their first field, then by their second, and so on. If all fields are in ascending order, this is the order of
/// `derive(PartialOrd)`, except that floats have their total order. Each field is a key itself: its type implements `Sortable`.
///
/// The bits of the fields are packed without gaps, those of the first field most significant, into the smallest word (`u8` to `u128`) that
/// has room for the sum of their widths. More than 128 bits do not compile; the error points at the field that is too much.
///
/// ```
/// # use polysort_core::Sortable;
/// #[derive(Clone, Copy, Debug, Sortable)]
/// # #[sortable(crate = polysort_core)]
/// struct Reading {
///     sensor: u8,        // 8 bits
///     is_valid: bool,    // 1 bit
///     #[sortable(desc)]
///     value: f32,        // 32 bits, in the opposite order
/// }
/// // 41 bits in a u64: | 0 … 0 | sensor | is_valid | value, complemented |
/// assert_eq!(Reading::WIDTH, 41);
/// let bits: u64 = Reading { sensor: 3, is_valid: true, value: 0.0 }.to_bits();
/// assert_eq!(bits >> 32, 3 << 1 | 1);
/// ```
///
/// Tuple structs and unit structs work in the same way. All values of a unit struct are equal.
///
/// A sort makes each value again from its bits, so every field is a part of the key. If a type has a field that the order leaves out,
/// do not derive `Sortable`: sort the values with `sort_by_key` and a key of the other fields.
///
/// # Enums
/// An enum has variants without fields. Variants are ordered by their discriminants, as by `derive(PartialOrd)`: without explicit discriminants, that
/// is the order in which they are written. The bits of a variant are its index in this order. So three variants need two bits, whatever
/// their discriminants.
///
/// # Attributes
/// | attribute | on | meaning |
/// |---|---|---|
/// | `#[sortable(desc)]` | a field | The field is in descending order, as if it were in `core::cmp::Reverse`. |
/// | `#[sortable(crate = path)]` | the type | The path of the crate that has `Sortable`. The default is `::polysort`; users of `polysort-core` alone write `polysort_core`. |
///
/// # Generic structs
/// A generic struct is a key if the tuple of its fields is one, and its word is the word of that tuple. This word may be larger than the smallest one:
/// three fields of one bit each have a `u32`. `PhantomData` is a key of no bits.
///
/// # What a sort checks
/// A sort checks each key before it changes anything, as for a tuple of the fields: the bits of each field fit in its width, and the field comes
/// back from its bits unchanged. A key that fails is an error, `Error::InvalidKey`. If the type of a field cannot be made
/// again from its bits, sorts move the structs whole instead. `from_bits` panics for bits that are of no variant of an enum; bits that `to_bits`
/// returned are always of a variant.
#[proc_macro_derive(Sortable, attributes(sortable))]
pub fn derive_sortable(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let written = Container::of(&input).and_then(|container| match &input.data {
        Data::Struct(data) => structs::sortable(&container, data),
        Data::Enum(data) => enums::sortable(&container, data),
        Data::Union(data) => {
            Err(Error::new(data.union_token.span, "a union is no sort key: derive `Sortable` for a struct or an enum"))
        }
    });
    written.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// The files of `tests/refused`, each as a doctest that does not compile.
#[cfg(doctest)]
mod refused {
    macro_rules! refused {
        ($($name:ident)*) => {$(
            #[doc = concat!("```compile_fail\n", include_str!(concat!("../tests/refused/", stringify!($name), ".rs")), "\n```")]
            mod $name {}
        )*};
    }
    refused! {
        field_is_no_key generic_field_is_no_key more_than_128_bits not_copy reversed_field_is_no_key skipped_field union_is_no_key unknown_options
        variant_with_fields wider_than_its_word
    }
}
