//! The impl for a struct: the bits of the fields side by side, as in a tuple of the fields.
//!
//! A type without parameters takes the smallest word for the sum of the widths. With parameters, Rust cannot compute a word from that sum, and
//! the struct takes the word of the nested tuple `(first, (second, (third, …)))` of its fields.

use crate::input::{Container, is_descending};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{DataStruct, Field, GenericParam, Index, Member, Result, parse_quote, parse_quote_spanned};

/// The impl of `Sortable`.
pub(crate) fn sortable(container: &Container<'_>, data: &DataStruct) -> Result<TokenStream> {
    let (name, krate) = (&container.input.ident, &container.krate);
    let derived = quote!(#krate::derived);
    let parts: Vec<Part> = data.fields.iter().enumerate().map(|(at, field)| Part::of(at, field)).collect::<Result<_>>()?;
    let tuple = nested_tuple(&parts);

    // All that the code needs of a field's type are items of `Sortable`, with the span of that type: if the type is no key, the compiler finds the
    // same error in each of them, and reports it once.
    let item = |part: &Part<'_>, name: &str| part.item(krate, name);
    let of_crate = |part: &Part<'_>, module: &str, name: &str| {
        let (krate, module, name) =
            (located(krate.to_token_stream(), part.span()), Ident::new(module, part.span()), Ident::new(name, part.span()));
        quote_spanned!(part.span()=> #krate::#module::#name)
    };
    let word = |part: &Part<'_>, name: &str| of_crate(part, "Word", name);
    let widths: Vec<TokenStream> = parts.iter().map(|part| item(part, "WIDTH")).collect();
    let rebuilt = parts.iter().map(|part| item(part, "IS_REBUILT"));
    let mut generics = container.input.generics.clone();
    let (bits, width, checks);
    if generics.params.iter().all(|param| matches!(param, GenericParam::Lifetime(_))) {
        width = sum(&widths);
        bits = quote!(<#derived::Bits<{ #derived::word_bits(#width) }> as #derived::SmallestWord>::Word);
        checks = checks_of_width(container, &parts, &widths);
    } else {
        bits = quote!(<#tuple as #krate::Sortable>::Bits);
        width = quote!(<#tuple as #krate::Sortable>::WIDTH);
        checks = TokenStream::new();
        let clause = generics.make_where_clause();
        clause.predicates.push(parse_quote!(Self: ::core::marker::Copy));
        clause.predicates.extend(
            parts
                .iter()
                .map(Part::key)
                .map(|key| -> syn::WherePredicate { parse_quote_spanned!(key.span()=> #key: #krate::Sortable) }),
        );
        clause.predicates.push(parse_quote!(#tuple: #krate::Sortable));
    }
    let (impl_generics, type_generics, clause) = generics.split_for_impl();

    let pushes = parts.iter().map(|part| {
        let (width, to_bits, widen) = (item(part, "WIDTH"), item(part, "to_bits"), word(part, "widen"));
        let (push, value) = (of_crate(part, "derived", "push"), part.value_in(&quote!(self)));
        quote_spanned!(part.span()=> let bits = #push(bits, #width, #widen(#to_bits(#value)));)
    });
    // The last field has the lowest bits.
    let pops = parts.iter().rev().map(|part| {
        let (width, from_bits, truncate) = (item(part, "WIDTH"), item(part, "from_bits"), word(part, "truncate"));
        let (pop, local) = (of_crate(part, "derived", "pop"), &part.local);
        quote_spanned! {part.span()=>
            let (bits, #local) = #pop(bits, #width);
            let #local = #from_bits(#truncate(#local));
        }
    });
    let inits = parts.iter().map(Part::init);
    let identical = parts.iter().map(|part| {
        let (identical, to_bits) = (item(part, "IDENTICAL"), item(part, "to_bits"));
        let (a, b) = (part.value_in(&quote!(_a)), part.value_in(&quote!(_b)));
        quote_spanned! {part.span()=>
            match #identical {
                ::core::option::Option::Some(identical) => identical(#a, #b),
                ::core::option::Option::None => #to_bits(#a) == #to_bits(#b),
            }
        }
    });
    let fits = parts.iter().map(|part| {
        let (bits_fit, to_bits, value) = (item(part, "bits_fit"), item(part, "to_bits"), part.value_in(&quote!(_key)));
        quote_spanned!(part.span()=> #bits_fit(#value, #to_bits(#value)))
    });
    Ok(quote! {
        #checks

        #[automatically_derived]
        #[allow(unused_qualifications, reason = "derived code relies on no import")]
        impl #impl_generics #krate::Sortable for #name #type_generics #clause {
            type Bits = #bits;
            const WIDTH: u32 = #width;
            const IS_REBUILT: bool = true #(& #rebuilt)*;
            const IDENTICAL: ::core::option::Option<fn(Self, Self) -> bool> = if Self::IS_REBUILT {
                ::core::option::Option::Some(|_a, _b| true #(& #identical)*)
            } else {
                ::core::option::Option::None
            };

            #[inline]
            fn to_bits(self) -> Self::Bits {
                let bits = 0_u128;
                #(#pushes)*
                <Self::Bits as #krate::Word>::truncate(bits)
            }

            #[inline]
            fn from_bits(bits: Self::Bits) -> Self {
                let bits = <Self::Bits as #krate::Word>::widen(bits);
                #(#pops)*
                let _ = bits;
                Self { #(#inits),* }
            }

            #[inline]
            fn bits_fit(_key: Self, _: Self::Bits) -> bool {
                true #(& #fits)*
            }
        }
    })
}

/// A field of the struct, as a part of the key.
struct Part<'a> {
    member: Member,
    field: &'a Field,
    is_descending: bool,
    /// The variable that has the value of the field as a key, when the struct is rebuilt.
    local: Ident,
}

impl<'a> Part<'a> {
    fn of(at: usize, field: &'a Field) -> Result<Self> {
        let member = match &field.ident {
            Some(name) => Member::Named(name.clone()),
            None => Member::Unnamed(Index { index: at as u32, span: field.ty.span() }),
        };
        Ok(Self { member, field, is_descending: is_descending(field)?, local: format_ident!("field_{at}") })
    }

    /// Where the compiler reports an error of the key type.
    fn span(&self) -> Span {
        self.field.ty.span()
    }

    /// The key type: that of the field, or its reverse.
    fn key(&self) -> TokenStream {
        let ty = located(self.field.ty.to_token_stream(), self.span());
        if self.is_descending { quote_spanned!(self.span()=> ::core::cmp::Reverse<#ty>) } else { ty }
    }

    /// The value of the field as a key, in a struct.
    fn value_in(&self, whole: &TokenStream) -> TokenStream {
        let member = &self.member;
        if self.is_descending { quote!(::core::cmp::Reverse(#whole.#member)) } else { quote!(#whole.#member) }
    }

    /// The initializer of the field: `name: value`.
    fn init(&self) -> TokenStream {
        let Self { member, local, .. } = self;
        if self.is_descending { quote!(#member: #local.0) } else { quote!(#member: #local) }
    }

    /// An item that `Sortable` has for the key type.
    fn item(&self, krate: &syn::Path, name: &str) -> TokenStream {
        let (key, name, krate) = (self.key(), Ident::new(name, self.span()), located(krate.to_token_stream(), self.span()));
        quote_spanned!(self.span()=> <#key as #krate::Sortable>::#name)
    }

    /// The name of the field, as an error names it.
    fn name(&self) -> String {
        match &self.member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }
}

/// The tokens, each of them located at `span`: errors about parts of them are reported there.
fn located(tokens: TokenStream, span: Span) -> TokenStream {
    let tokens = tokens.into_iter().map(|token| {
        let mut token = match token {
            TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), located(group.stream(), span))),
            token => token,
        };
        token.set_span(token.span().located_at(span));
        token
    });
    tokens.collect()
}

/// The nested tuple of the key types: `(A, (B, C))`. One type is itself, and no type is `()`.
fn nested_tuple(parts: &[Part<'_>]) -> TokenStream {
    match parts {
        [] => quote!(()),
        [only] => only.key(),
        [first, rest @ ..] => {
            let (first, rest) = (first.key(), nested_tuple(rest));
            quote!((#first, #rest))
        }
    }
}

/// The sum of the widths of fields.
fn sum(widths: &[TokenStream]) -> TokenStream {
    if widths.is_empty() { quote!(0) } else { quote!(#(#widths)+*) }
}

/// For each field, a check that its width fits in its word, and that the fields up to that one have at most 128 bits. The errors point at the field.
fn checks_of_width(container: &Container<'_>, parts: &[Part<'_>], widths: &[TokenStream]) -> TokenStream {
    let (krate, name) = (&container.krate, container.input.ident.unraw());
    let checks = parts.iter().enumerate().map(|(at, part)| {
        let (before, this, bits) = (sum(&widths[..at]), &widths[at], part.item(krate, "Bits"));
        let field = part.name();
        let exceeds = format!("the WIDTH of the type of field `{field}` exceeds its Bits");
        let too_long = format!("the key `{name}` has more than 128 bits with its field `{field}`");
        let derived = quote_spanned!(part.span()=> #krate::derived);
        quote_spanned! {part.span()=>
            #[allow(unused_qualifications, reason = "derived code relies on no import")]
            const _: () = {
                ::core::assert!(#derived::fits_in_word::<#bits>(#this), #exceeds);
                ::core::assert!(#derived::has_room(#before, #this), #too_long);
            };
        }
    });
    quote!(#(#checks)*)
}
