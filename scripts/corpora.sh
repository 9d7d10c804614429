#!/bin/sh
# Fetches real programs and their inputs into $target/corpora, once. The agent
# and the rewriting of archives are tested on them.
#
# Versions are fixed, except for Debian's packages, whose version depends on the
# system's release.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"

corpora=$target/corpora

# Makes the corpus $1 by the function $2, in a folder that appears complete or not
# at all.
corpus() {
    name=$1
    [ ! -d "$corpora/$name" ] || return 0
    echo "loadhook: fetching $name" >&2
    unfinished=$corpora/.unfinished-$name
    rm -rf "$unfinished"
    mkdir -p "$unfinished/content"
    cd "$unfinished"
    "$2"
    cd "$root"
    mv "$unfinished/content" "$corpora/$name"
    rm -rf "$unfinished"
}

# Unpacks Debian's package $1 into the current folder.
debian() {
    command -v apt-get >/dev/null 2>&1 || fail "corpora: $name: this is a package of Debian, but there is no apt-get here"
    { apt-get download "$1" || { apt-get update && apt-get download "$1"; }; } >/dev/null 2>&1 \
        || fail "corpora: $name: apt-get download $1 failed"
    dpkg -x "$1"_*.deb . || fail "corpora: $name: dpkg -x $1 failed"
}

# Unpacks npm's package $1 into package/.
npm_package() {
    command -v npm >/dev/null 2>&1 || install_package npm "corpora: $name: npm not found"
    npm pack --silent "$1" >/dev/null 2>&1 || fail "corpora: $name: npm pack $1 failed"
    tar -xzf ./*.tgz || fail "corpora: $name: $1 cannot be unpacked"
}

keep() {
    for file in "$@"; do
        cp -L "$file" content/ || fail "corpora: $name: the downloaded files do not contain $file"
    done
}

# Sources that the compilers of JDK 17 and 25 can compile. Debian's sources may be newer than
# the JDK of this machine, so only a part of java.xml is taken that depends on little else.
bcel() {
    need_jdk_17
    debian openjdk-17-source
    part=java.xml/com/sun/org/apache/bcel
    utils=java.xml/jdk/xml/internal/Utils.java
    "$JAVA_HOME_17/bin/jar" xf usr/lib/jvm/openjdk-17/lib/src.zip "$part" "$utils" \
        || fail "corpora: $name: src.zip cannot be unpacked"
    [ -d "$part" ] || fail "corpora: $name: there is no $part in src.zip"
    mv java.xml/* content/
}

# The last version of the Closure compiler that runs on JDK 17.
closure_compiler() {
    npm_package google-closure-compiler-java@20240317.0.0
    keep package/compiler.jar
}

jquery() {
    npm_package jquery@3.7.1
    keep package/dist/jquery.js
}

tomcat() {
    debian libtomcat10-embed-java
    debian libjakarta-annotation-api-java
    keep usr/share/java/tomcat10-embed-core.jar usr/share/java/jakarta-annotation-api.jar
}

# All of Spark's jars, which include those of Scala, Hadoop and many others.
spark() {
    command -v python3 >/dev/null 2>&1 || install_package python3 "corpora: $name: python3 not found"
    python3 -m pip --version >/dev/null 2>&1 || install_package python3-pip "corpora: $name: pip not found"
    python3 -m pip download -q --no-deps --no-binary :all: -d . pyspark==3.5.1 >/dev/null 2>&1 \
        || fail "corpora: $name: pip download pyspark==3.5.1 failed"
    tar -xzf pyspark-3.5.1.tar.gz || fail "corpora: $name: pyspark cannot be unpacked"
    keep pyspark-3.5.1/deps/jars/*.jar
}

# Groovy, and the libraries that it needs to run scripts, which are separate Debian packages.
groovy() {
    for package in groovy libasm-java libantlr-java libcommons-cli-java; do
        debian "$package"
    done
    keep usr/share/java/groovy.jar usr/share/java/asm.jar usr/share/java/asm-util.jar \
        usr/share/java/asm-analysis.jar usr/share/java/asm-tree.jar usr/share/java/asm-commons.jar \
        usr/share/java/antlr.jar usr/share/java/commons-cli.jar
}

corpus bcel bcel
corpus closure-compiler closure_compiler
corpus jquery jquery
corpus tomcat tomcat
corpus spark spark
corpus groovy groovy
