#!/bin/bash
# Compares Loadhook with other tools that attach to a running server. The server is Tomcat under load; the tools attach
# one after the other.
#
#   scripts/peers.sh            on JDK 17 and 25
#   scripts/peers.sh 25
#   PEERS_ASPROF=/path/to/asprof scripts/peers.sh      with async-profiler
#
# The line of a tool has the seconds until the tool has shown the first numbers of the servlet's method; then requests
# and latencies (in milliseconds) of a load of PEERS_SECONDS (10) seconds, during which the tool attaches, watches and
# leaves; then requests and latencies of a load after it has left. All tools take PEERS_TURNS (3) turns.
#
# LOADHOOK names a command that is built already, beside its agent.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
. "$root/scripts/servers/server.sh"
seconds=${PEERS_SECONDS:-10}
jcmd=$JAVA_HOME_17/bin/jcmd
method=servers.Answers.doGet

# Runs the function $1 under load, which attaches a tool and waits until it has shown numbers. Then the function $2 makes
# the tool leave. Prints the line of the tool.
under() {
    load "$seconds" >"$folder/load" &
    loading=$!
    sleep 1
    begun=$(date +%s%N)
    "$1" >"$folder/tool" 2>&1 || { cat "$folder/tool" >&2; fail "peers: $1 failed; its output is above"; }
    first=$(awk "BEGIN { printf \"%.1f\", ($(date +%s%N) - $begun) / 1e9 }")
    sleep 2
    "$2" >"$folder/tool" 2>&1 || { cat "$folder/tool" >&2; fail "peers: $2 failed; its output is above"; }
    wait "$loading"
    read_load "$folder/load"
    watched="$requests $latencies"
    load 5 >"$folder/load"
    read_load "$folder/load"
    echo "JDK $feature $1: $first; $watched; after it $((requests * seconds / 5)) $latencies; threads $(ls "/proc/$server/task" | wc -l), signals $(awk '/SigCgt/ { print $2 }' "/proc/$server/status"), $(memory)"
}

nothing() { :; }

# Loadhook counts calls and takes samples.
loadhook_counts() {
    "$loadhook" attach "$server" --include "servers.**" -o "$folder/profile.pb.gz" >"$folder/attach" 2>&1 &
    until "$loadhook" ctl "$server" snapshot "$folder/snapshot.pb.gz"; do sleep 0.05; done
    "$loadhook" report "$folder/snapshot.pb.gz" --top 1000 | grep "Answers.doGet"
}

# Loadhook takes samples only.
loadhook_samples() {
    "$loadhook" attach "$server" -o "$folder/profile.pb.gz" >"$folder/attach" 2>&1 &
    until "$loadhook" ctl "$server" snapshot "$folder/snapshot.pb.gz" &&
        "$loadhook" report "$folder/snapshot.pb.gz" --format collapsed | grep "doGet"; do sleep 0.05; done
}

loadhook_leaves() {
    "$loadhook" ctl "$server" detach
}

asprof_samples() {
    "$PEERS_ASPROF" start -e cpu -i 1ms "$server"
    until "$PEERS_ASPROF" dump -o collapsed "$server" | grep "$method"; do sleep 0.05; done
}

asprof_traces() {
    "$PEERS_ASPROF" start -e "$method" "$server"
    until "$PEERS_ASPROF" dump -o collapsed "$server" | grep "$method"; do sleep 0.05; done
}

asprof_leaves() {
    "$PEERS_ASPROF" stop -o collapsed "$server"
}

jfr_samples() {
    "$jcmd" "$server" JFR.start name=peers settings=profile
    until "$jcmd" "$server" JFR.dump name=peers "filename=$folder/peers.jfr" &&
        "$JAVA_HOME_17/bin/jfr" print --events jdk.ExecutionSample --stack-depth 64 "$folder/peers.jfr" | grep "$method"; do
        sleep 0.05
    done
}

# JFR times a method, which it can do from JDK 25 on.
jfr_times() {
    "$jcmd" "$server" JFR.start name=peers "method-timing=servers.Answers::doGet"
    until "$jcmd" "$server" JFR.dump name=peers "filename=$folder/peers.jfr" &&
        "$JAVA_HOME_25/bin/jfr" view method-timing "$folder/peers.jfr" | grep "doGet"; do sleep 0.05; done
}

jfr_leaves() {
    "$jcmd" "$server" JFR.stop name=peers
}

[ $# -gt 0 ] || set -- 17 25
for feature; do
    need_jdk "$feature"
    start tomcat "$feature"
    keep_answers
    load $((2 * seconds)) >"$folder/load"
    for _ in $(seq "${PEERS_TURNS:-3}"); do
        under nothing nothing
        under loadhook_samples loadhook_leaves
        under loadhook_counts loadhook_leaves
        if [ -n "${PEERS_ASPROF:-}" ]; then
            under asprof_samples asprof_leaves
            under asprof_traces asprof_leaves
        fi
        under jfr_samples jfr_leaves
        [ "$feature" -lt 25 ] || under jfr_times jfr_leaves
    done
    stop
done
rm -rf "$work"
