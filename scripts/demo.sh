#!/bin/sh
# Builds the command line, instruments the sample class and shows what became
# of it.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
cd "$root"
cargo build --release --locked -q -p loadhook
out=$target/demo/Greeter.class
"$target/release/loadhook" rewrite rewrite/doc/Greeter.class -o "$out" --probes timing,alloc
echo
exec "$target/release/loadhook" inspect rewrite/doc/Greeter.class --diff "$out"
