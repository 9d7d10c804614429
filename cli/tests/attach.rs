//! Tests of `loadhook attach` with real JVMs. The watched program must go on, and no file may be left in its `/tmp`.

mod common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::held::{Held, in_container, names, needs_root, send, until};
use common::watched::{INCLUDE, Watching, attach, classes, looping, works};
use common::{calls, done, folder, loadhook, mode, read};
use loadhook_testkit::jdk::Jdk;
use rustix::process::Signal;

const STEP: &str = "watched.Looping";

/// Returns the names of the files that `loadhook attach` has in the `/tmp` of a process.
fn left_over(pid: &str, own_pid: &str) -> Vec<String> {
    let tmp = PathBuf::from(format!("/proc/{pid}/root/tmp"));
    let mut names = names(&tmp);
    let prefix = format!(".loadhook-{own_pid}-");
    names.retain(|name| name.starts_with(&prefix));
    names
}

#[track_caller]
fn nothing_is_left(pid: &str) {
    assert_eq!(left_over(pid, pid), [""; 0]);
}

#[test]
fn a_running_program_is_watched_for_a_while() {
    for (feature, warning) in [
        (11, None),
        (17, None),
        (
            25,
            Some("loadhook: JDK 25 prints a warning about a dynamically loaded agent"),
        ),
    ] {
        let jvm = looping(feature, &[]);
        let folder = folder();
        let options = [INCLUDE, &["--duration", "1s", "--html", "p.html"]].concat();
        let result = done(&mut attach(folder.path(), &jvm.pid(), &options));
        let watching = format!(
            "loadhook: watching process {}: 1 class changed in 1 batch; the program stopped for at most ",
            jvm.pid()
        );
        result.expect(
            0,
            "",
            &[
                &watching,
                "watched.Looping.step",
                "profile: p.pb.gz (page: p.html)",
            ],
        );
        assert_eq!(
            result.err.contains(" prints a warning"),
            warning.is_some(),
            "{}",
            result.err
        );
        assert!(
            warning.is_none_or(|warning| result.err.contains(warning)),
            "{}",
            result.err
        );
        let profile = folder.path().join("p.pb.gz");
        assert!(calls(&read(&profile), STEP, "step") > 100, "{}", result.err);
        assert_eq!(mode(&profile), 0o600);
        assert_eq!(names(folder.path()), ["p.html", "p.pb.gz"]);
        nothing_is_left(&jvm.pid());
        jvm.ends_well();
    }
}

#[test]
fn without_patterns_only_samples_are_taken() {
    let jvm = looping(17, &[]);
    // Meanwhile the JVM compiles the method.
    for _ in 0..5 {
        works(&jvm, &jvm.pid());
    }
    let folder = folder();
    let result = done(&mut attach(
        folder.path(),
        &jvm.pid(),
        &["--duration", "1s"],
    ));
    let earlier =
        " % of the samples are in code that the JVM compiled before Loadhook was attached";
    let said = ["; no loaded class is changed", "watched.Looping"];
    result.expect(0, "", &said);
    let profile = read(&folder.path().join("p.pb.gz"));
    let notes = &profile.header.notes;
    assert!(notes.iter().any(|note| note.contains(earlier)), "{notes:?}");
    assert_eq!(profile.calls(), 0);
    jvm.ends_well();
}

#[test]
fn a_signal_ends_the_watching_with_a_table() {
    let jvm = looping(17, &[]);
    // The second attaching succeeds only if the agent left after the first.
    for signal in [Signal::INT, Signal::TERM] {
        let folder = folder();
        let watching = Watching::start(folder.path(), &jvm.pid(), INCLUDE);
        works(&jvm, &jvm.pid());
        send(&watching.command, signal);
        let result = watching.end();
        result.expect(0, "", &["watched.Looping.step", "profile: p.pb.gz"]);
        assert_eq!(names(folder.path()), ["p.pb.gz"]);
        nothing_is_left(&jvm.pid());
    }
    jvm.ends_well();
}

