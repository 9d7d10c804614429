# Sourced by servers.sh and peers.sh after prerequisites.sh: Debian's Tomcat and Jetty with an application of ours, and a
# load by wrk on the loopback interface.

need_jdk_17
cd "$root"
command -v wrk >/dev/null 2>&1 || install_package wrk "servers: wrk not found"
command -v curl >/dev/null 2>&1 || install_package curl "servers: curl not found"
if [ -z "${LOADHOOK:-}" ]; then
    cargo build --release --locked -q -p loadhook -p loadhook-agent
fi
loadhook=${LOADHOOK:-$target/release/loadhook}
java=/usr/share/java
here=$root/scripts/servers
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true' EXIT

# Finds a JDK of feature release $1.
need_jdk() {
    case $1 in
        17) ;;
        11 | 21 | 25) "need_jdk_$1" ;;
        *) fail "servers: JDK $1 is not supported; give 11, 17, 21 or 25" ;;
    esac
}

# These packages contain no system service, so installing them starts no server.
need_tomcat() {
    [ -f /usr/share/tomcat10/bin/bootstrap.jar ] || install_package tomcat10-common "servers: Tomcat not found"
}

need_jetty() {
    [ -f "$java/jetty9-webapp.jar" ] || install_package libjetty9-java "servers: Jetty not found"
}

# Makes a folder for the server $1 with the web application, whose servlets have the package $2. The class path to
# compile it is $3.
prepare() {
    folder=$work/$1
    port=$((20000 + RANDOM % 20000))
    mkdir -p "$folder/webapps/ROOT/WEB-INF/classes" "$folder/conf" "$folder/logs" "$folder/temp"
    sed "s/SERVLET/$2/" "$here/Answers.java" >"$folder/Answers.java"
    "$JAVA_HOME_17/bin/javac" -g --release 11 -cp "$3" -d "$folder/webapps/ROOT/WEB-INF/classes" \
        "$folder/Answers.java"
    cp "$here/web.xml" "$folder/webapps/ROOT/WEB-INF/"
    sed -e "s/PORT/$port/" -e "s|FOLDER|$folder|" "$here/$1.xml" >"$folder/conf/server.xml"
}

# Starts the server $1 on the JDK $2 with the JVM options $3 and so on. The whole heap is resident from the start, so
# only other memory can grow.
start() {
    name=$1 home=JAVA_HOME_$2
    shift 2
    # shellcheck disable=SC2206 # several options
    jvm=("${!home}/bin/java" -Xms256m -Xmx256m -XX:+AlwaysPreTouch -XX:+UseSerialGC "$@")
    case $name in
        tomcat)
            need_tomcat
            prepare tomcat jakarta.servlet "$java/tomcat10-servlet-api.jar"
            jvm+=("-Dcatalina.home=/usr/share/tomcat10" "-Dcatalina.base=$folder"
                -cp /usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar
                org.apache.catalina.startup.Bootstrap start)
            watched='org.apache.**,servers.**' changed='org.apache.coyote.**'
            ;;
        jetty)
            need_jetty
            prepare jetty javax.servlet "$java/servlet-api.jar"
            jars=$java/servlet-api.jar
            for part in http io security server servlet util webapp xml; do
                jars=$jars:$java/jetty9-$part.jar
            done
            jvm+=(-cp "$jars" org.eclipse.jetty.xml.XmlConfiguration "$folder/conf/server.xml")
            watched='org.eclipse.**,servers.**' changed='org.eclipse.jetty.http.**'
            ;;
        *) fail "servers: unknown server $name in SERVERS; give tomcat or jetty" ;;
    esac
    (cd "$folder" && exec "${jvm[@]}" >log 2>&1) &
    server=$!
    for _ in $(seq 100); do
        if curl -sf -o /dev/null "http://127.0.0.1:$port/answers?number=0"; then
            return 0
        fi
        kill -0 "$server" 2>/dev/null || break
        sleep 0.3
    done
    cat "$folder/log" >&2
    fail "servers: $name does not answer; its log is above"
}

stop() {
    kill "$server"
    wait "$server" || true
    server=
}

# Sends requests for $1 seconds. Prints the numbers of requests, of failed requests and of wrong answers; then the median,
# the 99th percentile and the longest latency, in microseconds.
load() {
    wrk -t1 -c8 -d"$1" -s "$here/load.lua" "http://127.0.0.1:$port" -- "$folder/answers" | sed -n 's/^RESULT //p'
}

# Reads the numbers that `load` printed from the file $1. Sets `latencies`, in milliseconds.
read_load() {
    read -r requests failed wrong median p99 longest <"$1"
    latencies=$(awk "BEGIN { printf \"%.1f %.1f %.1f\", $median/1000, $p99/1000, $longest/1000 }")
}

# Saves the server's answers, with which `load` compares later answers.
keep_answers() {
    for number in $(seq 0 99); do
        curl -sf "http://127.0.0.1:$port/answers?number=$number"
        echo
    done >"$folder/answers"
}

# Prints the server's resident memory, used metaspace and committed metaspace, in MB, after two collections.
memory() {
    "$JAVA_HOME_17/bin/jcmd" "$server" GC.run >/dev/null
    "$JAVA_HOME_17/bin/jcmd" "$server" GC.run >/dev/null
    resident=$(awk '/^VmRSS/ { print $2 }' "/proc/$server/status")
    "$JAVA_HOME_17/bin/jstat" -gc "$server" | awk -v resident="$resident" 'NR == 1 {
            for (at = 1; at <= NF; at++) place[$at] = at
        }
        NR == 2 { printf "%.1f %.1f %.1f", resident / 1024, $place["MU"] / 1024, $place["MC"] / 1024 }'
}
