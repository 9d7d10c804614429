//! Tests of heap walks that fail or are interrupted.

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
        fs::write(&file, "what was there").expect("the test file can be written");
        let java = Jdk::find(feature).expect("the JDK is installed").java();
        let mut command = Command::new("sh");
        // A file may have at most 2000 units of `ulimit -f`: of 512 bytes, or in some shells of a
        // kilobyte. The dump is larger.
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

/// With a full disk, even the file with the agent's answer cannot be written. The program must
/// print nothing.
#[test]
fn a_disk_that_is_full_from_the_start_is_reported() {
    for feature in [11, 25] {
        let folder = folder();
        let java = Jdk::find(feature).expect("the JDK is installed").java();
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
        let stderr = jvm.0.stderr.take().expect("the stream is a pipe");
        jvm.ends_well();
        let mut told = String::new();
        let mut stderr = BufReader::new(stderr);
        stderr.read_to_string(&mut told).expect("the text is UTF-8");
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

/// A fault of an earlier version: the walk never ended, and the next attach command waited for it.
#[test]
fn a_walk_ends_if_the_program_makes_classes_all_the_time() {
    let folder = folder();
    for feature in [17, 25] {
        let jvm = Held::program(feature, &["-Xmx256m"], &["heap.Defining"]);
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", WALK));
        if result.code != Some(0) {
            let said = "error: h: no dump: the program loaded or unloaded classes during each of ";
            result.expect(1, "", &[said]);
        }
        done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &["heap dump: h"]);
        assert_eq!(names(folder.path()), ["h"]);
        jvm.ends_well();
    }
}

/// Measures the memory, in kilobytes, that the walk takes in a program with this many threads.
fn walked_threads(threads: u64) -> u64 {
    let options = ["-Xmx64m", "-Xss256k", "-XX:+UseSerialGC"];
    let jvm = Held::program(11, &options, &["heap.Crowd", &threads.to_string()]);
    let folder = folder();
    // An ordinary dump first makes the JVM collect garbage, as the walk does. So the memory that the
    // collection takes is not counted for the walk.
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    let most = || {
        let status = fs::read_to_string(format!("/proc/{}/status", jvm.pid()));
        let status = status.expect("the process is alive");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        let kilobytes = kilobytes.and_then(|kilobytes| kilobytes.parse::<u64>().ok());
        kilobytes.expect("the text is a number")
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

/// JVM TI takes 32 KB for each stack that is requested, even for a short one. In later JDKs, the
/// JVM's heap walk takes as much for each thread.
#[test]
fn stacks_of_many_threads_take_little_memory() {
    const THREADS: u64 = 2_000;
    let [few, many] = [10, THREADS].map(walked_threads);
    // If all stacks were requested at once, the walk would take four times as much.
    assert!(
        many < few + THREADS * 32 / 4,
        "a walk with 10 threads took {few} KB, one with {THREADS} took {many} KB"
    );
}

/// When the agent begins its walk, the command has already removed the staging folder. The agent
/// must not print to the program's output.
#[test]
fn a_command_interrupted_before_the_walk_does_no_harm() {
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let mut command = Command::new(java.get_program());
    command.arg("-cp").arg(classes()).stderr(Stdio::piped());
    let mut jvm = Held::wait(command.args(["heap.Held", "10"]));
    let folder = folder();
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    // The JVM first waits for a command of this client, so commands of other clients queue up.
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
    // This command waits in the queue until the walk has ended.
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    assert_eq!(names(folder.path()), ["h"]);
    let stderr = jvm.0.stderr.take().expect("the stream is a pipe");
    jvm.ends_well();
    let mut said = String::new();
    BufReader::new(stderr)
        .read_to_string(&mut said)
        .expect("the text is UTF-8");
    assert_eq!(said, "");
}
