#!/usr/bin/env bash
# Runs the unit tests of polysort-rayon as aarch64 code in QEMU: they test the networks and merges in backends/rayon/src/simd/neon.rs.
#
#   scripts/test-aarch64.sh [FILTER]     what FILTER names, as an argument of the test program
#
# Needs no target of rustup: Debian 12's rustc-web compiles the standard library from its sources.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt.sh rustc-web rust-web-src gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$PWD/target/aarch64
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
cargo test --quiet -Zbuild-std --target aarch64-unknown-linux-gnu -p polysort-rayon --lib -- "$@"
