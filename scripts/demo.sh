#!/bin/sh
# Builds everything, runs the sample program under the agent, prints its profile,
# and writes the profile's page.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
need_jdk_17
cd "$root"
echo "loadhook: building; the first time this takes minutes" >&2
cargo build --release --locked -q -p loadhook -p loadhook-agent
mkdir -p "$target/demo"
"$JAVA_HOME_17/bin/javac" -d "$target/demo" scripts/Sample.java
exec "$target/release/loadhook" run -o "$target/demo/profile.pb.gz" --html "$target/demo/profile.html" \
    -- "$JAVA_HOME_17/bin/java" -cp "$target/demo" Sample
