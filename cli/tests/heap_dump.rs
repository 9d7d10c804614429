//! Tests of `loadhook heap PID` with real JVMs. A dump is complete or absent, and the program is
//! not affected.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use common::held::{
    Held, begun, classes, dump, dump_of_killed, has, interrupted_dump, is_whole, names, needs_root,
    outcome, send, spawned, until,
};
use common::{done, folder, loadhook, mode};
use loadhook_testkit::jdk::Jdk;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::Signal;

/// A trigger file that an earlier process with this id has left. The JVM ignores it, so that the
/// signal would make it print its stacks.
#[test]
fn a_trigger_file_of_another_user_is_replaced() {
    needs_root();
    let held = Held::start(17, &[], 10);
    let trigger = held.1.path().join(format!(".attach_pid{}", held.pid()));
    fs::write(&trigger, "").expect("write test file");
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
        // The walk finds objects only by following references.
        (25, "-XX:+UseZGC", false),
    ] {
        let folder = folder();
        let jvm = Held::start(feature, &[collector], 1000);
        // The unreachable objects are removed by the collection before the second dump.
        for (options, has_dropped) in [(&["--all"][..], knows_the_dead), (&[][..], false)] {
            let result = done(&mut dump(folder.path(), &jvm.pid(), "h.hprof", options));
            result.expect(0, "", &["heap dump: h.hprof ("]);
            let file = folder.path().join("h.hprof");
            let bytes = fs::read(&file).expect("read test file");
            assert!(is_whole(&bytes), "{feature} {options:?}");
            // The size has the units of all tables.
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
    // SIGQUIT would kill this process.
    let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("sleep");
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
        (
            "self",
            "error: self: No such file or directory (os error 2)\n",
        ),
    ] {
        done(&mut dump(folder.path(), target, "h", &[])).expect(1, "", &[said]);
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

/// To these processes SIGQUIT means something else: they print all stacks, or end.
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
        // With -Xrs a JVM listens from the start. Remove the socket, as programs that clean up /tmp
        // do.
        let socket = PathBuf::from(format!("/tmp/.java_pid{}", jvm.pid()));
        if socket.exists() {
            done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
            fs::remove_file(&socket).expect("remove test file");
            fs::remove_file(folder.path().join("h")).expect("remove test file");
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
    // The first signal comes before the JVM listens, the others while the JVM writes.
    // A SIGQUIT that the JVM handles after the command has ended does no harm.
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
            is_whole(&fs::read(folder.path().join(name)).expect("read test file")),
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
        fs::write(&file, "what was there").expect("write test file");
        let java = Jdk::find(feature).expect("a JDK").java();
        let mut command = Command::new("sh");
        // The unit of `ulimit -f` is 512 bytes, in some shells a kilobyte.
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
    fs::create_dir(folder.path().join("sub")).expect("create test folder");
    let result = done(&mut dump(folder.path(), &jvm.pid(), "sub", &[]));
    result.expect(1, "", &["error: sub: not a file\n"]);
    // A link stays a link, and missing folders are created.
    std::os::unix::fs::symlink("sub/to", folder.path().join("link")).expect("create symbolic link");
    for file in ["link", "new/folder/h"] {
        done(&mut dump(folder.path(), &jvm.pid(), file, &[])).expect(0, "", &[]);
        assert!(
            is_whole(&fs::read(folder.path().join(file)).expect("read test file")),
            "{file}"
        );
    }
    assert_eq!(names(folder.path()), ["link", "new", "sub"]);
    assert_eq!(names(&folder.path().join("sub")), ["to"]);
    done(&mut loadhook(folder.path(), &["heap", &jvm.pid()])).expect(1, "", &["-o FILE"]);
    jvm.ends_well();
}

/// The JVM's queue takes a few clients. The next client used to wait in the kernel, where it could
/// not be interrupted.
#[test]
fn a_command_that_waits_for_others_can_be_interrupted() {
    let folder = folder();
    let jvm = Held::start(17, &[], 10);
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    fs::remove_file(folder.path().join("h")).expect("remove test file");
    let socket = PathBuf::from(format!("/tmp/.java_pid{}", jvm.pid()));
    // The JVM waits for the command of the first client, which sends none.
    let address = SocketAddrUnix::new(&socket).expect("a short path");
    let mut others = Vec::new();
    loop {
        let flags = SocketFlags::NONBLOCK;
        let other = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let other = other.expect("a socket");
        match connect(&other, &address) {
            Err(Errno::AGAIN) => break,
            connected => connected.expect("the JVM listens"),
        }
        others.push(other);
    }
    let loadhook = spawned(&mut dump(folder.path(), &jvm.pid(), "h", &[]));
    begun(folder.path(), &loadhook);
    // The signal may come at any time while the command waits.
    send(&loadhook, Signal::TERM);
    outcome(loadhook).expect(143, "", &["loadhook: interrupted; "]);
    assert_eq!(names(folder.path()), [""; 0]);
    // The JVM then serves the next client.
    drop(others);
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &[]);
    jvm.ends_well();
}

/// Root may dump another user's JVM, which writes into a folder of its own user.
#[test]
fn the_jvm_of_another_user_writes_into_its_own_folder() {
    needs_root();
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("set permissions");
    let java = Jdk::find(17).expect("JDK 17").java();
    let mut command = Command::new(java.get_program());
    command.uid(65_534).gid(65_534).arg("-cp").arg(classes());
    let jvm = Held::wait(command.args(["heap.Held", "10"]));
    done(&mut dump(folder.path(), &jvm.pid(), "h", &[])).expect(0, "", &["heap dump: h ("]);
    let metadata = fs::metadata(folder.path().join("h")).expect("read metadata");
    assert_eq!((metadata.uid(), metadata.mode() & 0o777), (0, 0o600));
    // A link may lead to a file that only root can write.
    fs::write(folder.path().join("ours"), "what was there").expect("write test file");
    std::os::unix::fs::symlink("ours", folder.path().join("link")).expect("create symbolic link");
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
    let java = Jdk::find(17).expect("JDK 17").java();
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
