#!/usr/bin/env bash
# The tests of a browser: builds for wasm32 and sorts in headless Chromium, on WebGPU (SwiftShader's, if there is no GPU).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/web-env.sh
scripts/apt.sh chromium chromium-driver
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=$web_tools/wasm-bindgen-test-runner
export CHROMEDRIVER=/usr/bin/chromedriver WASM_BINDGEN_TEST_TIMEOUT=300
cargo test "${web_build[@]}" -p polysort-web --test browser "$@"
