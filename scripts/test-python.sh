#!/usr/bin/env bash
# Builds the Python wheel and tests it against NumPy, in a virtual environment of its own. Needs cargo and Python 3.10 or later with venv.
#
#   scripts/test-python.sh                  builds with the CPU backend, tests
#   scripts/test-python.sh --gpu            builds with GPUs too; tests what opens
#   scripts/test-python.sh --software-gpu   builds with GPUs too; tests with SwiftShader as the GPU: it runs on the CPU (Debian)
#   scripts/test-python.sh --bench          then times it beside NumPy, and polars if its wheel is there: on one thread, and on all
set -euo pipefail
cd "$(dirname "$0")/../python"
features=() bench='' device=()
for argument in "$@"; do
    case $argument in
        --gpu) features=(--features gpu) ;;
        --software-gpu)
            features=(--features gpu)
            ../scripts/software-vulkan.sh install
            device=("$PWD/../scripts/software-vulkan.sh" run swiftshader env -C "$PWD/tests")
            ;;
        --bench) bench=1 ;;
        *) echo "usage: scripts/test-python.sh [--gpu | --software-gpu] [--bench]" >&2; exit 2 ;;
    esac
done

environment=../target/python
python3 -c 'import sys; assert sys.version_info >= (3, 10), sys.version' || { echo "needs Python 3.10 or later" >&2; exit 2; }
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
bin=$(cd "$environment/bin" && pwd)
"$bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.16,<2' 'numpy>=2' pytest mypy

cargo fmt --check
cargo clippy --quiet --release --locked "${features[@]}" -- -D warnings
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$bin/maturin" build --release --quiet --locked "${features[@]}" --interpreter "$bin/python" --out "$wheels"
"$bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl

"$bin/python" -m mypy --strict polysort
# From another folder, so that the installed package is tested and not the sources.
cd tests && "${device[@]}" "$bin/python" -m pytest -c ../pyproject.toml --rootdir .. -p no:cacheprovider .
[ ${#device[@]} = 0 ] || "${device[@]}" "$bin/python" -c 'import polysort; assert "gpu" in polysort.backends(), polysort.describe("gpu")'
"${device[@]}" "$bin/python" -c 'import polysort; print("wheel tested; backends:", ", ".join(f"{name} ({polysort.describe(name)})" for name in polysort.backends()))'

if [ -n "$bench" ]; then
    "$bin/pip" install --quiet --disable-pip-version-check polars || echo "no wheel of polars" >&2
    RAYON_NUM_THREADS=1 POLARS_MAX_THREADS=1 OMP_NUM_THREADS=1 "$bin/python" ../benches/beside_numpy.py
    "$bin/python" ../benches/beside_numpy.py
fi
