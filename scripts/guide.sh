#!/usr/bin/env bash
# Builds the guide into target/guide, with mdBook, and checks that each of its links leads somewhere. Installs mdBook into target/tools if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
mdbook=target/tools/bin/mdbook
if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    cargo install --quiet --debug --locked --root target/tools --target-dir target/tools/build --no-default-features --features search "mdbook@$version"
fi
rm -rf target/guide
# mdBook reports a file that it cannot include, and goes on.
if ! "$mdbook" build docs/guide 2>&1 | tee target/guide.log || grep -Eq 'WARN|ERROR' target/guide.log; then
    echo "the guide is not complete: see the messages of mdBook above" >&2
    exit 1
fi
cargo test --quiet --test guide -- --include-ignored
echo "the guide: target/guide/index.html"
