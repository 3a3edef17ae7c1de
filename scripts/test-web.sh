#!/usr/bin/env bash
# The tests of a browser: builds for wasm32 and sorts in headless Chromium, on WebGPU (SwiftShader's, if there is no GPU).
#
# On Debian 12, where rustup has no wasm32: Debian's rustc-web builds the standard library from its sources.
set -euo pipefail
cd "$(dirname "$0")/.."
root=() tools=$PWD/target/tools
[ "$(id -u)" = 0 ] || root=(sudo)
packages=(rustc-web rust-web-src lld-22 chromium chromium-driver)
if ! dpkg -s "${packages[@]}" >/dev/null 2>&1; then
    "${root[@]}" apt-get -qq update
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get -qq install -y --no-install-recommends "${packages[@]}" >/dev/null
fi
version=$(grep -A1 'name = "wasm-bindgen"' Cargo.lock | sed -n 's/version = "\(.*\)"/\1/p')
"$tools/bin/wasm-bindgen" --version 2>/dev/null | grep -qF " $version" ||
    cargo install --quiet --debug --root "$tools" --version "$version" wasm-bindgen-cli
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$PWD/target/web
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=$tools/bin/wasm-bindgen-test-runner
export CHROMEDRIVER=/usr/bin/chromedriver WASM_BINDGEN_TEST_TIMEOUT=300
cargo test -Zbuild-std=std,panic_abort --target wasm32-unknown-unknown -p polysort-web --test browser "$@"
