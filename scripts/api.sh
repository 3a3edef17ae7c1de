#!/usr/bin/env bash
# Writes the public API of each published library to docs/api/, one item per line, so that a change of the API shows in a diff. A warning about their
# documentation, such as a link that leads nowhere, is an error.
#
#   scripts/api.sh           writes the listings
#   scripts/api.sh --check   fails if a listing is not what is in the repository
#
# rustdoc's JSON is an option of nightly compilers, which the wrapper turns on for rustdoc alone. As on docs.rs, `docsrs` is set. tests/api reads the format of one version
# of Rust; with another version no listing is written or checked, and the script says so.
set -euo pipefail
cd "$(dirname "$0")/.."
crates=(polysort polysort-arrow polysort-core polysort-external polysort-fallback polysort-kit polysort-multi polysort-rayon polysort-shaders polysort-vector polysort-wgpu)
mkdir -p target/tools
printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n' >target/tools/rustdoc-json
chmod +x target/tools/rustdoc-json
# Published libraries without a listing; only the warnings about their documentation matter.
packages=(-p polysort-derive -p polysort-measure -p polysort-metal -p polysort-report) files=()
for crate in "${crates[@]}"; do
    packages+=(-p "$crate") files+=("target/doc/${crate//-/_}.json")
done
RUSTDOC=$PWD/target/tools/rustdoc-json RUSTDOCFLAGS="-D warnings --cfg docsrs -Zunstable-options --output-format json" cargo doc --quiet --no-deps --lib --all-features "${packages[@]}"
folder=docs/api
[ "${1-}" != --check ] || folder=target/api
mkdir -p "$folder"
status=0
cargo run --quiet -p polysort-api -- "$folder" "${files[@]}" || status=$?
if [ "$status" = 3 ]; then
    echo "not run: the listing of the public API, because $(rustc --version) writes another format than tests/api reads"
    exit
fi
[ "$status" = 0 ] || exit "$status"
diff -ru docs/api "$folder" || { echo "docs/api is not the public API: run scripts/api.sh" >&2; exit 1; }
