#!/bin/bash
# Samples a program that is hard to sample, at the shortest interval, until ten million samples are taken on each JDK.
#
#   scripts/soak_samples.sh               on JDK 11, 17, 21 and 25: takes hours
#   scripts/soak_samples.sh 25            on one of them
#   SOAK_SAMPLES=100000 scripts/soak_samples.sh
#
# The program is SampledStress, which loads and unloads classes, has code deoptimised, throws, collects garbage, calls
# native code, recurses to the end of the stack, and parks virtual threads. It checks its own results. Each run takes
# SOAK_SECONDS (60) with another set of JVM options and options of the agent. A run that crashes, hangs or finds a wrong
# result is printed, and its folder is kept. The script ends early once the file SOAK_STOP exists.
#
# LOADHOOK and LOADHOOK_AGENT name a command and an agent that are built already.
set -eu
. "$(dirname -- "$0")/prerequisites.sh"
need_jdk_17
command -v jq >/dev/null 2>&1 || install_package jq "soak_samples: jq not found"
cd "$root"
if [ -z "${LOADHOOK:-}" ]; then
    cargo build --release --locked -q -p loadhook -p loadhook-agent
fi
loadhook=${LOADHOOK:-$target/release/loadhook}
agent=${LOADHOOK_AGENT:-$target/release/libloadhook_agent.so}
wanted=${SOAK_SAMPLES:-10000000}
seconds=${SOAK_SECONDS:-60}
stop=${SOAK_STOP:-/nonexistent}
work=$(mktemp -d)
"$JAVA_HOME_17/bin/javac" -g --release 11 -d "$work" agent/tests/java/SampledStress.java

jvms=(
    "-XX:+UseG1GC"
    "-XX:+UseSerialGC -Xint"
    "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"
    "-XX:+UseSerialGC -Xcomp"
    "-XX:+UnlockExperimentalVMOptions -XX:+UseZGC"
    "-XX:+UnlockExperimentalVMOptions -XX:+UseShenandoahGC"
    "-XX:+UseParallelGC -XX:-TieredCompilation"
)
# The agent's options: calls are counted or not, and waiting threads are sampled or not.
agents=("include=none" "clock=cpu" "include=none,clock=cpu" "clock=wall,snapshot-every=2s")

# Runs the program once on the JDK $1, with the JVM options $2 and the agent's options $3. Sets `outcome`.
run() {
    folder=$(mktemp -d -p "$work")
    home=JAVA_HOME_$1
    code=0
    # shellcheck disable=SC2086 # several options
    (cd "$folder" && timeout -s ABRT $((seconds * 20 + 600)) "${!home}/bin/java" -Xmx256m $2 \
        "-agentpath:$agent=quiet=true,file=$folder/p.pb.gz,sampler=async,interval=50us,clock-source=perf,$3" \
        -cp "$work" SampledStress $((seconds * 1000)) >stdout 2>stderr) || code=$?
    outcome=well
    case $code in
        0) [ "$(cat "$folder/stdout")" = "all held" ] || outcome="no result" ;;
        3) outcome="wrong result" ;;
        124) outcome=hang ;;
        *) outcome="ended with $code" ;;
    esac
}

# Runs the program once on the JDK $1 with the next options, adds the numbers of its profile to the sums, and prints the
# sums. The JDKs take turns, so that a soak that is stopped early has about as many samples of each JDK.
soak() {
    jvm=${jvms[runs[$1] % ${#jvms[@]}]}
    options=${agents[runs[$1] / ${#jvms[@]} % ${#agents[@]}]}
    runs[$1]=$((runs[$1] + 1))
    # Some builds of the JDK lack a collector; skip its options there.
    home=JAVA_HOME_$1
    # shellcheck disable=SC2086 # several options
    "${!home}/bin/java" $jvm -version >/dev/null 2>&1 || return 0
    run "$1" "$jvm" "$options"
    if [ "$outcome" = well ]; then
        "$loadhook" report "$folder/p.pb.gz" --format json \
            | jq -r '.sampling | "\(.samples) \(.unwalked) \(.cut) \(.lost)"' >"$folder/numbers"
        read -r samples unwalked cut lost <"$folder/numbers"
        all_samples[$1]=$((all_samples[$1] + samples))
        all_unwalked[$1]=$((all_unwalked[$1] + unwalked))
        all_cut[$1]=$((all_cut[$1] + cut))
        all_lost[$1]=$((all_lost[$1] + lost))
        rm -rf "$folder"
    else
        bad[$1]=$((bad[$1] + 1))
        echo "JDK $1, $jvm, $options: $outcome, see $folder"
    fi
    echo "JDK $1: ${runs[$1]} runs, ${all_samples[$1]} samples, ${all_unwalked[$1]} not walked to their end," \
        "${all_cut[$1]} cut at a continuation, ${all_lost[$1]} lost, ${bad[$1]} crashes or hangs"
}

[ $# -gt 0 ] || set -- 11 17 21 25
for feature; do
    case $feature in
        17) ;;
        11 | 21 | 25) "need_jdk_$feature" ;;
        *) fail "soak_samples: JDK $feature is not supported; give 11, 17, 21 or 25" ;;
    esac
    runs[feature]=0 all_samples[feature]=0 all_unwalked[feature]=0 all_cut[feature]=0 all_lost[feature]=0 bad[feature]=0
done
while [ ! -e "$stop" ]; do
    is_done=yes
    for feature; do
        if [ "${all_samples[feature]}" -lt "$wanted" ]; then
            is_done=no
            soak "$feature"
        fi
    done
    [ "$is_done" = no ] || break
done
for feature; do
    [ "${bad[feature]}" = 0 ] || exit 1
done
rm -rf "$work"
