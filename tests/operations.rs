//! Reads the sources: each operation has all its forms, a test awaits each async form, and the conformance suite checks each operation.

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

/// These are `top_k_with` and `top_k_segments_with` in ascending order.
const ONLY_WITHOUT_OPTIONS: [&str; 2] = ["bottom_k", "bottom_k_segments"];

#[test]
fn each_operation_exists_with_options_and_without() {
    let all = blocking();
    let is_alone = |name: &str| match name.strip_suffix("_with") {
        Some(without) => !all.contains(without),
        None => !all.contains(&format!("{name}_with")) && !ONLY_WITHOUT_OPTIONS.contains(&name),
    };
    let alone: Vec<&String> = all.iter().filter(|name| is_alone(name.as_str())).collect();
    assert!(alone.is_empty(), "{alone:?}");
}

#[test]
fn the_facade_has_a_function_for_each_method() {
    let functions = items("src/ops.rs").into_iter().filter_map(|item| match item {
        Item::Fn(function) if matches!(function.vis, Visibility::Public(_)) => Some(function.sig.ident.to_string()),
        _ => None,
    });
    let (functions, methods): (BTreeSet<String>, _) = (functions.collect(), blocking());
    let only_one: Vec<&String> = functions.symmetric_difference(&methods).collect();
    assert!(only_one.is_empty(), "{only_one:?}");
}

/// The conformance suite awaits most futures, on every backend. The tests of polysort-core await the others, on one backend.
#[test]
fn tests_call_each_future() {
    let tests = ["tests/kit/src/ops.rs", "tests/kit/src/wide.rs", "backends/core/tests/core/operations.rs"].map(text).concat();
    let missing: Vec<String> = futures().into_iter().filter(|name| !tests.contains(&format!(".{name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Operations without a check of their own: the check `sort_wide` also calls `argsort_wide`.
const CHECKED_WITH_OTHERS: [&str; 1] = ["argsort_wide"];

#[test]
fn the_suite_has_a_check_of_each_operation() {
    let suite = text("tests/kit/src/ops.rs");
    let names = blocking().into_iter().filter_map(|name| name.strip_suffix("_with").map(String::from));
    let is_checked = |name: &String| suite.contains(&format!("\"{name}\"")) || CHECKED_WITH_OTHERS.contains(&name.as_str());
    let missing: Vec<String> = names.filter(|name| !is_checked(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
