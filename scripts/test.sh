#!/bin/sh
# Passes all tests: installs the JDKs they need, then runs them.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
need_jdk_11
need_jdk_17
need_jdk_21
need_jdk_25
need_chromium
need_asm
cd "$root"
exec cargo test --workspace --locked "$@"
