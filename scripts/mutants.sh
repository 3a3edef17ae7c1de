#!/usr/bin/env bash
# Plants mistakes in crates, one at a time, and runs the tests of the crate. A mistake that no test notices (a survivor) shows that a test is missing, or
# makes no difference. Needs no GPU.
#
#   scripts/mutants.sh [--every N] [CRATE…]     tries all mistakes, or every N-th one; in the crates named, else in those of `crates` below
#
# Prints how many mistakes each crate's tests found, and the survivors. .cargo/mutants.toml names mistakes that are not planted, each with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
crates=(polysort-core polysort-fallback polysort-shaders polysort-external polysort-arrow polysort-rayon)
every=1
if [ "${1-}" = --every ]; then
    every=$2
    shift 2
fi
[ $# = 0 ] || crates=("$@")
cargo mutants --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-mutants

export CARGO_PROFILE_DEV_DEBUG=false
for crate in "${crates[@]}"; do
    out=target/mutants/$crate status=0
    mkdir -p "$out"
    # 2: mistakes survived. 3: a test did not end, which counts as found.
    cargo mutants --package "$crate" --all-features --shard "0/$every" --sharding round-robin --output "$out" \
        --no-times --colors never --minimum-test-timeout 60 >"$out/log" 2>&1 || status=$?
    if [ "$status" != 0 ] && [ "$status" != 2 ] && [ "$status" != 3 ]; then
        tail -40 "$out/log" >&2
        exit "$status"
    fi
    printf '%s: %s\n' "$crate" "$(tail -1 "$out/log")"
    sed 's/^/  survived: /' "$out/mutants.out/missed.txt"
done