#[test]
fn the_agent_of_a_killed_command_leaves() {
    let jvm = looping(17, &[]);
    let folder = folder();
    let mut watching = Watching::start(folder.path(), &jvm.pid(), INCLUDE);
    watching.command.kill().expect("the command is alive");
    watching.command.wait().expect("the command ends");
    until(&jvm.0, || left_over(&jvm.pid(), &jvm.pid()).is_empty());
    assert_eq!(names(folder.path()), [""; 0]);
    // The agent has left the JVM, so it can be loaded again.
    let options = [INCLUDE, &["--duration", "500ms"]].concat();
    let result = done(&mut attach(folder.path(), &jvm.pid(), &options));
    result.expect(0, "", &["watched.Looping.step"]);
    nothing_is_left(&jvm.pid());
    jvm.ends_well();
}

#[test]
fn a_program_that_ends_leaves_its_profile() {
    let folder = folder();
    let mut jvm = looping(17, &[]);
    let watching = Watching::start(folder.path(), &jvm.pid(), INCLUDE);
    works(&jvm, &jvm.pid());
    drop(jvm.0.stdin.take());
    let result = watching.end();
    result.expect(0, "", &["watched.Looping.step", "profile: p.pb.gz"]);
    assert_eq!(jvm.0.wait().expect("the process ends").code(), Some(0));
}

#[test]
fn a_killed_program_leaves_its_last_snapshot() {
    for (options, code, said) in [
        (&[][..], 1, "error: no profile of process "),
        (&["--snapshot-every", "100ms"], 0, "watched.Looping.step"),
    ] {
        let folder = folder();
        let mut jvm = looping(17, &[]);
        let pid = jvm.pid();
        let watching = Watching::start(folder.path(), &pid, &[INCLUDE, options].concat());
        if code == 0 {
            let room = left_over(&pid, &pid).remove(0);
            let snapshot = Path::new("/tmp").join(room).join("profile.pb.gz");
            until(&watching.command, || snapshot.exists());
            // On a busy machine the program has done nothing yet at the first snapshot.
            works(&jvm, &pid);
            let written = || fs::metadata(&snapshot).and_then(|it| it.modified()).ok();
            let before = written();
            until(&watching.command, || written() != before);
        }
        jvm.send(Signal::KILL);
        jvm.0.wait().expect("the process ends");
        let result = watching.end();
        let ended = format!("loadhook: process {pid} has ended\n");
        result.expect(code, "", &[&ended, said]);
        let names = names(Path::new("/tmp"));
        let prefix = format!(".loadhook-{pid}-");
        assert!(
            !names.iter().any(|name| name.starts_with(&prefix)),
            "{names:?}"
        );
    }
}

#[test]
fn a_process_is_watched_by_one_command() {
    let jvm = looping(17, &[]);
    let folder = folder();
    let watching = Watching::start(folder.path(), &jvm.pid(), INCLUDE);
    let second = done(&mut attach(folder.path(), &jvm.pid(), INCLUDE));
    let said = format!(
        "error: process {} is watched by loadhook attach (process {}); wait until that has ended\n",
        jvm.pid(),
        watching.command.id()
    );
    second.expect(1, "", &[&said]);
    works(&jvm, &jvm.pid());
    send(&watching.command, Signal::INT);
    watching.end().expect(0, "", &["watched.Looping.step"]);
    nothing_is_left(&jvm.pid());
    jvm.ends_well();
}

/// `loadhook run` watches the JVM from the start, so a later `loadhook attach` is refused.
#[test]
fn a_program_under_run_is_refused() {
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let folder = folder();
    let mut run = loadhook(folder.path(), &["run", "-o", "p.pb.gz", "--"]);
    run.arg(java.get_program()).arg("-cp").arg(classes());
    let mut jvm = Held::wait(
        run.arg("watched.Looping")
            .stderr(std::process::Stdio::null()),
    );
    let children = format!("/proc/{0}/task/{0}/children", jvm.pid());
    let pid = fs::read_to_string(children).expect("the process is alive");
    let result = done(&mut attach(folder.path(), pid.trim(), INCLUDE));
    result.expect(
        1,
        "",
        &[" is watched by Loadhook already, by loadhook run or by a command that has not left yet"],
    );
    nothing_is_left(pid.trim());
    drop(jvm.0.stdin.take());
    assert_eq!(jvm.0.wait().expect("the process ends").code(), Some(0));
}

