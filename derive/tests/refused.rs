//! What the derive refuses, with messages that point at the place. `TRYBUILD=overwrite cargo test -p polysort-derive --test refused` writes them.

#[test]
fn what_is_no_key_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
