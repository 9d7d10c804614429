//! Attach commands to a running HotSpot JVM.
//!
//! The JVM opens a socket when it gets a SIGQUIT and a file `.attach_pid…` exists. Without the
//! file, the JVM prints the stacks of all threads. A process that does not handle SIGQUIT is killed
//! by it. So SIGQUIT is sent only to a HotSpot JVM that handles it.

mod connection;
mod open_folder;
mod performance_data;
mod platform;
mod process;
mod staging;
mod trigger;

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use self::open_folder::OpenFolder;
use self::performance_data::PerformanceData;
use self::trigger::Trigger;
use crate::output::say;
use crate::users;

pub(crate) use self::connection::{Connection, connect_to};
pub(crate) use self::process::Process;
pub(crate) use self::staging::StagingDir;

/// Interval between two calls of `go_on` while waiting.
const PERIOD: Duration = Duration::from_millis(100);

/// The time to wait for a JVM that another process has already signalled.
const OTHERS: Duration = Duration::from_secs(2);

/// The longest argument that JVMs accept, in bytes.
pub(crate) const LONGEST_ARGUMENT: usize = 1024;

/// A process that runs HotSpot and accepts attach commands.
pub(crate) struct Jvm {
    process: Process,
    /// A handle of the process, since its id can be reused by another process.
    handle: OwnedFd,
    /// The folder `/tmp` of the process.
    tmp: OpenFolder,
}

/// The JVM's answer to a command.
pub(crate) struct Answer {
    /// True if the JVM accepted the command. The command can still fail.
    pub(crate) accepted: bool,
    pub(crate) text: String,
}

impl Answer {
    /// Returns the value that an agent's function returned; `None` if the JVM did not call the
    /// function.
    pub(crate) fn returned(&self) -> Option<i32> {
        let mut lines = self.text.lines();
        let code = lines.find_map(|line| line.trim().strip_prefix("return code:"))?;
        code.trim().parse().ok()
    }

    /// Returns the text in one line.
    pub(crate) fn one_line(&self) -> String {
        let lines: Vec<&str> = self.text.lines().map(str::trim).collect();
        lines.join(" ").trim().to_owned()
    }
}

