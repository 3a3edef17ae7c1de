#!/usr/bin/env bash
# The page of examples/web: builds it into target/web-page, and serves it to browsers on this machine.
#
#   scripts/web-page.sh [PORT]   serves the page until Ctrl-C; the port is 8000 if none is given
#   scripts/web-page.sh --test   tests the page in headless Chromium, and writes screenshots to target/web-page
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in "" | --test) ;; *[!0-9]*) echo "usage: scripts/web-page.sh [PORT | --test]" >&2; exit 2 ;; esac
. scripts/web-env.sh
# Release builds have line tables, which the page does not need.
CARGO_PROFILE_RELEASE_DEBUG=0 cargo build "${web_build[@]}" --release -p polysort-web-page
page=target/web-page
rm -rf "$page"
"$web_tools/wasm-bindgen" --target web --no-typescript --remove-name-section --out-dir "$page" target/web/wasm32-unknown-unknown/release/polysort_web_page.wasm
cp examples/web/index.html examples/web/page.js "$page"
if [ "${1-}" = --test ]; then
    scripts/apt.sh chromium chromium-driver
    exec python3 examples/web/test.py "$page"
fi
echo "the page: http://localhost:${1-8000}/"
exec python3 -m http.server --bind localhost --directory "$page" "${1-8000}"