#[test]
fn everything_is_checked_before_the_process_is_touched() {
    let jvm = looping(17, &[]);
    let folder = folder();
    fs::write(folder.path().join("file"), "").expect("the test file can be written");
    let pid = jvm.pid();
    for (options, said) in [
        (&["-o", "file/p.pb.gz"][..], "error: --output: "),
        (&["--html", "file/p.html"], "file/p.html"),
        (&["--html", "p.pb.gz"], "cannot be the same file"),
        (&["--include", "a..b"], "error: --include: "),
        (
            &["--include", "x", "--include", "none"],
            "--include none cannot be combined",
        ),
        (
            &["--timing", "none"],
            "--timing none records nothing without --alloc",
        ),
    ] {
        let mut command = loadhook(folder.path(), &["attach", &pid]);
        if options[0] != "-o" {
            command.args(["-o", "p.pb.gz"]);
        }
        done(command.args(options)).expect(1, "", &[said]);
    }
    assert_eq!(names(folder.path()), ["file"]);
    assert!(!Path::new(&format!("/tmp/.java_pid{pid}")).exists());
    let mut sleeper = Command::new("sleep")
        .arg("1000")
        .spawn()
        .expect("sleep starts");
    let other = sleeper.id().to_string();
    let result = done(&mut attach(folder.path(), &other, &[]));
    sleeper.kill().expect("the process is alive");
    sleeper.wait().expect("the process ends");
    result.expect(
        1,
        "",
        &[&format!("error: process {other} is not a HotSpot JVM: ")],
    );
    let result = done(&mut attach(folder.path(), &other, &[]));
    result.expect(1, "", &[&format!("error: there is no process {other}\n")]);
    jvm.ends_well();
}

#[test]
fn jvms_that_load_no_agents_are_refused() {
    for option in [
        "-XX:+DisableAttachMechanism",
        "-XX:-EnableDynamicAgentLoading",
    ] {
        // Without performance data, the command learns the reason from the JVM's answer.
        for data in ["-XX:+UsePerfData", "-XX:-UsePerfData"] {
            if option.contains("Disable") && data.contains('-') {
                continue;
            }
            let jvm = looping(17, &[option, data]);
            let folder = folder();
            let result = done(&mut attach(folder.path(), &jvm.pid(), INCLUDE));
            assert_eq!(result.code, Some(1), "{}", result.err);
            assert!(result.err.contains(&option[5..]), "{}", result.err);
            nothing_is_left(&jvm.pid());
            jvm.ends_well();
        }
    }
}

/// The other user may not be able to read the agent's library, so the command copies it to the `/tmp` of the process.
#[test]
fn the_jvm_of_another_user_is_watched() {
    needs_root();
    let folder = folder();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let mut command = Command::new(java.get_program());
    command.uid(65_534).gid(65_534).arg("-cp").arg(classes());
    let jvm = Held::wait(command.arg("watched.Looping"));
    let options = [INCLUDE, &["--duration", "500ms"]].concat();
    // The second time, the library is still loaded, but its file is gone.
    for _ in 0..2 {
        let result = done(&mut attach(folder.path(), &jvm.pid(), &options));
        result.expect(0, "", &["watched.Looping.step"]);
        nothing_is_left(&jvm.pid());
    }
    jvm.ends_well();
}

#[test]
fn a_jvm_in_a_container_is_watched() {
    needs_root();
    let java = Jdk::find(17).expect("JDK 17 is installed").java();
    let (jvm, pid) = in_container(&java, &classes(), "rw", &["watched.Looping"]);
    let folder = folder();
    // The second time, the library is still loaded, but its file is gone.
    for _ in 0..2 {
        let watching = Watching::start(folder.path(), &pid, INCLUDE);
        assert_eq!(left_over(&pid, "1").len(), 1);
        let second = done(&mut attach(folder.path(), &pid, INCLUDE));
        second.expect(1, "", &[" is watched by loadhook attach (process "]);
        works(&jvm, &pid);
        send(&watching.command, Signal::INT);
        let result = watching.end();
        result.expect(0, "", &["watched.Looping.step"]);
        assert_eq!(left_over(&pid, "1"), [""; 0]);
    }
    jvm.ends_well();
    let (jvm, pid) = in_container(&java, &classes(), "ro", &["watched.Looping"]);
    let result = done(&mut attach(folder.path(), &pid, INCLUDE));
    let said = format!("error: cannot make a folder in /tmp of process {pid}");
    result.expect(1, "", &[&said]);
    jvm.ends_well();
}
