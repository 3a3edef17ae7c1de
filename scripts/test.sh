#!/usr/bin/env bash
# Checks and tests on a bare Debian or Ubuntu machine with cargo of rustup. Installs what it needs first.
#
#   scripts/test.sh           all, but for what --full adds
#   scripts/test.sh --cpu     what needs no GPU and no wgpu
#   scripts/test.sh --full    also every GPU test on every software GPU, every planted mistake in kernels, all tests with naga's translations to Metal,
#                             licenses and known vulnerabilities, the type check for macOS, the address sanitizer, aarch64, a small stack, WebGPU in a browser,
#                             the page of examples/web, the Python wheel, polysort-datafusion with Ballista, programs over crates of other people, the guide as a book, and each fuzz target for a minute
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1-}
case $mode in "" | --cpu | --full) ;; *) echo "usage: scripts/test.sh [--cpu | --full]" >&2; exit 2 ;; esac

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "setup"
command -v cargo >/dev/null || { echo "no cargo: get Rust from https://rustup.rs" >&2; exit 2; }
# The linker and the C library to link with; the compilers that run and check kernels in Metal's language.
scripts/apt.sh g++ libc6-dev clang binutils
cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy

if [ "$mode" = --cpu ]; then
    cpu=(-p polysort-core -p polysort-derive -p polysort-fallback -p polysort-measure -p polysort-multi -p polysort-rayon -p polysort-report -p polysort-vector -p polysort-shaders -p polysort-kit -p polysort-arrow -p polysort-external
        --features polysort-fallback/vector,polysort-rayon/vector,polysort-kit/vector,polysort-external/lz4)
    facade=(-p polysort --no-default-features --features rayon,multi,vector,calibration,derive)
    step "format and lints"
    cargo fmt --all --check
    cargo clippy "${cpu[@]}" --all-targets --quiet -- -D warnings
    step "tests"
    cargo test "${cpu[@]}" --quiet
    cargo test "${facade[@]}" --lib --tests --quiet
    printf '\nnot run: messages for types that are no keys, the GPU backend, Metal kernels on the CPU, the command line, models, the Python wheel, DataFusion, other systems. All else passed in %s s\n' "$SECONDS"
    exit
fi
tests=$(mktemp) sanitized=$(mktemp) aarch64=$(mktemp) gpu=$(mktemp)
trap 'rm -f "$tests" "$sanitized" "$aarch64" "$gpu"' EXIT

step "format and lints"
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings

step "features, each by itself and none"
# The library alone: tests and examples turn on features of the crates that they use. The features dx12, metal, vulkan and webgpu are not tried by
# themselves: beyond wgpu they select code in polysort-wgpu and, on Macs, polysort-metal.
for features in "" calibration derive multi rayon vector wgpu; do
    cargo clippy --quiet -p polysort --no-default-features --features "$features" -- -D warnings
done
targets_of=("")
[ "$mode" != --full ] || targets_of+=(multi rayon)
for features in "${targets_of[@]}"; do
    cargo clippy --quiet -p polysort --no-default-features --features "$features" --all-targets -- -D warnings
done
# By themselves these crates have the feature vector off; code that only searches use would be dead. The workspace above has it on. polysort-metal has code on
# Macs only, which scripts/check-mac.sh checks. Each crate has a command of its own: together they would turn on other features of the crates of other people, and
# cargo would check those once more.
for crate in polysort-fallback polysort-rayon polysort-wgpu polysort-kit; do
    cargo clippy --quiet -p "$crate" -- -D warnings
done
cargo clippy --quiet -p polysort-rayon --features vector -- -D warnings
cargo clippy --quiet -p polysort-wgpu --features vector -- -D warnings
cargo clippy --quiet -p polysort-external --features lz4 --all-targets -- -D warnings
cargo clippy --quiet -p polysort-vector --no-default-features --all-targets -- -D warnings
# For these two, cargo checks crates of other people once more, with other features.
if [ "$mode" = --full ]; then
    cargo clippy --quiet -p polysort-arrow --no-default-features --all-targets -- -D warnings
    cargo clippy --quiet -p polysort-cli --no-default-features --all-targets -- -D warnings
fi

step "tests"
[ "$mode" != --full ] || export POLYSORT_THOROUGH=1
if cargo nextest --version >/dev/null 2>&1; then
    # The conformance suites have thousands of short tests: a process for each would take longer than the tests.
    cargo nextest run --lib --bins --tests -E 'not binary(conformance)' --no-fail-fast --status-level fail --final-status-level slow 2>&1 | tee -a "$tests"
    cargo test --test conformance --no-fail-fast --quiet 2>&1 | tee -a "$tests"
else
    cargo test --lib --bins --tests --no-fail-fast --quiet 2>&1 | tee -a "$tests"
fi
# Ignored above: tests of single kernels as naga translates them to Metal (tests/msl/tests/sources), and the messages for types that are no keys.
if [ "$mode" = --full ]; then
    cargo test --tests --no-fail-fast --quiet -- --ignored naga:: 2>&1 | tee -a "$tests"
    cargo test --test refused --no-fail-fast --quiet -- --ignored 2>&1 | tee -a "$tests"
fi
cargo test --doc --quiet 2>&1 | tee -a "$tests"

