//! Tests of walks that fail or are interrupted.

use std::fs;
use std::io::{BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use loadhook_hprof::{Root, RootKind};
use loadhook_testkit::jdk::Jdk;
use rustix::process::Signal;

use crate::WALK;
use crate::common::held::{
    Held, classes, dump, dump_of_killed, interrupted_dump, names, outcome, send, spawned, until,
};
use crate::common::{done, folder};
use crate::dump_in_memory::Dump;

#[test]
fn a_full_disk_ends_the_walk() {
    for feature in [11, 25] {
        let folder = folder();
        let file = folder.path().join("h");
        fs::write(&file, "what was there").expect("write test file");
        let java = Jdk::find(feature).expect("a JDK").java();
        let mut command = Command::new("sh");
        // The unit of `ulimit -f` is 512 bytes, in some shells a kilobyte.
        command.args(["-c", "ulimit -f 2000; exec \"$@\"", "sh"]);
        command.arg(java.get_program()).arg("-cp").arg(classes());
        let jvm = Held::wait(command.args(["heap.Held", "100000"]));
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        result.expect(1, "", &["error: h: no dump: File too large"]);
        assert_eq!(names(folder.path()), ["h"]);
        let there = fs::read_to_string(&file);
        assert_eq!(there.expect("the file exists"), "what was there");
        jvm.ends_well();
    }
}

/// The agent's answer cannot be written either, and the program prints nothing.
#[test]
fn a_disk_that_is_full_from_the_start_is_reported() {
    for feature in [11, 25] {
        let folder = folder();
        let java = Jdk::find(feature).expect("a JDK").java();
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]);
        command.arg(java.get_program()).arg("-XX:-UsePerfData");
        command.arg("-cp").arg(classes()).stderr(Stdio::piped());
        let mut jvm = Held::wait(command.args(["heap.Held", "10"]));
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        let said =
            "error: h: no dump: the agent left no answer; check that the disk has free space\n";
        result.expect(1, "", &[said]);
        assert_eq!(names(folder.path()), [""; 0]);
        let stderr = jvm.0.stderr.take().expect("piped");
        jvm.ends_well();
        let mut told = String::new();
        let mut stderr = BufReader::new(stderr);
        stderr.read_to_string(&mut told).expect("UTF-8");
        assert!(!told.contains("loadhook: "), "{told}");
    }
}

#[test]
fn a_jvm_that_ends_leaves_no_dump() {
    dump_of_killed(17, WALK);
}

#[test]
fn an_interrupt_ends_the_walk() {
    let jvm = Held::start(25, &[], 400_000);
    interrupted_dump(&jvm, WALK, Signal::TERM, 143);
    jvm.ends_well();
}

/// A regression: the walk never ended, and the next attach command had to wait for it.
#[test]
fn a_walk_ends_if_the_program_makes_classes_all_the_time() {
    let folder = folder();
    for feature in [17, 25] {
        let jvm = Held::program(feature, &["-Xmx256m"], &["heap.Defining"]);
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        if result.code != Some(0) {
            let said = "error: h: no dump: classes are loaded faster than they can be read";
            result.expect(1, "", &[said]);
        }
        done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &["heap dump: h"]);
        assert_eq!(names(folder.path()), ["h"]);
        jvm.ends_well();
    }
}

/// Returns the kilobytes that the walk takes in a program with this many threads.
fn walked_threads(threads: u64) -> u64 {
    let options = ["-Xmx64m", "-Xss256k", "-XX:+UseSerialGC"];
    let jvm = Held::program(11, &options, &["heap.Crowd", &threads.to_string()]);
    let folder = folder();
    // This command makes the JVM collect garbage, as the walk does.
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    let most = || {
        let status = fs::read_to_string(format!("/proc/{}/status", jvm.pid()));
        let status = status.expect("the process is alive");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        let kilobytes = kilobytes.and_then(|kilobytes| kilobytes.parse::<u64>().ok());
        kilobytes.expect("a number")
    };
    let before = most();
    done(&mut dump(folder.path(), &jvm.pid(), "h", WALK)).expect(0, "", &[]);
    let more = most() - before;
    let dump = Dump::of(&folder.path().join("h"));
    let is = |root: &&Root| root.kind == RootKind::ThreadObject;
    assert!(dump.roots.iter().filter(is).count() as u64 >= threads);
    jvm.ends_well();
    more
}

/// JVM TI takes 32 KB for a stack, however short. The heap walk of later JDKs takes as much for
/// each thread.
#[test]
fn stacks_of_many_threads_take_little_memory() {
    const THREADS: u64 = 2_000;
    let [few, many] = [10, THREADS].map(walked_threads);
    // If all stacks were requested at once, the walk would take four times as much.
    assert!(many < few + THREADS * 32 / 4, "{few}, {many} KB");
}

/// The staging folder is gone when the agent begins, and nothing is printed to the program's
/// output.
#[test]
fn a_command_interrupted_before_the_walk_does_no_harm() {
    let java = Jdk::find(17).expect("JDK 17").java();
    let mut command = Command::new(java.get_program());
    command.arg("-cp").arg(classes()).stderr(Stdio::piped());
    let mut jvm = Held::wait(command.args(["heap.Held", "10"]));
    let folder = folder();
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    // The JVM waits for the command of this client, so the next commands queue.
    let socket = format!("/tmp/.java_pid{}", jvm.pid());
    let other = UnixStream::connect(socket).expect("the JVM listens");
    let loadhook = spawned(&mut dump(folder.path(), &jvm.pid(), "given-up", WALK));
    let files = PathBuf::from(format!("/proc/{}/fd", loadhook.id()));
    let is_socket = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).unwrap_or_default();
        link.to_string_lossy().starts_with("socket:")
    };
    until(&loadhook, || {
        let files = fs::read_dir(&files).into_iter().flatten();
        files.flatten().any(is_socket)
    });
    send(&loadhook, Signal::TERM);
    outcome(loadhook).expect(143, "", &["loadhook: interrupted; "]);
    drop(other);
    // This command is queued behind the walk.
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    assert_eq!(names(folder.path()), ["h"]);
    let stderr = jvm.0.stderr.take().expect("piped");
    jvm.ends_well();
    let mut said = String::new();
    BufReader::new(stderr)
        .read_to_string(&mut said)
        .expect("UTF-8");
    assert_eq!(said, "");
}
