#!/usr/bin/env bash
# Our sorts of data that is on the GPU beside CUB's, lampshade's and wgpu_sort's, in turn, on a machine with an NVIDIA card, cargo and nvcc:
# prints rows as they come. Each round has keys of its own.
#   benches/gpu.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3}
cargo build --release --quiet -p polysort-wgpu --examples
CARGO_TARGET_DIR=target/peers cargo build --release --quiet --locked --manifest-path benches/gpu/peers/Cargo.toml
nvcc -O3 -arch=native benches/gpu/cub.cu -o target/cub
nvcc -O3 -arch=native benches/gpu/cub_runs.cu -o target/cub_runs
cases=("u32 none 10,12,14,16,20,24,26,28 15" "f32 none 24,26,28 9" "u32 u32 24,26,27 9" "u64 none 24,26,27 9" "u64 u32 24,26,27 7"
    "u16 none 24,28 7" "u8 none 24,28 7")
# One that fails or hangs has no rows; the others have.
peers() {
    timeout 120 target/peers/release/peers "$@" || echo "peers $*: status $?" >&2
}
for ((round = 0; round < rounds; round++)); do
    export SEED=$round
    for case in "${cases[@]}"; do
        # A case is several arguments.
        # shellcheck disable=SC2086
        target/release/examples/measure $case && target/cub $case
        if [[ $case == "u32 none "* ]]; then
            target/release/examples/measure u32 none 26,28 9 --descending
            target/release/examples/measure i32 none 26,28 9
        fi
        if [[ $case == "u32 none "* ]]; then peers lampshade none 24,26,28 15; fi
        if [[ $case == "u32 u32 "* ]]; then peers lampshade u32 24,26,27 9; peers wgpu_sort u32 24,26,27 9; fi
    done
    for pattern in sorted equal low16; do
        target/release/examples/measure u32 none 28 7 --pattern "$pattern" && target/cub u32 none 28 7 "$pattern"
    done
    target/release/examples/measure u32 none 24,26 9 wide
    target/release/examples/measure u32 none 24,26 9 hybrid
    for segments in 8 12 16 20 zipf; do
        for values in none u32; do
            target/release/examples/measure u32 "$values" 26 9 --segments "$segments" && target/cub u32 "$values" 26 9 "segments:$segments"
        done
    done
    for case in "u32 none 26,27,28" "u32 u32 26,27,28" "u64 none 26,27"; do
        # shellcheck disable=SC2086
        target/release/examples/measure_merge $case 9 && target/cub $case 9 merge
    done
    for keys in u32 u64; do
        for outputs in encode unique; do
            for run in 1 4 100 100000; do
                target/release/examples/measure_runs "$keys" "$outputs" 20,24,27 "$run" 15
                target/cub_runs "$keys" "$outputs" 20,24,27 "$run" 15
            done
        done
    done
    for k in 1 100 1000 10000; do
        target/release/examples/measure u32 none 24,26 9 --top "$k"
        if python3 -c 'import torch' 2>/dev/null; then python3 benches/gpu/torch_topk.py 24,26 9 "$k"; fi
    done
    for search in "768 262144 64 16384 10 9" "768 262144 16 4096 10 9" "768 262144 64 16384 10 9 l2 f16"; do
        # shellcheck disable=SC2086
        target/release/examples/measure_search $search
        # shellcheck disable=SC2086
        if python3 -c 'import torch' 2>/dev/null; then python3 benches/gpu/torch_search.py $search; fi
    done
    target/release/examples/measure u32 none 20,24,26 7 --host
    if python3 -c 'import torch' 2>/dev/null; then python3 benches/gpu/torch_sort.py 20,24,26 7; fi
done