step "GPU tests on software Vulkan"
if [ "$mode" = --full ]; then scripts/test-gpu.sh; else scripts/test-gpu.sh --quick; fi 2>&1 | tee -a "$gpu"

step "two software GPUs at once"
scripts/software-vulkan.sh run both cargo test --test several_gpus 2>&1 | tee -a "$gpu"

step "examples"
# The lints compile the other examples: those that measure, and cpu_plot, whose plot a test of polysort-report draws.
on_cpu=(quickstart custom_key ivf_search several_devices) on_gpu=(on_device indirect_count runs)
cargo build --quiet $(printf -- '--example %s ' "${on_cpu[@]}" "${on_gpu[@]}" own_backend)
for example in "${on_cpu[@]}"; do target/debug/examples/$example >/dev/null; done
target/debug/examples/own_backend --quiet "u32 argsort"
on_swiftshader=("${on_gpu[@]}")
# The search takes SwiftShader half a minute.
[ "$mode" != --full ] || on_swiftshader+=("ivf_search --backend wgpu")
printf 'target/debug/examples/%s\n' "${on_swiftshader[@]}" | xargs -P 2 -L 1 scripts/software-vulkan.sh run swiftshader >/dev/null

step "documentation and public API"
scripts/api.sh --check

step "packages"
cargo package --workspace --exclude polysort-api --exclude polysort-benches --exclude polysort-msl --exclude polysort-web --exclude polysort-web-page --allow-dirty --quiet --no-verify

if [ "$mode" = --full ]; then
    step "licenses and known vulnerabilities of all crates"
    scripts/deny.sh
    step "type check for macOS"
    scripts/check-mac.sh
    step "sorts on a small stack, without optimization"
    cargo test --config 'profile.dev.package.polysort-rayon.opt-level=0' --quiet --target-dir target/unoptimized -p polysort-rayon --test stack 2>&1 | tee -a "$tests"
    step "unsafe files under the address sanitizer"
    scripts/test-sanitized.sh 2>&1 | tee -a "$sanitized"
    step "the CPU backend on aarch64"
    scripts/test-aarch64.sh 2>&1 | tee -a "$aarch64"
    step "WebGPU in a browser"
    scripts/test-web.sh
    step "the page that sorts in a browser"
    scripts/web-page.sh --test
    step "the Python wheel"
    scripts/test-python.sh --software-gpu
    step "the guide"
    scripts/guide.sh
    step "DataFusion"
    scripts/test-data.sh --ballista
    step "programs over crates of other people"
    scripts/test-clients.sh
    scripts/test-gpu-clients.sh
    step "fuzz targets"
    scripts/fuzz.sh 60
fi

step "summary"
# Tests run and skipped, of the last lines of nextest and of libtest.
count() {
    awk '/Summary \[/ { for (i = 1; i <= NF; i++) { if ($i == "run:") ran += $(i - 2); if ($i == "skipped") skipped += $(i - 1) } }
         /^test result: ok/ { ran += $4; skipped += $8 }
         END { printf "%d run, %d skipped", ran, skipped }' "$1"
}
printf 'tests: %s\n' "$(count "$tests")"
[ "$mode" != --full ] || printf 'under the address sanitizer: %s\non aarch64, in QEMU: %s\n' "$(count "$sanitized")" "$(count "$aarch64")"
printf 'on GPUs:\n%s\n' "$(sed -n '/^adapters:/,/ tests passed,/p; /^not run on/p' "$gpu")"
printf 'lavapipe-4 and SwiftShader in one process: %s\n' "$(count "$gpu")"
printf 'backends that opened on this machine:\n'
target/debug/polysort devices
printf 'not run:\n'
[ "$mode" = --full ] || printf '  what --full adds: lints of the command line without Arrow, of polysort-arrow without default features and of the tests with the features multi and rayon alone, 19 of 20 planted mistakes in kernels, half of the long inputs of the conformance suite, most of that suite and of the inputs of single kernels in the Metal language and on GPUs, two of three calls that fail in external sorts, kernels as naga translates them to Metal, the messages for types that are no keys, most GPU tests on lavapipe, the longer ones on SwiftShader (the histogram kernel alone is one), trials of calls side by side for 3 s instead of 0.3 s, licenses and known vulnerabilities (scripts/deny.sh), the type check for macOS (scripts/check-mac.sh), unsafe code under the address sanitizer (scripts/test-sanitized.sh), the CPU backend on aarch64 (scripts/test-aarch64.sh) and on a small stack, WebGPU in a browser (scripts/test-web.sh), the page of examples/web (scripts/web-page.sh --test), the Python wheel (scripts/test-python.sh), polysort-datafusion and Ballista (scripts/test-data.sh --ballista), programs over crates of other people (scripts/test-clients.sh, scripts/test-gpu-clients.sh), the guide as a book (scripts/guide.sh), the fuzz targets (scripts/fuzz.sh)\n'
printf '  real GPUs: scripts/test-gpu.sh tests software Vulkan; MetalBackend on a Mac: scripts/test-metal.sh; Windows; mistakes planted in Rust code: scripts/mutants.sh\n'
printf '\nall of it passed in %s s\n' "$SECONDS"
