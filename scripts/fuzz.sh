#!/usr/bin/env bash
# Builds the fuzz targets with the stable compiler and runs them, one after another. Prints the executions of each, and fails if one fails.
#
#   scripts/fuzz.sh [SECONDS] [TARGET…]     runs each target, or those named, for this time (60 s). 0 runs the inputs of the corpus alone.
#
# New inputs go to target/fuzz/corpus, so that fuzz/corpus stays small. Inputs that fail go to fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-60}
[[ $time =~ ^[0-9]+$ ]] || { echo "usage: scripts/fuzz.sh [SECONDS] [TARGET…]" >&2; exit 2; }
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || for file in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done

# libFuzzer is C++.
scripts/apt.sh g++
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/fuzz}
host=$(rustc -vV | sed -n 's/^host: //p')
# The counters that libFuzzer reads: one for each edge, and the operands of comparisons. With --target, no build script gets them.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module"
for flag in level=4 inline-8bit-counters pc-table trace-compares; do RUSTFLAGS+=" -Cllvm-args=-sanitizer-coverage-$flag"; done
export RUSTFLAGS
cargo build --manifest-path fuzz/Cargo.toml --release --locked --target "$host" "${targets[@]/#/--bin=}"

failed=()
for target in "${targets[@]}"; do
    program=$CARGO_TARGET_DIR/$host/release/$target
    inputs=$CARGO_TARGET_DIR/corpus/$target log=$CARGO_TARGET_DIR/$target.log
    mkdir -p "$inputs" "fuzz/corpus/$target" "fuzz/artifacts/$target"
    limit=-max_total_time=$time
    [ "$time" != 0 ] || limit=-runs=0
    status=0
    "$program" "$limit" -print_final_stats=1 -max_len=1024 -timeout=60 -rss_limit_mb=4096 "-artifact_prefix=fuzz/artifacts/$target/" \
        "$inputs" "fuzz/corpus/$target" >"$log" 2>&1 || status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [ "$status" = 0 ] && [ "${runs:-0}" -gt 0 ]; then
        printf '%-12s %9s executions\n' "$target" "$runs"
        continue
    fi
    failed+=("$target")
    input=$(sed -n 's/^.*Test unit written to //p' "$log" | tail -1)
    printf '%-12s FAILED on the input %s\n' "$target" "${input:-(none was written: see $log)}"
    grep -m 3 -A 2 -E "panicked at|ERROR: " "$log" | sed 's/^/    /' || true
    [ -z "$input" ] || printf '    again: %s %s\n' "$program" "$input"
done
[ ${#failed[@]} = 0 ] || { echo "${#failed[@]} of ${#targets[@]} targets failed: ${failed[*]}" >&2; exit 1; }
