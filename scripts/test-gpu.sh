#!/usr/bin/env bash
# The GPU tests on software Vulkan: every program of backends/wgpu/tests, but for that of long sorts, on every device, with and without subgroup operations.
#
#   scripts/test-gpu.sh [--quick] [DEVICE…]     all of lavapipe-4, lavapipe-8, lavapipe-16, swiftshader, if none is named
#
# Two programs at a time, each in a process of its own with a limit of time: a kernel that hangs cannot be stopped otherwise.
# The time goes into compiling kernels; Mesa keeps them for the next run. lavapipe-4, where that takes the least, runs the conformance suite
# of all keys, lavapipe-8 and lavapipe-16 that of some.
#
# With --quick:
#   lavapipe-4     all but vector search, single kernels, long calls, portions, and keys that are sorted as other keys are, of 16 and of 128 bits
#   lavapipe-8     look-back and vector search
#   lavapipe-16    nothing
#   SwiftShader    which compiles at once and sorts slowly: single kernels with some of their cases, long calls, faults, vector search in pages, and the
#                  conformance suite without subgroups for unsigned keys, i64, f32 and f64
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
    yeslavapipe-8wgpu_look_back | yeslavapipe-8wgpu_vectors) ;;
    yeslavapipe-8* | yeslavapipe-16*) return ;;
    yeslavapipe-4wgpu_kernels | yeslavapipe-4wgpu_vectors | yeslavapipe-4wgpu_long) return ;;
    yesswiftshaderwgpu_side_by_side | yesswiftshaderwgpu_look_back | yesswiftshaderwgpu_calls) return ;;
    # Keys whose kernels others have as well, and what SwiftShader does.
    yeslavapipe-4wgpu_conformance)
        filter=(--skip "no subgroups]" --skip "wide digits]" --skip "reduce then scan]" --skip "portions]")
        for key in i8 bool i16 u16 f16 i32 f32 i64 f64 i128 u128 isize usize bf16 char Reverse Custom Scored "("; do filter+=(--skip "] $key"); done
        ;;
    # It compiles at once and sorts slowly: what the others leave out for the time that it takes to compile.
    yesswiftshaderwgpu_conformance)
        filter=("no subgroups]")
        # These keys are sorted as the words of others, with other masks.
        for key in i8 i16 f16 i32 i128 usize isize bf16 char bool Reverse Custom Scored "("; do filter+=(--skip "] $key"); done
        ;;
    yesswiftshaderwgpu_vectors) filter=("paged]") ;;
    # The two that take longest.
    yesswiftshaderwgpu_long) filter=(--skip "one trip: a submission that fails loses nothing" --skip "portions get smaller if the device has too little memory") ;;
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
[ -n "$quick" ] || export POLYSORT_THOROUGH=1
case ${1-} in
--run) ;;
-*) echo "usage: scripts/test-gpu.sh [--quick] [DEVICE…]" >&2 && exit 2 ;;
esac
if [ "${1-}" = --run ]; then
    run_program "$2" "$3"
    exit
fi

# What takes longest, the suite on lavapipe-4, is among the first.
if [ $# = 0 ]; then
    set -- lavapipe-4 lavapipe-8 swiftshader
    [ -n "$quick" ] || set -- lavapipe-4 lavapipe-16 lavapipe-8 swiftshader
fi
scripts/software-vulkan.sh install
mkdir -p "$logs"
rm -f "$logs"/*
# What the other tests are built with, so that nothing is built twice. No examples.
build=(cargo test --workspace --lib --bins --tests --no-run --quiet)
"${build[@]}"
built=$("${build[@]}" --message-format=json | grep -oE '"executable":"[^"]*/wgpu_(calls|conformance|faults|kernels|long|look_back|side_by_side|vectors)-[0-9a-f]+"' | cut -d'"' -f4)
[ "$(wc -w <<<"$built")" = 8 ] || { echo "not every program was built: $built" >&2; exit 1; }
status=0
for device in "$@"; do
    for program in $built; do printf '%s %s\n' "$device" "$program"; done
done | xargs -P 2 -L 1 "$0" --run || status=1
adapters=$(cat "$logs"/*.log | grep -hE 'subgroups (Some|None)' | sort -u)
printf 'adapters:\n%s\n%s tests passed, %s failed, %s s\n' "$adapters" "$(cat "$logs"/*.log | grep -cE '^test .* ok$')" \
    "$(cat "$logs"/*.log | grep -cE '^test .* FAILED$' || true)" "$SECONDS"
cat "$logs"/*.log | grep -h '^not run' | sort -u || true
exit "$status"
