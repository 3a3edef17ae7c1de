//! What the derive refuses, with messages that point at the place. `TRYBUILD=overwrite cargo test -p polysort-derive --test refused -- --ignored` writes them.

use std::path::Path;

/// Trybuild compiles all dependencies for itself, which takes half a minute.
#[test]
#[ignore = "scripts/test.sh --full runs this"]
fn what_is_no_key_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}

/// Without `--full`, a doctest of each file checks only that the file does not compile, whatever the error.
#[test]
fn each_refused_file_is_a_doctest() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(folder.join("src/lib.rs")).expect("the crate");
    let list = source.split_once("refused! {\n").expect("a list").1.split_once('}').expect("its end").0;
    let mut listed: Vec<_> = list.split_whitespace().map(|name| format!("{name}.rs")).collect();
    let entries = std::fs::read_dir(folder.join("tests/refused")).expect("the types");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").file_name().into_string().expect("a name")).collect();
    files.retain(|name| name.ends_with(".rs"));
    files.sort();
    listed.sort();
    assert_eq!(listed, files);
}
