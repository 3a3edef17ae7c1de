#!/usr/bin/env bash
# Checks the licenses, sources and known vulnerabilities of all crates that this workspace depends on, by deny.toml. Installs cargo-deny first.
#
#   scripts/deny.sh
set -euo pipefail
cd "$(dirname "$0")/.."
cargo deny --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-deny
cargo deny --workspace check licenses bans sources
# The list of advisories is a repository of GitHub, which not every machine reaches.
if git ls-remote --exit-code https://github.com/rustsec/advisory-db HEAD >/dev/null 2>&1; then
    cargo deny --workspace check advisories
else
    printf 'not run: known vulnerabilities, because this machine does not reach github.com/rustsec/advisory-db\n'
fi
