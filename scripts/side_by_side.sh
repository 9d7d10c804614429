#!/bin/sh
# Runs a test program in the background. Cargo calls this script for each test program (scripts/test.sh), so programs
# run side by side: while the last test of one runs alone or waits, another one uses the processors.
#
#   side_by_side.sh FOLDER PROGRAM [ARGUMENT...]
#
# The pipe FOLDER/free has a line for each program that may start. A program that ends prints its output, all at once,
# and gives its line back. The file FOLDER/failed gets the names of failed tests and what they say.
set -eu
folder=$1
shift
case $1 in
    */deps/*) ;;
    # rustdoc runs the examples of the documentation, and needs their exit codes.
    *) exec "$@" ;;
esac
exec 3<>"$folder/free"
read -r _ <&3

name=${1##*/}
output=$folder/$name
name="$CARGO_PKG_NAME ${name%-*}"
(
    started=$(date +%s)
    status=0
    # A shell without job control starts background processes with these signals ignored.
    env --default-signal=INT,QUIT "$@" >"$output" 2>&1 3>&- || status=$?
    {
        # Two programs that end at the same time must not mix their output.
        flock 4
        echo "     Ended $name, after $(($(date +%s) - started)) s"
        cat "$output"
        if [ $status != 0 ]; then
            echo "failed: $name (exit code $status)" >&4
            grep '^test .* FAILED$' "$output" >&4 || true
            # Their messages without the backtraces, since a log may keep no more than its end. A program that was killed
            # has none, but its last lines.
            if grep -q '^failures:$' "$output"; then
                sed -n '/^failures:$/,/^failures:$/p' "$output" |
                    sed '/^[Ss]tack backtrace:$/,/^$/d' | head -n 200 | cut -c 1-1000 >&4
            else
                tail -n 20 "$output" | cut -c 1-1000 >&4
            fi
        fi
    } 4>>"$folder/failed"
    echo >&3
) &
