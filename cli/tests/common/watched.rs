//! A JVM that calls a method again and again, and `loadhook attach` that watches it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{process, source};

use super::held::{Held, spawned, until};
use super::{Done, loadhook};

pub(crate) fn classes() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/attach");
    let program = folder.join("watched/Looping.java");
    let compiled = source::compile_once("attach", std::slice::from_ref(&program), |javac| {
        javac.args(["--release", "11"]).arg(&program);
        Ok(())
    });
    compiled.expect("the program compiles")
}

/// Starts a JVM that calls a method again and again.
pub(crate) fn looping(feature: u32, options: &[&str]) -> Held {
    let java = Jdk::find(feature).expect("the JDK is installed").java();
    let mut command = Command::new(java.get_program());
    command.args(options).arg("-cp").arg(classes());
    Held::wait(command.arg("watched.Looping"))
}

/// Returns the processor time of the thread that loops, in hundredths of a second (proc_pid_stat(5)); `None` before the
/// thread has its name.
fn looped(pid: &str) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let stats = threads.flatten().map(|thread| thread.path().join("stat"));
    let mut stats = stats.filter_map(|stat| fs::read_to_string(stat).ok());
    let stat = stats.find(|stat| stat.contains(" (looping) "))?;
    let after_name = stat.rsplit(')').next()?;
    after_name.split_whitespace().nth(11)?.parse().ok()
}

/// Waits until the program has looped for another 0.1 s of processor time, however busy the machine is. `pid` is the
/// JVM's process id, which differs from that of `jvm` if the JVM is in a container.
pub(crate) fn works(jvm: &Held, pid: &str) {
    let before = looped(pid).unwrap_or(0);
    until(&jvm.0, || looped(pid) >= Some(before + 10));
}

/// Makes the command `loadhook attach PID -o p.pb.gz OPTION…`.
pub(crate) fn attach(folder: &Path, pid: &str, options: &[&str]) -> Command {
    let mut command = loadhook(folder, &["attach", pid, "-o", "p.pb.gz"]);
    command.args(options);
    command
}

pub(crate) const INCLUDE: &[&str] = &["--include", "watched.**"];

/// A `loadhook attach` that watches a JVM.
pub(crate) struct Watching {
    pub(crate) command: Child,
    pub(crate) said: String,
}

impl Watching {
    /// Starts the command, and waits until it says that it watches.
    pub(crate) fn start(folder: &Path, pid: &str, options: &[&str]) -> Watching {
        let mut command = spawned(&mut attach(folder, pid, options));
        let _limit = process::limit(&command);
        let stderr = command.stderr.take().expect("the stream is a pipe");
        let mut stderr = BufReader::new(stderr);
        let mut said = String::new();
        while !said.contains("loadhook: watching process ") {
            let read = stderr.read_line(&mut said).expect("the text is UTF-8");
            assert_ne!(read, 0, "{said}");
        }
        said += std::str::from_utf8(stderr.buffer()).expect("the text is UTF-8");
        command.stderr = Some(stderr.into_inner());
        Watching { command, said }
    }

    pub(crate) fn end(self) -> Done {
        let mut done = super::ended(process::end(self.command).expect("the process ends"));
        done.err = self.said + &done.err;
        done
    }
}
