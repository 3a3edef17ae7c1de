//! What the attributes `#[sortable(…)]` say.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, DeriveInput, Error, Field, Path, Result, parse_quote};

/// The type that derives, with its attributes.
pub(crate) struct Container<'a> {
    pub(crate) input: &'a DeriveInput,
    /// The path of the crate that has `Sortable`.
    pub(crate) krate: Path,
}

impl<'a> Container<'a> {
    pub(crate) fn of(input: &'a DeriveInput) -> Result<Self> {
        let mut krate = None;
        each_option(&input.attrs, |option| {
            if option.path.is_ident("crate") {
                once(&option, krate.is_some())?;
                krate = Some(option.value()?.call(Path::parse_mod_style)?);
                return Ok(());
            }
            Err(option.error(if option.path.is_ident("desc") {
                "`desc` belongs to a field. To reverse the whole key, wrap it in `core::cmp::Reverse` or sort with `Options::descending()`"
            } else {
                "a type has one option: `crate = path`"
            }))
        })?;
        Ok(Self { input, krate: krate.unwrap_or_else(|| parse_quote!(::polysort)) })
    }
}

/// Whether a field is in descending order.
pub(crate) fn is_descending(field: &Field) -> Result<bool> {
    let mut is_descending = false;
    each_option(&field.attrs, |option| {
        if option.path.is_ident("desc") {
            once(&option, is_descending)?;
            is_descending = true;
            return Ok(());
        }
        let skips = ["skip", "ignore"].iter().any(|name| option.path.is_ident(name));
        Err(option.error(if skips {
            "a sort rebuilds each key from its bits, and would lose a field that the bits leave out. \
             Do not derive `Sortable` here: sort the values with `sort_by_key` and a key of the other fields"
        } else {
            "a field has one option: `desc`"
        }))
    })?;
    Ok(is_descending)
}

/// Refuses attributes at a place that has no options.
pub(crate) fn refuse_options(attributes: &[Attribute], place: &str) -> Result<()> {
    let mut found = attributes.iter().filter(|attribute| attribute.path().is_ident("sortable"));
    found.next().map_or(Ok(()), |attribute| Err(Error::new_spanned(attribute, format!("{place} has no options of `sortable`"))))
}

/// Calls `take` for each option in the attributes `sortable`.
fn each_option(attributes: &[Attribute], mut take: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("sortable"));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(&mut take))
}

fn once(option: &ParseNestedMeta<'_>, is_there: bool) -> Result<()> {
    if is_there { Err(option.error("this option is given twice")) } else { Ok(()) }
}
