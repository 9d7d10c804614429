#!/bin/bash
# Measures whether a program is as fast after Loadhook has left as before.
#
#   scripts/detach.sh           on JDK 17 and 25
#   scripts/detach.sh 25        on one JDK
#
# Two JVMs run the same program (agent/benches/java/Returning.java). Loadhook attaches to one of them and leaves it
# again, DETACH_CYCLES (6) times. Before the first cycle and after each cycle, both JVMs work in turn, half a second
# each, DETACH_TURNS (9) times. Each turn gives a ratio: the processor time of a round of work in the watched JVM, divided
# by that in the other JVM. The script prints the median of the ratios.
#
# LOADHOOK names a command that is built already, beside its agent. DETACH_OPTIONS has options for `loadhook attach`
# in place of --include 'Json**'. With DETACH_BY=jvm a Java agent takes the place of Loadhook: twice in each cycle it
# makes the JVM retransform the same classes, and changes no byte of them.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
need_jdk_17
cd "$root"
if [ -z "${LOADHOOK:-}" ]; then
    cargo build --release --locked -q -p loadhook -p loadhook-agent
fi
loadhook=${LOADHOOK:-$target/release/loadhook}
options=${DETACH_OPTIONS---include Json**}
work=$(mktemp -d)
"$JAVA_HOME_17/bin/javac" --release 11 -d "$work" -sourcepath agent/benches/java agent/benches/java/Returning.java \
    agent/benches/java/Unchanged.java
printf 'Agent-Class: Unchanged\nCan-Retransform-Classes: true\n' >"$work/manifest"
"$JAVA_HOME_17/bin/jar" cfm "$work/unchanged.jar" "$work/manifest" -C "$work" Unchanged.class -C "$work" 'Unchanged$1.class'

# Starts the program on the JDK $1, with pipes that are called $2. The file descriptors are opened by the caller.
start() {
    home=JAVA_HOME_$1
    mkfifo "$work/$2.in" "$work/$2.out"
    "${!home}/bin/java" -Xmx256m -XX:+UseSerialGC -cp "$work" Returning <"$work/$2.in" >"$work/$2.out" &
}

# Makes the watched JVM work for $1 milliseconds. Sets `nanos` to the processor time of a round of work.
watched() {
    echo "$1" >&6
    read -r nanos <&7
}

# Makes the other JVM work for $1 milliseconds. Sets `nanos` to the processor time of a round of work.
other() {
    echo "$1" >&8
    read -r nanos <&9
}

# Makes the turns, and prints the median of their ratios.
compare() {
    for _ in $(seq "${DETACH_TURNS:-9}"); do
        watched 500
        first=$nanos
        other 500
        echo "$first $nanos"
    done | awk '{ print $1 / $2 }' | sort -n | awk '{ all[NR] = $1 } END { printf "%.3f", all[int((NR + 1) / 2)] }'
}

# Changes the classes of the watched JVM, and changes them back after three seconds.
come_and_leave() {
    if [ "${DETACH_BY:-}" = jvm ]; then
        "$JAVA_HOME_17/bin/jcmd" "$pid" JVMTI.agent_load "$work/unchanged.jar"
        sleep 3
        "$JAVA_HOME_17/bin/jcmd" "$pid" JVMTI.agent_load "$work/unchanged.jar"
    else
        # shellcheck disable=SC2086 # several options
        "$loadhook" attach "$pid" $options --duration 3s -o "$work/profile.pb.gz"
    fi
}

measure() {
    start "$1" watched
    pid=$!
    exec 6>"$work/watched.in" 7<"$work/watched.out"
    start "$1" other
    exec 8>"$work/other.in" 9<"$work/other.out"
    watched 8000
    other 8000
    echo "JDK $1, never attached: $(compare)"
    for cycle in $(seq "${DETACH_CYCLES:-6}"); do
        come_and_leave >"$work/log" 2>&1 &
        come=$!
        watched 5000
        wait "$come" || { cat "$work/log" >&2; fail "detach: attaching failed"; }
        # Meanwhile the JIT compiles the methods again.
        watched 5000
        other 1000
        echo "JDK $1, after cycle $cycle: $(compare)"
    done
    # The programs end when their input is closed.
    exec 6>&- 7<&- 8>&- 9<&-
    wait
    rm "$work"/*.in "$work"/*.out
}

[ $# -gt 0 ] || set -- 17 25
for feature; do
    case $feature in
        17) ;;
        11 | 21 | 25) "need_jdk_$feature" ;;
        *) fail "detach: JDK $feature is not supported; give 11, 17, 21 or 25" ;;
    esac
    measure "$feature"
done
rm -rf "$work"
