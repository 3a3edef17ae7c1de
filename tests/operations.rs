//! Users find each operation in all its forms, and tests call each form as a future: this reads the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use syn::{Item, TraitItem, Visibility};

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn items(file: &str) -> Vec<Item> {
    syn::parse_file(&text(file)).unwrap_or_else(|error| panic!("{file}: {error}")).items
}

/// The names of a trait's functions.
fn functions_of(name: &str, file: &str) -> BTreeSet<String> {
    let found = items(file).into_iter().find_map(|item| match item {
        Item::Trait(found) if found.ident == name => Some(found),
        _ => None,
    });
    let functions =
        found.unwrap_or_else(|| panic!("no trait {name} in {file}")).items.into_iter().filter_map(|item| match item {
            TraitItem::Fn(function) => Some(function.sig.ident.to_string()),
            _ => None,
        });
    functions.collect()
}

fn blocking() -> BTreeSet<String> {
    functions_of("Sort", "backends/core/src/sort.rs")
}

fn futures() -> BTreeSet<String> {
    functions_of("SortAsync", "backends/core/src/sort_async.rs")
}

#[test]
fn each_operation_with_options_is_a_future_too() {
    let with_options = |name: &String| Some(format!("{}_async", name.strip_suffix("_with")?));
    let expected: BTreeSet<String> = blocking().iter().filter_map(with_options).collect();
    assert!(expected.len() > 15, "{expected:?}");
    assert_eq!(futures(), expected);
}

#[test]
fn each_operation_with_options_exists_without_them() {
    let all = blocking();
    let without: Vec<&str> =
        all.iter().filter_map(|name| name.strip_suffix("_with")).filter(|&name| !all.contains(name)).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn the_facade_has_a_function_for_each_method() {
    let functions = items("src/ops.rs").into_iter().filter_map(|item| match item {
        Item::Fn(function) if matches!(function.vis, Visibility::Public(_)) => Some(function.sig.ident.to_string()),
        _ => None,
    });
    assert_eq!(functions.collect::<BTreeSet<_>>(), blocking());
}

/// The conformance suite runs on every backend. Other futures share the suite's steps; one backend runs them in the tests of the contract.
#[test]
fn tests_call_each_future() {
    let tests = ["tests/kit/src/ops.rs", "tests/kit/src/wide.rs", "backends/core/tests/core/operations.rs"].map(text).concat();
    let missing: Vec<String> = futures().into_iter().filter(|name| !tests.contains(&format!(".{name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
