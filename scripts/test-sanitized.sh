#!/usr/bin/env bash
# The tests of polysort-rayon and polysort-arrow, which have unsafe code, under the address sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
# An allocation that no memory holds must fail, as it does without the sanitizer, and not end the program: a test asks for one.
export ASAN_OPTIONS=allocator_may_return_null=1
# The sanitizer is an option of nightly compilers. The target is named, so that build scripts are not instrumented.
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address"
cargo test --quiet --target "$host" --target-dir target/asan -p polysort-rayon -p polysort-arrow --features polysort-rayon/vector --lib --tests
