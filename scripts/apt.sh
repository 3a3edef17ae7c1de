#!/usr/bin/env bash
# Installs those of the Debian packages named that are missing.
#
#   scripts/apt.sh PACKAGE…
set -euo pipefail
dpkg -s "$@" >/dev/null 2>&1 && exit
root=()
[ "$(id -u)" = 0 ] || root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${root[@]}" apt-get -qq update
"${root[@]}" apt-get -qq install -y --no-install-recommends "$@" >/dev/null
