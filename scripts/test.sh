#!/usr/bin/env bash
# Everything that must hold, on a bare Debian or Ubuntu machine with Rust: sets up what it needs, then checks and tests.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "format and lints"
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings

step "tests"
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --no-fail-fast --status-level fail --final-status-level slow
else
    cargo test --workspace --all-targets --quiet
fi
cargo test --workspace --doc --quiet

step "examples"
for example in quickstart custom_key; do cargo run --quiet --example "$example" >/dev/null; done
cargo run --quiet --example own_backend -- --quiet u32

step "unsafe files under the address sanitizer"
# The nightly option on the pinned toolchain; a target of its own, so that build scripts are not instrumented.
host=$(rustc -vV | sed -n 's/^host: //p')
sanitized() { RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" cargo "$@" --target "$host" --target-dir target/asan; }
sanitized test --quiet -p polysort-rayon --lib --tests
POLYSORT_LONGEST=70000 sanitized test --quiet --test conformance -- --quiet "[rayon, 2 threads]"

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

step "packages"
cargo package --workspace --allow-dirty --quiet --no-verify
cargo package --workspace --allow-dirty --list --quiet >/dev/null

step "the demo"
cargo run --release --quiet -p polysort-cli -- demo --quick

printf '\nall of it passed in %s s, on the CPU (%s threads)\n' "$SECONDS" "$(nproc)"
