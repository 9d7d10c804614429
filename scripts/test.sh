#!/bin/sh
# Runs the tests.
#
#   scripts/test.sh         all tests, on every JDK: about half an hour on two cores. Installs the JDKs and the
#                           programs that they need. Goes on after a failure. Further arguments go to
#                           `cargo test --workspace`.
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

# The integration tests of the fast tier, which are neither the agent's nor the tracker's. A test that does not belong
# here fails, because the test kit starts no JVM and no browser while LOADHOOK_FAST_TESTS is set.
fast_tests='
allocation_diff allocations architecture archives details dumps duplicates formats golden graph hostile loaders
merging offline_words pprof profiler reader replay round_trip runs shared_passes threads untimed views_of_broken_dumps
'

# Runs the unit tests of all crates, except those that need a JVM, then the integration tests above. Both commands name
# the whole workspace: for one crate alone, Cargo would compile its dependencies anew, with other features.
fast() {
    export LOADHOOK_FAST_TESTS=1
    cargo test --workspace --lib --bins --locked -q -- \
        --skip instrument::exclusions::tests --skip rewrite::java::tests
    set --
    for test in $fast_tests; do
        set -- "$@" --test "$test"
    done
    # These two crates have integration tests of the same names, which start JVMs.
    cargo test --workspace --exclude loadhook-agent --exclude loadhook-tracker "$@" --locked -q
}

# Runs all tests, two test programs at a time. A failure does not stop the others; at the end all failed tests are named.
all() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 130' INT
    mkfifo "$folder/free"
    exec 3<>"$folder/free"
    printf '\n\n' >&3
    status=0
    cargo test --workspace --locked \
        --config "target.'cfg(all())'.runner = ['$root/scripts/side_by_side.sh', '$folder']" "$@" || status=$?
    # Both programs have ended when both lines are back.
    read -r _ <&3
    read -r _ <&3
    if [ -s "$folder/failed" ]; then
        cat "$folder/failed" >&2
        status=1
    fi
    exit $status
}

if [ "${1:-}" = fast ]; then
    [ $# = 1 ] || fail "scripts/test.sh fast takes no further arguments; name a test to cargo test instead"
    fast
else
    need_jdk_11
    need_jdk_21
    need_jdk_25
    need_chromium
    need_asm
    need_tmux
    all "$@"
fi
