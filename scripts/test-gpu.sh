#!/usr/bin/env bash
# The GPU tests on software Vulkan: every program of backends/wgpu/tests, but for that of long sorts, on every device, with and without subgroup operations.
#
#   scripts/test-gpu.sh [--quick] [DEVICE…]     all of lavapipe-4, lavapipe-8, lavapipe-16, swiftshader, if none is named
#
# Two programs at a time, each in a process of its own with a limit of time: a kernel that hangs cannot be stopped otherwise.
# The time goes into compiling kernels; Mesa keeps them for the next run. lavapipe-4, where that takes the least, runs the conformance suite
# of all keys, lavapipe-8 and lavapipe-16 that of some.
#
# With --quick, lavapipe runs few kernels: it takes seconds to compile one.
#   lavapipe-4     the program of calls side by side, whose repeated trials last 0.3 s instead of 3 s, and the look-back of two kinds of sorts
#   lavapipe-8, lavapipe-16    nothing
#   SwiftShader    which compiles at once and sorts slowly: some cases of each kernel, except of histogram and top_k, and without subgroups also except of runs;
#                  the calls, long calls and faults, except the slowest; vector search in pages of some shapes; and the conformance suite for u64, but
#                  without subgroups only `sort`, `sort_pairs`, `argsort`, `runs`, `async` and `misuse`
set -euo pipefail
cd "$(dirname "$0")/.."
logs=$PWD/target/gpu-tests
limit=1200

# What came of one program on one device.
report() {
    local device=$1 program=$2 log=$3 status=$4 result plain
    result=$(sed -n 's/^test result: [^.]*\. \(.* ignored\);.*finished in \(.*\)/\1, \2/p' "$log")
    plain=$(grep -cE '^test .*(no subgroups|reduce then scan).* ok$' "$log" || true)
    printf '  %-12s %-18s %s, %s of them without subgroups\n' "$device" "$program" "${result:-no result}" "$plain"
    # Whatever is skipped here is a failure: the device is there.
    [ "$status" = 0 ] && grep -qE '^test result: ok\. [1-9][0-9]* passed; 0 failed; 0 ignored' "$log" && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then echo "  it did not end within $limit s" >&2; fi
    grep -vE ' ok$' "$log" | tail -60 >&2
    return 1
}

run_program() {
    local device=$1 program=$2 name log status=0 filter=()
    name=$(basename "$program") name=${name%-*}
    log=$logs/$device-$name.log
    case $quick$device$name in
    yeslavapipe-4wgpu_look_back) filter=(--skip u64 --skip u128) ;;
    yeslavapipe-4wgpu_side_by_side) ;;
    yeslavapipe*) return ;;
    yesswiftshaderwgpu_side_by_side | yesswiftshaderwgpu_look_back) return ;;
    yesswiftshaderwgpu_conformance)
        filter=("] u64" --skip "wide digits]" --skip "reduce then scan]" --skip "portions]")
        for operation in sort_into sort_pairs_into sort_by_key top_k partial_sort select_nth sort_segments sort_pairs_segments argsort_segments; do
            filter+=(--skip "no subgroups] u64 $operation")
        done
        ;;
    yesswiftshaderwgpu_vectors)
        filter=("paged]" --skip "random shapes" --skip "dimensions with every remainder" --skip "one query with 1000 candidates")
        ;;
    # The slowest trials are left out: each takes from 4 s to more than 30 s, even if no other program runs.
    yesswiftshaderwgpu_kernels)
        filter=(--skip "kernel histogram leaves" --skip "kernel top_k leaves" --skip "no subgroups] kernel runs leaves")
        ;;
    yesswiftshaderwgpu_calls)
        filter=(--skip "async variants: they compile kernels on other threads" --skip "portions: arrays that are longer than a buffer lie in several"
            --skip "async variants: they give the results of blocking calls" --skip "repeated: thousands of sorts leave the memory as it was"
            --skip "portions: keys that do not fit a binding are sorted, with values" --skip "portions: they are sorted without subgroups"
            --skip "runs: keys and outputs start at any word, and a buffer has their number"
            --skip "recording: keys and selected indices may lie in one buffer" --skip "slices: a sort into other slices keeps its inputs"
            --skip "segments: keys that fill a binding are sorted")
        ;;
    yesswiftshaderwgpu_faults)
        filter=(--skip "a device without free memory is an error" --skip "kernels: where one does not compile, or writes nothing, others sort")
        ;;
    yesswiftshaderwgpu_long)
        filter=(--skip "one trip: a submission that fails loses nothing" --skip "portions get smaller if the device has too little memory"
            --skip "one trip: arrays that are longer than a buffer lie in several" --skip "one trip: long keys and pairs are sorted in the memory of the device"
            --skip "portions of several tiles are sorted" --skip "one trip: with little memory, there are two"
            --skip "keys of 16 bits are sorted" --skip "keys of 64 bits are sorted" --skip "keys of 128 bits are sorted"
            --skip "one trip: a device that is lost loses nothing" --skip "lengths around multiples of a portion" --skip "faults: a device that is lost loses nothing")
        ;;
    esac
    timeout --kill-after=10 "$limit" scripts/software-vulkan.sh run "$device" "$program" --test-threads=2 "${filter[@]}" >"$log" 2>&1 ||
        status=$?
    report "$device" "$name" "$log" "$status"
}

