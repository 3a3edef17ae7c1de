#!/usr/bin/env bash
# On a Mac: the GPU tests with native kernels and with translated ones, and how fast it is, as a report.
set -uo pipefail
cd "$(dirname "$0")/.."
[ "$(uname)" = Darwin ] || { echo "this is for macOS; elsewhere tests/msl runs the kernels on the CPU" >&2; exit 2; }
report=target/metal-report.txt
failed=0
mkdir -p target
{
    printf '# polysort %s on Metal\n' "$(git rev-parse --short HEAD)"
    sw_vers
    sysctl -n machdep.cpu.brand_string hw.memsize
    system_profiler SPDisplaysDataType | grep -E 'Chipset|Cores|Metal'
    rustc -V
    cargo run --release --quiet -p polysort-cli -- devices
    for native in 1 0; do
        printf '\n## GPU tests, native kernels: %s\n' "$native"
        for program in calls conformance faults kernels look_back side_by_side vectors; do
            log=target/metal-$program-$native.log
            POLYSORT_TEST_NATIVE=$native cargo test --release --quiet -p polysort-wgpu --features vector --test "wgpu_$program" >"$log" 2>&1 || failed=1
            printf '%-12s %s\n' "$program" "$(grep '^test result' "$log" || tail -n 3 "$log")"
            grep -E 'FAILED|panicked' "$log" | head -n 40
        done
    done
    printf '\n## speed\n'
    cargo run --release --quiet -p polysort-cli -- bench --keys u32,f32,u64 --ops sort,sort_pairs,argsort --sizes 2^12,2^16,2^20,2^24
} > >(tee "$report") 2>&1
printf '\nthe report is in %s\n' "$report"
exit "$failed"