impl Jvm {
    /// Finds the JVM of a process, without sending anything to it.
    pub(crate) fn of(pid: u32) -> Result<Jvm> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let (Some(number), true) = (number, Path::new(&format!("/proc/{pid}")).exists()) else {
            bail!("there is no process {pid}");
        };
        let handle = pidfd_open(number, PidfdFlags::empty())
            .with_context(|| format!("cannot open process {pid}"))?;
        let process = Process::read(pid)?;
        check_rights(&process)?;
        let tmp = process
            .open_tmp()
            .with_context(|| format!("cannot open /tmp of process {pid}"))?;
        let jvm = Jvm {
            process,
            handle,
            tmp,
        };
        let mapped = jvm
            .process
            .mapped_files()
            .with_context(|| format!("cannot read the memory map of process {pid}"))?;
        if !mapped.has_hotspot() && mapped.has_jvm() {
            bail!("process {pid} runs another JVM than HotSpot; loadhook works only with HotSpot");
        }
        if !mapped.has_hotspot() {
            bail!("process {pid} is not a HotSpot JVM: it has not loaded libjvm.so");
        }
        if jvm.process.is_stopped {
            bail!(
                "process {pid} is stopped and cannot answer; continue it first (kill -CONT {pid})"
            );
        }
        Ok(jvm)
    }

    /// Returns the id of the process outside of its container.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid
    }

    /// Returns the id of the process inside its container.
    pub(crate) fn own_pid(&self) -> u32 {
        self.process.own_pid
    }

    /// Returns the PID namespace in which the process has its [own id](Self::own_pid); `None` if it
    /// cannot be read.
    pub(crate) fn pid_namespace(&self) -> Option<String> {
        let name = fs::read_link(self.process.path("ns/pid")).ok()?;
        Some(name.display().to_string())
    }

    /// Returns the effective user of the JVM.
    pub(crate) fn user(&self) -> u32 {
        self.process.user
    }

    /// Returns the number of the JVM's effective user inside the JVM's user namespace.
    pub(crate) fn own_user(&self) -> u32 {
        self.process.own_user
    }

    /// Returns the folder `/tmp` of the process.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.tmp.path()
    }

    /// Returns the root folder of the process.
    pub(crate) fn root(&self) -> PathBuf {
        self.process.path("root")
    }

    /// Returns whether the absolute `path` leads the process to the file or folder with this metadata. In a container
    /// the same path may lead to another file.
    pub(crate) fn sees(&self, path: &Path, what: &Metadata) -> bool {
        let below = path.strip_prefix("/").unwrap_or(path);
        let seen = fs::metadata(self.root().join(below));
        seen.is_ok_and(|seen| (seen.dev(), seen.ino()) == (what.dev(), what.ino()))
    }

    /// Returns the path, as the process sees it, of a library that it has loaded. The file may be
    /// gone: the dynamic linker finds a loaded library by this name.
    pub(crate) fn loaded(&self, library: &str) -> Option<PathBuf> {
        let path = self.process.mapped_files().ok()?.find(library)?;
        let name = path.strip_suffix(" (deleted)").unwrap_or(&path);
        Some(PathBuf::from(name))
    }

    /// Returns whether the process is stopped now, by SIGSTOP or a debugger.
    pub(crate) fn is_stopped(&self) -> bool {
        Process::read(self.process.pid).is_ok_and(|process| process.is_stopped)
    }

    pub(crate) fn has_ended(&self) -> bool {
        // The link is also unreadable if the process is a zombie.
        fs::read_link(self.process.path("exe"))
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Sends a command, and waits for the answer as long as `go_on` returns true. The JVM must open its
    /// socket within `patience`. `go_on` is called ten times a second. When it returns false, the result
    /// is `None`.
    pub(crate) fn execute(
        &self,
        words: [&OsStr; 4],
        patience: Duration,
        go_on: impl FnMut() -> bool,
    ) -> Result<Option<Answer>> {
        match self.try_execute(words, patience, go_on) {
            // If the process has ended, report that instead of the failure that it caused.
            Err(_) if self.has_ended() => {
                bail!("process {} ended before it had answered", self.process.pid)
            }
            result => result,
        }
    }

    fn try_execute(
        &self,
        words: [&OsStr; 4],
        patience: Duration,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Option<Answer>> {
        if words.iter().any(|word| word.len() > LONGEST_ARGUMENT) {
            bail!(
                "the JVM accepts no argument of more than {LONGEST_ARGUMENT} bytes; use a shorter path"
            );
        }
        if !go_on() {
            return Ok(None);
        }
        let Some(mut stream) = self.listening(patience, &mut go_on)? else {
            return Ok(None);
        };
        // The version of the protocol, then the command and its arguments.
        let mut order = b"1\0".to_vec();
        for word in words {
            order.extend_from_slice(word.as_bytes());
            order.push(0);
        }
        let lost = || format!("process {} gave no answer", self.process.pid);
        stream.write_all(&order).with_context(lost)?;
        stream.set_read_timeout(Some(PERIOD)).with_context(lost)?;
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => answer.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                    // The connection breaks if the process is killed.
                    io::ErrorKind::ConnectionReset => break,
                    _ => return Err(error).with_context(lost),
                },
            }
            if !go_on() {
                return Ok(None);
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        match answer.split_once('\n') {
            Some((code, text)) if code.parse::<i32>().is_ok() => Ok(Some(Answer {
                accepted: code == "0",
                text: text.to_owned(),
            })),
            _ => bail!(
                "process {} closed the connection: its JVM refuses commands from user {}; run loadhook as the user of the process",
                self.process.pid,
                geteuid().as_raw()
            ),
        }
    }

    /// Connects to the JVM. If the JVM does not listen yet, makes it listen by the trigger file and
    /// SIGQUIT.
    fn listening(
        &self,
        patience: Duration,
        go_on: &mut impl FnMut() -> bool,
    ) -> Result<Option<UnixStream>> {
        let Process { own_pid, user, .. } = self.process;
        let working_folder = OpenFolder::open(&self.process.path("cwd")).ok();
        let trigger = Trigger::new(working_folder, &self.tmp, own_pid, user);
        let mut start = Instant::now();
        loop {
            match self.connect()? {
                Connection::None => break,
                Connection::Made(stream) => {
                    // The trigger file of an earlier attempt may be left.
                    trigger.remove();
                    return Ok(Some(stream));
                }
                // The JVM listens already, so a signal would make it print its stacks.
                Connection::Full if start.elapsed() > patience => bail!(
                    "process {} is busy with other attach commands, and did not accept another within {} s; try again later",
                    self.process.pid,
                    patience.as_secs()
                ),
                Connection::Full => thread::sleep(PERIOD),
            }
            if !go_on() {
                return Ok(None);
            }
        }
        self.check_listens()?;
        let is_first = trigger.set()?;
        let mut is_asked = false;
        start = Instant::now();
        loop {
            let connection = self.connect()?;
            // The JVM listens now, so it needs no signal.
            is_asked |= matches!(connection, Connection::Full);
            if let Connection::Made(stream) = connection {
                trigger.remove();
                return Ok(Some(stream));
            }
            if self.has_ended() {
                trigger.remove();
                bail!("process {} has ended", self.process.pid);
            }
            // Do not signal again: if the JVM has begun to listen, a second signal would make it
            // print its stacks.
            if !is_asked && (is_first || start.elapsed() > OTHERS) {
                pidfd_send_signal(&self.handle, Signal::QUIT)
                    .with_context(|| format!("process {}", self.process.pid))?;
                is_asked = true;
            }
            let goes_on = go_on();
            if goes_on && start.elapsed() <= patience {
                thread::sleep(PERIOD);
                continue;
            }
            // Leave the file, since without it the JVM would print its stacks when it handles the
            // signal later.
            say!(
                "loadhook: process {} has not reacted to SIGQUIT yet; the file {} stays in its working folder or in /tmp until a later loadhook command reaches the JVM",
                self.process.pid,
                trigger.name
            );
            if !goes_on {
                return Ok(None);
            }
            bail!(
                "process {} did not open its attach socket within {} s; if the process is overloaded, try again later",
                self.process.pid,
                patience.as_secs()
            );
        }
    }

    /// Returns the path of the attach socket, which exists from the first command on.
    fn socket(&self) -> PathBuf {
        let name = format!(".java_pid{}", self.process.own_pid);
        self.tmp().join(name)
    }

    fn connect(&self) -> Result<Connection> {
        let path = self.socket();
        let name = || path.display().to_string();
        let there = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Connection::None);
            }
            there => there.with_context(name)?,
        };
        // Every user can create a file with this name.
        if !there.file_type().is_socket() || ![self.process.user, 0].contains(&there.uid()) {
            bail!(
                "{}: not the attach socket of this JVM; ask the owner of this file or root to remove it",
                name()
            );
        }
        connect_to(&path).with_context(name)
    }

    /// Refuses a JVM that would not load the agent, without sending anything to it.
    pub(crate) fn check_loads_agents(&self) -> Result<()> {
        if !self.socket().exists() {
            self.check_listens()?;
        }
        platform::check(&self.process)?;
        let arguments = self
            .performance_data()
            .and_then(|data| data.text("java.rt.vmArgs"));
        let forbids = |word: &str| word == "-XX:-EnableDynamicAgentLoading";
        if arguments.is_some_and(|arguments| arguments.split(' ').any(forbids)) {
            bail!(
                "process {} loads no agents: it was started with -XX:-EnableDynamicAgentLoading; start it without this option, or under loadhook run",
                self.process.pid
            );
        }
        Ok(())
    }

    /// Returns the performance data, if the JVM writes any.
    pub(crate) fn performance_data(&self) -> Option<PerformanceData> {
        self.process.performance_data()
    }

    /// Refuses a process that would not open its socket in response to the signal.
    fn check_listens(&self) -> Result<()> {
        let pid = self.process.pid;
        // The process may have changed since it was found.
        let process = Process::read(pid)?;
        if !process.handles(Signal::QUIT.as_raw()) {
            bail!(
                "process {pid} does not handle SIGQUIT, the signal that makes a JVM open its attach socket; if the process is still starting, try again; if its socket in /tmp was removed, restart the process"
            );
        }
        let data = self.performance_data();
        if data.is_some_and(|data| !data.accepts_commands()) {
            bail!(
                "process {pid} accepts no attach commands: it was started with -XX:+DisableAttachMechanism; start it without this option"
            );
        }
        Ok(())
    }
}

/// Fails if the JVM would refuse commands from this command's user. A JVM accepts them from its own
/// user, and from root of its user namespace.
fn check_rights(process: &Process) -> Result<()> {
    let us = geteuid().as_raw();
    let Process { pid, user, .. } = process;
    if us == *user {
        return Ok(());
    }
    let name = users::name(*user);
    if us != 0 {
        bail!(
            "process {pid} belongs to user {name}; run loadhook as that user or as root (sudo -u {name} loadhook …)"
        );
    }
    let users = |of: &str| fs::read_link(format!("/proc/{of}/ns/user"));
    if users("self")? != users(&pid.to_string())? {
        bail!("process {pid} is in another user namespace; run loadhook as user {name}");
    }
    Ok(())
}
