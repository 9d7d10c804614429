//! JVMs that hold objects and wait while their heap is dumped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{paths, process, source};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, geteuid, kill_process, waitid};
use tempfile::TempDir;

use super::{Done, done, ended, folder, in_environment, loadhook};

/// Returns the folder of the programs' class files.
pub(crate) fn classes() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/heap");
    let programs = [
        "Crowd.java",
        "Defining.java",
        "Held.java",
        "Leaking.java",
        "Parked.java",
        "Walked.java",
    ];
    let sources = programs.map(|program| folder.join(program));
    let compiled = source::compile_once("heap", &sources, |javac| {
        javac.args(["--release", "11"]).args(&sources);
        Ok(())
    });
    compiled.expect("the programs compile")
}

/// A JVM that holds objects and waits, in a folder of its own. Dropping this value ends the JVM.
pub(crate) struct Held(pub(crate) Child, pub(crate) TempDir, process::Limit);

impl Held {
    pub(crate) fn start(feature: u32, options: &[&str], objects: u32) -> Held {
        Held::program(feature, options, &["heap.Held", &objects.to_string()])
    }

    /// Starts one of the programs, and waits for the line that it prints when it is ready.
    pub(crate) fn program(feature: u32, options: &[&str], program: &[&str]) -> Held {
        let java = Jdk::find(feature).expect("the JDK is installed").java();
        let mut command = Command::new(java.get_program());
        command.args(options);
        Held::wait(command.arg("-cp").arg(classes()).args(program))
    }

    /// Starts a command, and waits for the line that it prints when it is ready.
    pub(crate) fn wait(command: &mut Command) -> Held {
        let folder = folder();
        command.current_dir(folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the process starts");
        let limit = process::limit(&child);
        let mut line = String::new();
        let out = child.stdout.take().expect("the stream is a pipe");
        let mut out = BufReader::new(out);
        out.read_line(&mut line).expect("the program prints a line");
        assert_eq!(line, "waiting\n");
        child.stdout = Some(out.into_inner());
        Held(child, folder, limit)
    }

    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }

    pub(crate) fn send(&self, signal: Signal) {
        send(&self.0, signal);
    }

    /// Checks that the JVM was not affected: it ends by itself, has printed nothing more, and no
    /// file of the command is left.
    pub(crate) fn ends_well(mut self) {
        assert_eq!(names(self.1.path()), [""; 0]);
        drop(self.0.stdin.take());
        let stdout = self.0.stdout.take().expect("the stream is a pipe");
        let rest: Vec<String> = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .collect();
        assert_eq!(rest, Vec::<String>::new());
        assert_eq!(self.0.wait().expect("the process ends").code(), Some(0));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("the process id is valid");
    kill_process(pid, signal).expect("the process is alive");
}

/// Makes the command `loadhook heap PID -o FILE OPTION…`.
pub(crate) fn dump(folder: &Path, pid: &str, file: &str, options: &[&str]) -> Command {
    let mut command = loadhook(folder, &["heap", pid, "-o", file]);
    command.args(options);
    command
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    paths::names(folder).expect("the test folder can be listed")
}

pub(crate) fn has(dump: &[u8], text: &str) -> bool {
    dump.windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// Returns whether the bytes are one complete dump.
pub(crate) fn is_whole(dump: &[u8]) -> bool {
    let mut rest = dump
        .strip_prefix(b"JAVA PROFILE 1.0.2\0")
        .expect("the file begins like a heap dump");
    rest = &rest[12..];
    while let [tag, _, _, _, _, a, b, c, d, body @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if *tag == 0x2c {
            return length == 0 && body.is_empty();
        }
        rest = &body[length..];
    }
    false
}

/// Starts a JVM in a container: with process ids of its own, and with a `/tmp` of its own that is mounted `ro` or `rw`.
/// Returns the parent of the JVM, and the process id that the JVM has outside of the container.
pub(crate) fn in_container(
    java: &Command,
    classes: &Path,
    tmp: &str,
    program: &[&str],
) -> (Held, String) {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]);
    // The class files may be below /tmp, so they get another name.
    let script =
        r#"mount --bind "$1" /mnt && mount -t tmpfs -o "$2" tmpfs /tmp && shift 2 && exec "$@""#;
    command.args(["sh", "-c", script, "sh"]);
    command.arg(classes).arg(tmp);
    command.arg(java.get_program()).args(["-cp", "/mnt"]);
    let jvm = Held::wait(command.args(program));
    let children = format!("/proc/{0}/task/{0}/children", jvm.pid());
    let children = fs::read_to_string(children).expect("the process is alive");
    (jvm, children.trim().to_owned())
}

