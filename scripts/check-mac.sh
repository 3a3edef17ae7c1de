#!/usr/bin/env bash
# Type-checks the libraries as a Mac would build them, for aarch64-apple-darwin.
#
# On Debian 12, where rustup has no such target: Debian's rustc-web checks against the sources of the standard library.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/apt.sh rustc-web rust-web-src
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$PWD/target/mac
cargo check --quiet -Zbuild-std --target aarch64-apple-darwin -p polysort -p polysort-wgpu -p polysort-metal "$@"
