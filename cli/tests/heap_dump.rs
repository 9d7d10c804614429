//! Tests of `loadhook heap PID` with real JVMs. A dump is complete or absent, and the program is
//! not affected.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::held::{
    Held, begun, classes, dump, dump_of_killed, has, interrupted_dump, is_whole, names, needs_root,
    outcome, send, spawned, until,
};
use common::{done, folder, loadhook, mode};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::Signal;

/// The trigger file of an earlier process with the same id, which another user owned. The JVM
/// ignores such a file, so SIGQUIT would make it print its stacks instead of listening.
#[test]
fn a_trigger_file_of_another_user_is_replaced() {
    needs_root();
    let held = Held::start(17, &[], 10);
    let trigger = held.1.path().join(format!(".attach_pid{}", held.pid()));
    fs::write(&trigger, "").expect("the test file can be written");
    chown(&trigger, Some(65_534), None).expect("the test runs as root");
    let folder = folder();
    let result = done(&mut dump(folder.path(), &held.pid(), "h.hprof", &[]));
    result.expect(0, "", &["heap dump: h.hprof ("]);
    held.ends_well();
}

#[test]
fn every_jvm_dumps_its_heap() {
    for (feature, collector, knows_the_dead) in [
        (11, "-XX:+UseSerialGC", true),
        (17, "-XX:+UseParallelGC", true),
        (21, "-XX:+UseG1GC", true),
        // With ZGC, the JVM's own walk follows references, so it finds no unreachable objects.
        (25, "-XX:+UseZGC", false),
    ] {
        let folder = folder();
        let jvm = Held::start(feature, &[collector], 1000);
        // The second dump is made without --all, so the JVM first collects the unreachable objects.
        for (options, has_dropped) in [(&["--all"][..], knows_the_dead), (&[][..], false)] {
            let result = done(&mut dump(folder.path(), &jvm.pid(), "h.hprof", options));
            result.expect(0, "", &["heap dump: h.hprof ("]);
            let file = folder.path().join("h.hprof");
            let bytes = fs::read(&file).expect("the test file can be read");
            assert!(is_whole(&bytes), "{feature} {options:?}");
            // The message gives the size in a unit, as tables do.
            let said = result.err.trim_end().trim_end_matches(')');
            assert!(said.ends_with(" KB") || said.ends_with(" MB"), "{said}");
            assert!(
                has(&bytes, "A KEPT ARRAY OF BYTES"),
                "{feature} {options:?}"
            );
            let dropped = has(&bytes, "A DROPPED ARRAY OF BYTES");
            assert_eq!(dropped, has_dropped, "{feature} {options:?}");
            assert_eq!(
                (mode(&file), names(folder.path())),
                (0o600, vec!["h.hprof".to_owned()])
            );
        }
        jvm.ends_well();
    }
}

