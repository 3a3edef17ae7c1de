#!/usr/bin/env bash
# The records of the CPU: benches/cpu.sh FOLDER [THREADS] writes six CSV files and a text about the machine into FOLDER.
# On a quiet machine: about four minutes on two threads.
set -euo pipefail
folder=$(mkdir -p "${1:?a folder to write into}" && cd "$1" && pwd)
threads=${2:-$(nproc)}
cd "$(dirname "$0")/.."

record="$folder/$(date +%F)"
patterns=sorted,reversed,equal,few-unique,organ-pipe,nearly-sorted,skewed-top,zipf
cargo build --release --quiet -p polysort-cli
{
    lscpu | grep -E '^(Architecture|Vendor ID|Model name|CPU family|Model|CPU\(s\)|Thread\(s\) per core|Hypervisor vendor|L[123].* cache):'
    printf '%-41s%s\n' "Memory:" "$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)" \
        "Kernel:" "$(uname -sr)" "Load before (1, 5, 15 minutes):" "$(cut -d ' ' -f 1-3 /proc/loadavg)" \
        "Commit:" "$(git describe --always --abbrev=40 --dirty --exclude '*')"
    printf '\n%s\n' "$(rustc -Vv)"
} >"$record.txt"

# measure WHAT ARGUMENTS…
measure() {
    local what=$1
    shift
    printf '\n%s: polysort bench --threads %s %s\n' "$what.csv" "$threads" "$*" | tee -a "$record.txt"
    cargo run --release --quiet -p polysort-cli -- bench --threads "$threads" "$@" --csv "$record-$what.csv"
}

measure uniform --keys u32,u64,f32 --ops sort --sizes 2^24 --reps 5
measure pairs --keys u32 --ops sort_pairs --sizes 2^24 --reps 5
measure short --keys u32,f32 --ops sort,sort_pairs --orders asc,desc --sizes 2^6,2^7,2^8,2^9,2^10,2^11,2^12 --reps 7
measure patterns --keys u32,u64,f32 --ops sort --patterns $patterns --sizes 2^24 --reps 3 --seeds 1
measure patterns-pairs --keys u32 --ops sort_pairs --patterns $patterns --sizes 2^24 --reps 3 --seeds 1

printf '\n%s\n' "bandwidth.csv: cargo bench -p polysort-benches --bench bandwidth -- --threads $threads" | tee -a "$record.txt"
cargo bench --quiet -p polysort-benches --bench bandwidth -- --threads "$threads" --csv "$record-bandwidth.csv"
