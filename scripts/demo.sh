#!/bin/sh
# Builds everything, runs the sample program under the agent, prints its profile,
# and writes the profile's page.
#
#   scripts/demo.sh            builds optimised programs
#   scripts/demo.sh FOLDER     takes the programs that were built into FOLDER, which is relative to the workspace
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
need_jdk_17
cd "$root"
if [ $# = 0 ]; then
    echo "loadhook: building; the first time this takes minutes" >&2
    cargo build --release --locked -q -p loadhook -p loadhook-agent
    set -- "$target/release"
fi
mkdir -p "$target/demo"
"$JAVA_HOME_17/bin/javac" -d "$target/demo" scripts/Sample.java
exec "$1/loadhook" run -o "$target/demo/profile.pb.gz" --html "$target/demo/profile.html" \
    -- "$JAVA_HOME_17/bin/java" -cp "$target/demo" Sample
