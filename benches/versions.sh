#!/usr/bin/env bash
# Sorts of host slices by an earlier version of the GPU backend and by this one, in turn, in one process.
#   benches/versions.sh COMMIT [SECONDS] [POWER]     seconds for each series; the most keys of a call as a power of two
set -euo pipefail
cd "$(dirname "$0")/.."
# Beside the repository: inside, cargo would take its crates for ours.
old=../polysort-earlier
[ -e "$old" ] || git worktree add --detach "$old" "$1"
git -C "$old" checkout --force --quiet "$1"
# Two crates of one program differ in their names or their versions.
sed -i 's/^version = "0.1.0"/version = "0.0.0"/; s/version = "0.1.0", path/version = "0.0.0", path/' "$old"/Cargo.toml
CARGO_TARGET_DIR=target/peers cargo build --release --quiet --manifest-path benches/gpu/versions/Cargo.toml
target/peers/release/versions "${2:-2.5}" "${3:-26}"
