#!/usr/bin/env bash
# Software Vulkan for GPU tests on Debian 12: lavapipe 25 (4, 8 or 16 lanes) and SwiftShader (4 lanes).
#
#   scripts/software-vulkan.sh install             once; into target/vulkan, and the shared libraries by apt
#   scripts/software-vulkan.sh run DEVICE COMMAND  with DEVICE one of lavapipe-4, lavapipe-8, lavapipe-16, swiftshader,
#                                                  or both: lavapipe-4 and SwiftShader as two adapters of one process
#
# Debian's own lavapipe (22) must not be used: it ends loops after 65 535 iterations, silently. The one from backports is
# unpacked beside it, into a folder of its own. SwiftShader comes inside Debian's chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$PWD/target/vulkan
libraries=$prefix/usr/lib/x86_64-linux-gnu

install() {
    if [ ! -e "$libraries/libvulkan_lvp.so" ] || [ ! -e /usr/lib/chromium/vk_swiftshader_icd.json ]; then download; fi
    # Also after the project's folder was moved.
    sed -i "s#\"library_path\": \".*\"#\"library_path\": \"$libraries/libvulkan_lvp.so\"#" "$prefix"/usr/share/vulkan/icd.d/lvp_icd*.json
}

download() {
    local work mirror options
    # The driver of the distribution is there for the libraries that it depends on.
    scripts/apt.sh libvulkan1 mesa-vulkan-drivers chromium
    work=$(mktemp -d)
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$prefix"
    mirror=$(find /etc/apt -name '*.list' -o -name '*.sources' | xargs grep -hoE 'https?://[^ ]+/debian/?( |$)' | sed q) || true
    [ -n "$mirror" ] || { echo "no Debian mirror in /etc/apt: the driver cannot be fetched" >&2; return 1; }
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror% } bookworm-backports main" >"$work/list"
    options=(-qq -o "Dir::Etc::sourcelist=$work/list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$work/lists"
        -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    (
        cd "$work"
        apt-get "${options[@]}" download {mesa-vulkan-drivers,libdrm2,libdrm-amdgpu1}/bookworm-backports
        for package in *.deb; do dpkg -x "$package" "$prefix"; done
    )
    rm -rf "$work"
}

run() {
    local device=$1 driver
    shift
    case $device in
    lavapipe-4 | lavapipe-8 | lavapipe-16)
        driver=$(echo "$prefix"/usr/share/vulkan/icd.d/lvp_icd*.json)
        export LD_LIBRARY_PATH=$libraries LP_NUM_THREADS=4 LP_NATIVE_VECTOR_WIDTH=$((${device#lavapipe-} * 32))
        ;;
    swiftshader) driver=/usr/lib/chromium/vk_swiftshader_icd.json ;;
    both)
        driver=$(echo "$prefix"/usr/share/vulkan/icd.d/lvp_icd*.json):/usr/lib/chromium/vk_swiftshader_icd.json
        export LD_LIBRARY_PATH=$libraries LP_NUM_THREADS=4 LP_NATIVE_VECTOR_WIDTH=128
        ;;
    *) echo "no such device: $device" >&2 && return 2 ;;
    esac
    local file
    for file in ${driver//:/ }; do
        [ -e "$file" ] || { echo "the driver of $device is not installed: run scripts/software-vulkan.sh install" >&2 && return 1; }
    done
    # Two names of the same variable: the loader's version decides. The last two silence a layer of Mesa.
    export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver NODEVICE_SELECT=1 XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-${TMPDIR:-/var/tmp}}
    # For our tests: they may run on this adapter, and must.
    export POLYSORT_SOFTWARE_GPU=1 POLYSORT_TEST_DEVICE=$device
    [ "$device" != both ] || export POLYSORT_TEST_ADAPTERS=llvmpipe,swiftshader
    exec "$@"
}

case ${1-} in
install | run) "$@" ;;
*) echo "usage: scripts/software-vulkan.sh install | run DEVICE COMMAND" >&2 && exit 2 ;;
esac
