//! The impl for an enum: the bits of a variant are its index in the order of the discriminants.

use crate::input::{Container, refuse_options};
use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{DataEnum, Error, Fields, Ident, Path, Result, Token};

/// The impl of `Sortable`.
pub(crate) fn sortable(container: &Container<'_>, data: &DataEnum) -> Result<TokenStream> {
    let (name, krate) = (&container.input.ident, &container.krate);
    if !container.input.generics.params.is_empty() {
        return Err(Error::new_spanned(&container.input.generics, "an enum with parameters is no sort key"));
    }
    for variant in &data.variants {
        refuse_options(&variant.attrs, "a variant")?;
        if !matches!(variant.fields, Fields::Unit) {
            let why = "a variant with fields is no sort key: derive `Sortable` for an enum whose variants have no fields";
            return Err(Error::new_spanned(variant, why));
        }
    }
    let variants: Vec<&Ident> = data.variants.iter().map(|variant| &variant.ident).collect();
    let count = variants.len();
    if count == 0 {
        return Err(Error::new_spanned(name, "an enum without variants has no values to sort"));
    }
    let width = index_bits(count);
    let derived = quote!(#krate::derived);
    let is_u128 = has_repr_u128(container)?;
    let discriminants = variants.iter().map(|variant| {
        // Discriminants of type u128 can be larger than any i128. With the top bit flipped, they have the order of signed numbers.
        if is_u128 { quote!((#name::#variant as u128 ^ 1 << 127) as i128) } else { quote!(#name::#variant as i128) }
    });
    let indices: Vec<usize> = (0..count).collect();
    let no_variant = format!("the bits of a variant of {name}");
    Ok(quote! {
        #[allow(unused_qualifications, reason = "derived code relies on no import")]
        const _: () = {
            // Indices count the variants as they are written. `BY_RANK` has them in the order of the discriminants, and `RANKS` is its inverse.
            const BY_RANK: [usize; #count] = #derived::sorted_indices([#(#discriminants),*]);
            const RANKS: [usize; #count] = #derived::inverse(BY_RANK);

            #[automatically_derived]
            impl #krate::Sortable for #name {
                type Bits = <#derived::Bits<{ #derived::word_bits(#width) }> as #derived::SmallestWord>::Word;
                const WIDTH: u32 = #width;
                const IDENTICAL: ::core::option::Option<fn(Self, Self) -> bool> =
                    ::core::option::Option::Some(|a, b| ::core::mem::discriminant(&a) == ::core::mem::discriminant(&b));

                #[inline]
                fn to_bits(self) -> Self::Bits {
                    let index = match self { #(Self::#variants => #indices,)* };
                    <Self::Bits as #krate::Word>::truncate(RANKS[index] as u128)
                }

                #[inline]
                fn from_bits(bits: Self::Bits) -> Self {
                    match BY_RANK.get(<Self::Bits as #krate::Word>::index(bits)) {
                        #(::core::option::Option::Some(#indices) => Self::#variants,)*
                        _ => ::core::panic!("{:#x} are not {}", bits, #no_variant),
                    }
                }
            }
        };
    })
}

/// The bits that the indices of `count` variants need; `count` is at least 1.
fn index_bits(count: usize) -> u32 {
    usize::BITS - (count - 1).leading_zeros()
}

/// Whether the discriminants are of type `u128`.
fn has_repr_u128(container: &Container<'_>) -> Result<bool> {
    for attribute in container.input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        let types = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)?;
        if types.iter().any(|path| path.is_ident("u128")) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_need_the_bits_of_the_last_one() {
        assert_eq!([1, 2, 3, 4, 5, 256, 257].map(index_bits), [0, 1, 2, 2, 3, 8, 9]);
    }
}
