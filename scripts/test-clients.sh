#!/usr/bin/env bash
# Programs over crates of other people, with the sort that those crates name and with polysort in its place: compares their results, and prints both times.
#
#   scripts/test-clients.sh [POWER [REPS]]     2^POWER triangles and 4 × as many arcs (default 18), the least time of REPS builds (default 3)
set -euo pipefail
cd "$(dirname "$0")/.."
power=${1:-18} reps=${2:-3}
scripts/apt.sh g++ libc6-dev
root=$PWD clients=$PWD/tests/clients target=$PWD/target/clients
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# Tests of the interface of rdst over polysort.
CARGO_TARGET_DIR=$target/polysort cargo test --release --quiet --manifest-path "$clients/rdst/Cargo.toml"

# A copy of the programs for each sort, as the patch changes the lock file.
build() {
    local sort=$1
    shift
    mkdir -p "$target/$sort"
    rm -rf "$target/$sort/rdst_users"
    cp -r "$clients/rdst_users" "$target/$sort/rdst_users"
    (cd "$target/$sort/rdst_users" && CARGO_TARGET_DIR=$target/$sort cargo build --release --quiet "$@")
    # Which of the two was linked shows in the tree of crates, not in what the programs say.
    (cd "$target/$sort/rdst_users" && cargo tree --quiet "$@" --invert rdst --depth 0)
}
build rdst
build polysort --config "patch.crates-io.rdst.path='$clients/rdst'"

# In turn.
for sort in rdst polysort rdst polysort; do
    "$target/$sort/release/bvh" "$power" "$reps" >>"$results/$sort"
    "$target/$sort/release/graph" $((power + 2)) "$reps" >>"$results/$sort"
done
paste "$results/rdst" "$results/polysort" | awk -F'\t' '
    $1 != $4 || $2 != $5 { print "the results differ: " $0; failed = 1 }
    { if (!($1 in rdst)) { names[++count] = $1; rdst[$1] = $3; ours[$1] = $6 }
      if ($3 < rdst[$1]) rdst[$1] = $3
      if ($6 < ours[$1]) ours[$1] = $6 }
    END { if (!count) { print "no results"; exit 1 }
          printf "%-50s %12s %12s\n", "least times in ms, the same results", "rdst", "polysort"
          for (i = 1; i <= count; i++) printf "%-50s %12.1f %12.1f\n", names[i], rdst[names[i]], ours[names[i]]
          exit failed }'
