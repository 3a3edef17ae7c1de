#!/usr/bin/env bash
# The tests of a browser: builds for wasm32 and sorts in headless Chromium, on WebGPU (SwiftShader's, if there is no GPU).
#
# On Debian 12, where rustup has no wasm32: Debian's rustc-web builds the standard library from its sources.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/tools
scripts/apt.sh rustc-web rust-web-src lld-22 chromium chromium-driver
version=$(grep -A1 'name = "wasm-bindgen"' Cargo.lock | sed -n 's/version = "\(.*\)"/\1/p')
"$tools/bin/wasm-bindgen" --version 2>/dev/null | grep -qF " $version" ||
    cargo install --quiet --debug --root "$tools" --version "$version" wasm-bindgen-cli
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$PWD/target/web
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=$tools/bin/wasm-bindgen-test-runner
export CHROMEDRIVER=/usr/bin/chromedriver WASM_BINDGEN_TEST_TIMEOUT=300
cargo test -Zbuild-std=std,panic_abort --target wasm32-unknown-unknown -p polysort-web --test browser "$@"