export quick=${quick-}
if [ "${1-}" = --quick ]; then
    quick=yes
    shift
fi
if [ -n "$quick" ]; then export POLYSORT_TEST_SECONDS="${POLYSORT_TEST_SECONDS-0.3}"; else export POLYSORT_THOROUGH=1; fi
case ${1-} in
--run) ;;
-*) echo "usage: scripts/test-gpu.sh [--quick] [DEVICE…]" >&2 && exit 2 ;;
esac
if [ "${1-}" = --run ]; then
    run_program "$2" "$3"
    exit
fi

# What takes longest is among the first.
programs=(calls kernels conformance long faults side_by_side vectors look_back)
if [ $# = 0 ]; then
    set -- lavapipe-4 swiftshader
    [ -n "$quick" ] || set -- lavapipe-4 lavapipe-16 lavapipe-8 swiftshader
fi
scripts/software-vulkan.sh install
mkdir -p "$logs"
rm -f "$logs"/*
# What the other tests are built with, so that nothing is built twice. No examples.
build=(cargo test --lib --bins --tests --no-run --quiet)
"${build[@]}"
built=$("${build[@]}" --message-format=json | grep -oE '"executable":"[^"]*/wgpu_[a-z_]+-[0-9a-f]+"' | cut -d'"' -f4)
# Every program but wgpu_large.
[ "$(wc -w <<<"$built")" = $((${#programs[@]} + 1)) ] || { echo "not the programs that this script knows: $built" >&2; exit 1; }
paths=()
for program in "${programs[@]}"; do
    paths+=("$(grep -E "/wgpu_$program-[0-9a-f]+$" <<<"$built")") || { echo "wgpu_$program was not built" >&2; exit 1; }
done
status=0
for path in "${paths[@]}"; do
    for device in "$@"; do printf '%s %s\n' "$device" "$path"; done
done | xargs -P 2 -L 1 "$0" --run || status=1
adapters=$(cat "$logs"/*.log | grep -hE 'subgroups (Some|None)' | sort -u)
printf 'adapters:\n%s\n%s tests passed, %s failed, %s s\n' "$adapters" "$(cat "$logs"/*.log | grep -cE '^test .* ok$')" \
    "$(cat "$logs"/*.log | grep -cE '^test .* FAILED$' || true)" "$SECONDS"
cat "$logs"/*.log | grep -h '^not run' | sort -u || true
exit "$status"