#[test]
fn other_programs_get_no_signal() {
    let folder = folder();
    // SIGQUIT would kill this process, which is no JVM.
    let mut sleeper = Command::new("sleep")
        .arg("1000")
        .spawn()
        .expect("sleep starts");
    let pid = sleeper.id().to_string();
    let result = done(&mut dump(folder.path(), &pid, "h", &[]));
    let said = format!("error: process {pid} is not a HotSpot JVM: it has not loaded libjvm.so\n");
    result.expect(1, "", &[&said]);
    assert_eq!(sleeper.try_wait().expect("the state is known"), None);
    sleeper.kill().expect("the process is alive");
    sleeper.wait().expect("the process ends");
    let result = done(&mut dump(folder.path(), &pid, "h", &[]));
    result.expect(1, "", &[&format!("error: there is no process {pid}\n")]);
    for (target, said) in [
        ("0", "error: there is no process 0\n"),
        ("4294967296", "error: 4294967296: not a process id\n"),
        ("self", "error: self: no such file in /"),
    ] {
        done(&mut dump(folder.path(), target, "h", &[])).expect(1, "", &[said]);
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

/// Some options keep a JVM from listening after SIGQUIT: the JVM prints all stacks, or ends.
#[test]
fn a_process_that_would_not_listen_gets_no_signal() {
    for (options, said) in [
        (
            &["-XX:+DisableAttachMechanism"][..],
            "-XX:+DisableAttachMechanism",
        ),
        (&["-Xrs"], "does not handle SIGQUIT"),
    ] {
        let folder = folder();
        let jvm = Held::start(17, options, 10);
        // With -Xrs a JVM listens from the start, but a thread of its own makes the socket. So the test waits for the
        // socket and removes it, as programs that clean up /tmp do.
        let socket = PathBuf::from(format!("/tmp/.java_pid{}", jvm.pid()));
        if options.contains(&"-Xrs") {
            let begun = Instant::now();
            while !socket.exists() {
                assert!(
                    begun.elapsed() < process::PATIENCE,
                    "the JVM does not listen"
                );
                thread::sleep(Duration::from_millis(10));
            }
            done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
            fs::remove_file(&socket).expect("the test file can be removed");
            fs::remove_file(folder.path().join("h")).expect("the test file can be removed");
        }
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", &[]));
        result.expect(1, "", &["error: h: process ", said]);
        assert_eq!(names(folder.path()), [""; 0]);
        jvm.ends_well();
    }
}

#[test]
fn a_stopped_jvm_is_refused_at_once() {
    let folder = folder();
    let jvm = Held::start(17, &[], 10);
    jvm.send(Signal::STOP);
    let status = format!("/proc/{}/status", jvm.pid());
    until(&jvm.0, || {
        fs::read_to_string(&status).is_ok_and(|text| text.contains("State:\tT"))
    });
    let result = done(&mut dump(folder.path(), &jvm.pid(), "h", &[]));
    jvm.send(Signal::CONT);
    result.expect(
        1,
        "",
        &[" is stopped and cannot answer; continue it first (kill -CONT "],
    );
    assert_eq!(names(folder.path()), [""; 0]);
    jvm.ends_well();
}

#[test]
fn a_jvm_that_ends_leaves_no_dump() {
    dump_of_killed(21, &[]);
}

#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    let jvm = Held::start(25, &[], 400_000);
    // The first signal comes before the JVM listens, the others while it writes the dump. If the
    // JVM handles SIGQUIT only after the command has ended, that does no harm.
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        interrupted_dump(&jvm, &[], signal, code);
    }
    jvm.ends_well();
}

#[test]
fn two_dumps_at_once_are_both_whole() {
    let folder = folder();
    let jvm = Held::start(17, &[], 200_000);
    let both = ["a", "b", "b"].map(|name| spawned(&mut dump(folder.path(), &jvm.pid(), name, &[])));
    for child in both {
        outcome(child).expect(0, "", &["heap dump: "]);
    }
    assert_eq!(names(folder.path()), ["a", "b"]);
    for name in ["a", "b"] {
        assert!(
            is_whole(&fs::read(folder.path().join(name)).expect("the test file can be read")),
            "{name}"
        );
    }
    jvm.ends_well();
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    for feature in [11, 17, 21, 25] {
        let folder = folder();
        let file = folder.path().join("h");
        fs::write(&file, "what was there").expect("the test file can be written");
        let java = Jdk::find(feature).expect("the JDK is installed").java();
        let mut command = Command::new("sh");
        // A file may have at most 2000 units of `ulimit -f`: of 512 bytes, or in some shells of a
        // kilobyte. The dump is larger.
        command.args(["-c", "ulimit -f 2000; exec \"$@\"", "sh"]);
        command.arg(java.get_program());
        let jvm = Held::wait(
            command
                .arg("-cp")
                .arg(classes())
                .args(["heap.Held", "100000"]),
        );
        let result = done(&mut dump(folder.path(), &jvm.pid(), "h", &[]));
        let said = "(the JVM says: Dump file is incomplete: File too large)";
        result.expect(1, "", &["error: h: the dump is not complete", said]);
        assert_eq!(names(folder.path()), ["h"]);
        let there = fs::read_to_string(&file);
        assert_eq!(there.expect("the file exists"), "what was there");
        jvm.ends_well();
    }
}

