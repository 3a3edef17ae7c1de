#!/usr/bin/env bash
# Programs over GPU crates of other people. Each checks polysort's result, and prints times:
#
#   viewer    wgpu-3dgs-viewer draws Gaussian splats with its own sort and with polysort; the pictures are compared pixel by pixel
#   tensors   polysort sorts tensors of CubeCL on the device; compared with std's sort on the host, timed with the read-back and the upload that this needs
#
#   scripts/test-gpu-clients.sh         on software Vulkan, on Debian 12 and x86-64
#   scripts/test-gpu-clients.sh --gpu   on this machine's GPU through its Vulkan driver, with more data
#
# Downloads and compiles some hundred crates. The pictures go to target/clients/pictures. After a change of polysort's dependencies: `cargo update --workspace` in
# tests/clients/gpu_users.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/target/clients pictures=$PWD/target/clients/pictures
case ${1-} in "" | --gpu) ;; *) echo "usage: scripts/test-gpu-clients.sh [--gpu]" >&2; exit 2 ;; esac
scripts/apt.sh g++ libc6-dev libvulkan1
[ "${1-}" = --gpu ] || scripts/software-vulkan.sh install

CARGO_TARGET_DIR=$target/gpu cargo build --release --quiet --locked --manifest-path tests/clients/gpu_users/Cargo.toml
viewer=$target/gpu/release/viewer tensors=$target/gpu/release/tensors
if [ "${1-}" = --gpu ]; then
    for splats in 200000 1000000 6000000; do "$viewer" "$splats" 1024 51 "$pictures"; done
    for power in 20 24; do "$tensors" $((1 << power)) 5; done
else
    scripts/software-vulkan.sh run lavapipe-8 "$viewer" 200000 512 3 "$pictures"
    scripts/software-vulkan.sh run lavapipe-8 "$tensors" 100000 3
fi
