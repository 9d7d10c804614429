#!/bin/bash
# Attaches to real servers under load again and again, and checks that no request fails and no answer changes.
#
#   scripts/servers.sh                            Tomcat and Jetty on JDK 17 and 25: takes about half an hour
#   scripts/servers.sh 25                         on one JDK; 11 and 21 are possible, too
#   SERVERS=tomcat SERVERS_MODES=verify SERVERS_CYCLES=3 scripts/servers.sh 17
#
# The servers are Debian's packages. wrk asks them on the loopback interface, and compares each answer with the answer
# from before the first attaching. In each cycle the script attaches with --include, changes the filter
# SERVERS_CHANGES (5) times, takes a profile, and detaches, all under load. There are SERVERS_CYCLES (20) cycles. All
# is done once for each of SERVERS_MODES: `plain`, `verify` (the JVM verifies all classes), `jni` (the JVM checks our
# calls of JNI).
#
# A line for each cycle has the milliseconds until the agent watched, the number of requests, their latencies in
# milliseconds, and the memory of the JVM after two collections. A line with - in place of the first milliseconds is
# for a load without attaching. The script fails if a request or a command fails, if an answer differs, or if the JVM
# complains.
#
# LOADHOOK names a command that is built already, beside its agent.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
. "$root/scripts/servers/server.sh"
cycles=${SERVERS_CYCLES:-20}
changes=${SERVERS_CHANGES:-5}
seconds=${SERVERS_SECONDS:-8}

# Prints and counts a fault. The script goes on, and fails at its end.
bad() {
    echo "FAULT: $name, JDK $feature, $mode: $*"
    faults=$((faults + 1))
}

# Prints the complaints of the JVM in the server's output. The JVM also complains about some of the JDK's own code, so the
# caller compares them with those from before the first attaching.
complaints() {
    grep -iE 'warning in native|warning: jni|fatal error|exception in thread' "$folder/log" || true
}

# Attaches, changes the filter, takes a profile and detaches.
watch_once() {
    profile=$folder/profile.pb.gz
    rm -f "$profile" "$folder/snapshot.pb.gz"
    begun=$(date +%s%N)
    "$loadhook" attach "$server" --include "$watched" -o "$profile" >"$folder/attach" 2>&1 &
    attach=$!
    until "$loadhook" ctl "$server" status >/dev/null 2>&1; do
        kill -0 "$attach" 2>/dev/null || { bad "attaching failed: $(cat "$folder/attach")"; return; }
        sleep 0.05
    done
    took=$((($(date +%s%N) - begun) / 1000000))
    for change in $(seq "$changes"); do
        order=exclude
        [ $((change % 2)) = 1 ] || order=include
        "$loadhook" ctl "$server" "$order" "$changed" >"$folder/ctl" 2>&1 || bad "$order: $(cat "$folder/ctl")"
    done
    sleep 1
    "$loadhook" ctl "$server" snapshot "$folder/snapshot.pb.gz" >"$folder/ctl" 2>&1 || bad "snapshot: $(cat "$folder/ctl")"
    "$loadhook" ctl "$server" detach >"$folder/ctl" 2>&1 || bad "detach: $(cat "$folder/ctl")"
    wait "$attach" || bad "loadhook attach: $(cat "$folder/attach")"
    for file in "$folder/snapshot.pb.gz" "$profile"; do
        "$loadhook" report "$file" --format json >"$folder/json" 2>&1 || bad "report: $(cat "$folder/json")"
        grep -q '"doGet"' "$folder/json" || bad "$(basename "$file") has no calls of the servlet"
    done
}

# Attaches nothing: the line of this cycle is for the server alone.
nothing() {
    took=-
}

# Runs the function $2 under load, and prints the line of the cycle $1.
under_load() {
    load "$seconds" >"$folder/load" &
    loading=$!
    "$2"
    wait "$loading"
    read_load "$folder/load"
    [ "$failed" = 0 ] && [ "$wrong" = 0 ] || bad "$failed of $requests requests failed, $wrong answers were wrong"
    echo "$1 $took $requests $latencies $(memory)"
}

# Runs all cycles with the server $1 on the JDK $2 in the mode $3.
run() {
    name=$1 feature=$2 mode=$3
    case $mode in
        plain) start "$name" "$feature" ;;
        verify) start "$name" "$feature" -Xverify:all ;;
        jni) start "$name" "$feature" -Xcheck:jni ;;
        *) fail "servers: unknown mode $mode in SERVERS_MODES; give plain, verify or jni" ;;
    esac
    keep_answers
    load $((2 * seconds)) >"$folder/load"
    before=$(complaints)
    echo "$name, JDK $feature, $mode: cycle, ms until attached, requests, median, p99, longest latency;" \
        "MB resident, metaspace used, committed"
    under_load 0 nothing
    for cycle in $(seq "$cycles"); do
        under_load "$cycle" watch_once
        [ $((cycle % 5)) != 0 ] || under_load "$cycle" nothing
    done
    [ "$(complaints)" = "$before" ] || bad "the JVM complains: $(complaints | tail -n +$(($(echo "$before" | wc -l) + 1)))"
    stop
}

[ $# -gt 0 ] || set -- 17 25
faults=0
for feature; do
    need_jdk "$feature"
    for one in ${SERVERS:-tomcat jetty}; do
        for way in ${SERVERS_MODES:-verify jni}; do
            run "$one" "$feature" "$way"
        done
    done
done
[ "$faults" = 0 ] || fail "servers: $faults faults, see $work"
rm -rf "$work"
