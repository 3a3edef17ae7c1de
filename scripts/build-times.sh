#!/usr/bin/env bash
# Prints what each feature of polysort costs to build: the crates, and the seconds of CPU time of a build from nothing, in the profile dev.
#
#   scripts/build-times.sh [FEATURES...]     sets of features, such as "rayon" or "wgpu,vulkan"; the default is each of the README's table
#
# CPU time is the sum over all cores, so that other work on the machine changes it little.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- "" derive rayon multi wgpu vulkan vector calibration default

# A program outside the workspace, with the profile that users have.
mkdir "$folder/src"
echo 'fn main() {}' >"$folder/src/main.rs"
printf '%-28s %7s %8s\n' features crates seconds
for features; do
    if [ "$features" = default ]; then
        dependency="polysort = { path = \"$root\" }"
    else
        dependency="polysort = { path = \"$root\", default-features = false, features = [$(sed 's/[^,]*/"&"/g; s/^""$//' <<<"$features")] }"
    fi
    printf '[package]\nname = "cost"\nversion = "0.1.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s\n' "$dependency" >"$folder/Cargo.toml"
    rm -rf "$folder/target"
    cp Cargo.lock "$folder/Cargo.lock"
    (cd "$folder" && cargo fetch --quiet)
    TIMEFORMAT='%U %S'
    seconds=$({ time (cd "$folder" && CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$folder/target" cargo build --quiet); } 2>&1 | tail -n 1 | awk '{ print int($1 + $2 + 0.5) }')
    crates=$(cd "$folder" && cargo tree --edges normal --prefix none --format '{p}' | sed 's/ .*//' | sort -u | grep -cv '^cost$')
    printf '%-28s %7s %8s\n' "${features:-none}" "$crates" "$seconds"
done
