#!/usr/bin/env bash
# A viewer of Gaussian splats that other people wrote, wgpu-3dgs-viewer, with polysort in the place of its own sort: draws a scene with both, compares the
# pictures pixel by pixel, and prints how long a frame takes with each.
#
#   scripts/test-viewer.sh [SPLATS [SIDE [FRAMES]]]         on software Vulkan (default: 200000 splats, 512 x 512 pixels, 3 frames)
#   scripts/test-viewer.sh --gpu [SPLATS [SIDE [FRAMES]]]   on this machine's GPU (default: 1000000 splats, 1024 x 1024 pixels, 101 frames)
#
# The pictures go to target/clients/pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/target/clients pictures=$PWD/target/clients/pictures
if [ "${1-}" = --gpu ]; then
    shift
    defaults=(1000000 1024 101) run=()
else
    defaults=(200000 512 3) run=(scripts/software-vulkan.sh run lavapipe-8)
    scripts/software-vulkan.sh install
fi
CARGO_TARGET_DIR=$target/viewer cargo build --release --quiet --locked --manifest-path tests/clients/viewer/Cargo.toml
"${run[@]}" "$target/viewer/release/viewer" "${1:-${defaults[0]}}" "${2:-${defaults[1]}}" "${3:-${defaults[2]}}" "$pictures"