#[test]
fn only_files_are_replaced() {
    let folder = folder();
    let jvm = Held::start(17, &[], 10);
    fs::create_dir(folder.path().join("sub")).expect("the test folder can be created");
    let result = done(&mut dump(folder.path(), &jvm.pid(), "sub", &[]));
    result.expect(
        1,
        "",
        &["error: sub: not a file; give the name of a file to write\n"],
    );
    // A link stays a link, and missing folders are created.
    std::os::unix::fs::symlink("sub/to", folder.path().join("link"))
        .expect("the symbolic link can be created");
    for file in ["link", "new/folder/h"] {
        done(&mut dump(folder.path(), &jvm.pid(), file, &[])).expect(0, "", &[]);
        assert!(
            is_whole(&fs::read(folder.path().join(file)).expect("the test file can be read")),
            "{file}"
        );
    }
    assert_eq!(names(folder.path()), ["link", "new", "sub"]);
    assert_eq!(names(&folder.path().join("sub")), ["to"]);
    done(&mut loadhook(folder.path(), &["heap", &jvm.pid()])).expect(1, "", &["-o FILE"]);
    jvm.ends_well();
}

/// The JVM queues only a few clients. A further client used to wait in the kernel, where a signal
/// could not interrupt it.
#[test]
fn a_command_that_waits_for_others_can_be_interrupted() {
    let folder = folder();
    let jvm = Held::start(17, &[], 10);
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    fs::remove_file(folder.path().join("h")).expect("the test file can be removed");
    let socket = PathBuf::from(format!("/tmp/.java_pid{}", jvm.pid()));
    // The first client sends no command, so the JVM waits for it and serves nobody else.
    let address = SocketAddrUnix::new(&socket).expect("the path of the socket is short");
    let mut others = Vec::new();
    loop {
        let flags = SocketFlags::NONBLOCK;
        let other = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let other = other.expect("a socket can be created");
        match connect(&other, &address) {
            Err(Errno::AGAIN) => break,
            connected => connected.expect("the JVM listens"),
        }
        others.push(other);
    }
    let loadhook = spawned(&mut dump(folder.path(), &jvm.pid(), "h", &[]));
    begun(folder.path(), &loadhook);
    // The command may be at any point of its wait when the signal comes.
    send(&loadhook, Signal::TERM);
    outcome(loadhook).expect(143, "", &["loadhook: interrupted; "]);
    assert_eq!(names(folder.path()), [""; 0]);
    // After the other clients have closed their connections, the JVM serves the next one.
    drop(others);
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    jvm.ends_well();
}

/// Root may dump another user's JVM. The dump is written first into a folder that belongs to that
/// user.
#[test]
fn the_jvm_of_another_user_writes_into_its_own_folder() {
    needs_root();
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))
        .expect("the permissions can be set");
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let mut command = Command::new(java.get_program());
    command.uid(65_534).gid(65_534).arg("-cp").arg(classes());
    let jvm = Held::wait(command.args(["heap.Held", "10"]));
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &["heap dump: h ("]);
    let metadata = fs::metadata(folder.path().join("h")).expect("the metadata can be read");
    assert_eq!((metadata.uid(), metadata.mode() & 0o777), (0, 0o600));
    // Another user's link is refused, because it may lead to a file that only root can write.
    fs::write(folder.path().join("ours"), "what was there").expect("the test file can be written");
    std::os::unix::fs::symlink("ours", folder.path().join("link"))
        .expect("the symbolic link can be created");
    let result = done(&mut dump(folder.path(), &jvm.pid(), "link", &[]));
    result.expect(
        1,
        "",
        &["error: link: a link, and the process belongs to another user; give the name of the file itself"],
    );
    let there = fs::read_to_string(folder.path().join("ours"));
    assert_eq!(there.expect("the file exists"), "what was there");
    assert_eq!(names(folder.path()), ["h", "link", "ours"]);
    jvm.ends_well();
}

#[test]
fn folders_made_for_a_failed_dump_are_removed() {
    let folder = folder();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]);
    command.arg(java.get_program()).arg("-XX:-UsePerfData");
    command.arg("-cp").arg(classes());
    let jvm = Held::wait(command.args(["heap.Held", "10"]));
    let result = done(&mut dump(folder.path(), &jvm.pid(), "new/folder/h", &[]));
    result.expect(1, "", &["error: new/folder/h: "]);
    assert_eq!(names(folder.path()), [""; 0]);
    jvm.ends_well();
}
