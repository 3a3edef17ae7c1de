#!/usr/bin/env bash
# GPU programs of other people with polysort in the place of their own sort; each compares the results, and prints both times:
#
#   viewer    wgpu-3dgs-viewer draws Gaussian splats in the order of their depth; the pictures are compared pixel by pixel
#   tensors   CubeCL has no sort on the device: its tensors are read, sorted by the host and uploaded
#
#   scripts/test-gpu-clients.sh         on software Vulkan
#   scripts/test-gpu-clients.sh --gpu   on this machine's GPU, and larger
#
# The pictures go to target/clients/pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/target/clients pictures=$PWD/target/clients/pictures
case ${1-} in "" | --gpu) ;; *) echo "usage: scripts/test-gpu-clients.sh [--gpu]" >&2; exit 2 ;; esac
[ "${1-}" = --gpu ] || scripts/software-vulkan.sh install

for client in viewer tensors; do
    CARGO_TARGET_DIR=$target/$client cargo build --release --quiet --locked --manifest-path "tests/clients/$client/Cargo.toml"
done
viewer=$target/viewer/release/viewer tensors=$target/tensors/release/tensors
if [ "${1-}" = --gpu ]; then
    for splats in 200000 1000000 6000000; do "$viewer" "$splats" 1024 51 "$pictures"; done
    for power in 20 24; do "$tensors" $((1 << power)) 5; done
else
    scripts/software-vulkan.sh run lavapipe-8 "$viewer" 200000 512 3 "$pictures"
    scripts/software-vulkan.sh run lavapipe-8 "$tensors" 100000 3
fi