/// Fails unless the test runs as root, which is needed to act as another user.
pub(crate) fn needs_root() {
    assert!(
        geteuid().is_root(),
        "run this test as root: it acts as another user"
    );
}

/// Waits until `holds` returns true or the command has ended. The ended command is not reaped, so its
/// process id stays valid for signals.
pub(crate) fn until(command: &Child, mut holds: impl FnMut() -> bool) {
    let _limit = process::limit(command);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let has_ended = || {
        waitid(WaitId::Pid(Pid::from_child(command)), options)
            .expect("the command can be waited for")
    };
    while !holds() && has_ended().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until the staging folder exists. Also returns when the command has ended, because a short
/// command may end before the folder is noticed.
pub(crate) fn begun(folder: &Path, command: &Child) {
    until(command, || {
        names(folder).iter().any(|name| name.contains(".part-"))
    });
}

pub(crate) fn spawned(command: &mut Command) -> Child {
    // The command gets a process group of its own, so that a signal to it is not taken for one from
    // a terminal.
    command
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the process starts")
}

/// Kills a JVM while the command with these options dumps its heap. The dump file that existed
/// before must stay as it was.
pub(crate) fn dump_of_killed(feature: u32, options: &[&str]) {
    let folder = folder();
    let file = folder.path().join("h");
    loop {
        fs::write(&file, "what was there").expect("the test file can be written");
        let mut jvm = Held::start(feature, &[], 400_000);
        let loadhook = spawned(&mut dump(folder.path(), &jvm.pid(), "h", options));
        begun(folder.path(), &loadhook);
        jvm.send(Signal::KILL);
        jvm.0.wait().expect("the process ends");
        let result = outcome(loadhook);
        assert_eq!(names(folder.path()), ["h"]);
        if result.code == Some(0) {
            // The command ended before the JVM was killed, so this run shows nothing.
            continue;
        }
        let said = format!(
            "error: h: process {} ended before it had answered\n",
            jvm.pid()
        );
        result.expect(1, "", &[&said]);
        let there = fs::read_to_string(&file);
        assert_eq!(there.expect("the file exists"), "what was there");
        break;
    }
}

/// Sends a signal to the command with these options while it dumps the heap of a JVM. No file of
/// the command may be left, and the next command must get its answer.
pub(crate) fn interrupted_dump(jvm: &Held, options: &[&str], signal: Signal, code: i32) {
    let folder = folder();
    let mut inner = dump(folder.path(), &jvm.pid(), "h", options);
    let result = loop {
        let mut command = in_environment(Path::new("env"), folder.path());
        command.arg("--default-signal=HUP,INT,TERM");
        command.arg(inner.get_program()).args(inner.get_args());
        let loadhook = spawned(&mut command);
        begun(folder.path(), &loadhook);
        jvm.send(Signal::STOP);
        send(&loadhook, signal);
        let result = outcome(loadhook);
        jvm.send(Signal::CONT);
        if result.code != Some(0) {
            break result;
        }
        // The command ended before the signal was sent, so this run shows nothing.
        fs::remove_file(folder.path().join("h")).expect("the test file can be removed");
    };
    result.expect(code, "", &["loadhook: interrupted; "]);
    assert_eq!(names(folder.path()), [""; 0]);
    // The JVM answers one command after the other. This answer means that it has finished the
    // earlier one.
    done(&mut inner).expect(0, "", &[]);
    assert_eq!(names(folder.path()), ["h"]);
}

pub(crate) fn outcome(child: Child) -> Done {
    ended(process::end(child).expect("the process ends"))
}
