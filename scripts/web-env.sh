# shellcheck shell=bash
# Sets up builds for a browser. A script sources this file in the root folder of the workspace.
#
# The file installs a compiler for wasm32 and wasm-bindgen, exports the variables that select the compiler, and sets two variables:
# `web_build` has the options of cargo for each build, and `web_tools` is the folder with the programs of wasm-bindgen.
#
# On Debian 12, where rustup has no wasm32: Debian's rustc-web builds the standard library from its sources.
scripts/apt.sh rustc-web rust-web-src lld-22
web_tools=$PWD/target/tools/bin
version=$(grep -A1 'name = "wasm-bindgen"' Cargo.lock | sed -n 's/version = "\(.*\)"/\1/p')
"$web_tools/wasm-bindgen" --version 2>/dev/null | grep -qF " $version" ||
    cargo install --quiet --debug --root "$PWD/target/tools" --version "$version" wasm-bindgen-cli
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$PWD/target/web
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22
web_build=(-Zbuild-std=std,panic_abort --target wasm32-unknown-unknown)
