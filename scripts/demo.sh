#!/bin/sh
# Builds all, runs the sample program under the agent, prints where its time
# goes and writes the same as a page.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
need_jdk_17
cd "$root"
echo "loadhook: building, which takes minutes the first time" >&2
cargo build --release --locked -q -p loadhook -p loadhook-agent
mkdir -p "$target/demo"
"$JAVA_HOME_17/bin/javac" -d "$target/demo" scripts/Sample.java
exec "$target/release/loadhook" run -o "$target/demo/profile.pb.gz" --html "$target/demo/profile.html" \
    -- "$JAVA_HOME_17/bin/java" -cp "$target/demo" Sample
