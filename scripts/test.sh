#!/bin/sh
# Runs the tests.
#
#   scripts/test.sh         all tests, on every JDK: about half an hour on two cores. Installs the JDKs, the browser
#                           and the library that they need. Further arguments go to `cargo test --workspace`.
#   scripts/test.sh fast    the tests that start neither a JVM nor a browser: at most two minutes once they are built.
#                           Building needs JDK 17, since the tracker is Java.
set -eu
case ${1:-} in
    -h | --help)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
esac
. "$(dirname -- "$0")/prerequisites.sh"
need_jdk_17
cd "$root"

# The integration tests of the fast tier: each package, then the tests of it. A test that does not belong here fails,
# because the test kit starts no JVM and no browser while LOADHOOK_FAST_TESTS is set.
fast_tests='
loadhook-fuzz: dumps replay
loadhook-golden: golden
loadhook-heap: details duplicates graph profiler reader threads views_of_broken_dumps
loadhook-hprof: round_trip
loadhook-offline: archives hostile
loadhook-profile: allocation_diff allocations formats loaders pprof runs untimed
loadhook-settings: round_trip
loadhook-tests: architecture
'

# Unit tests of all crates, but for those that need a JVM, then the integration tests above.
fast() {
    export LOADHOOK_FAST_TESTS=1
    cargo test --workspace --lib --bins --locked -q -- \
        --skip instrument::exclusions::tests --skip rewrite::java::tests
    echo "$fast_tests" | while IFS=: read -r package tests; do
        [ -n "$package" ] || continue
        set --
        for test in $tests; do
            set -- "$@" --test "$test"
        done
        # Its standard input is the list.
        cargo test --package "$package" "$@" --locked -q </dev/null
    done
}

if [ "${1:-}" = fast ]; then
    fast
else
    need_jdk_11
    need_jdk_21
    need_jdk_25
    need_chromium
    need_asm
    exec cargo test --workspace --locked "$@"
fi
