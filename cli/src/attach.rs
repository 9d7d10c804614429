//! Orders to a running HotSpot VM, by its attach mechanism.
//!
//! The VM opens a socket when a SIGQUIT comes and a file `.attach_pid…` is
//! there. Without the file it prints the stacks of all threads, and a process
//! that does not handle the signal dies of it. So it goes only to a process
//! that is seen to be such a VM and to handle it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use crate::output::say;
use crate::signals::status_value;

/// How often whoever waits is asked whether to go on.
const PERIOD: Duration = Duration::from_millis(100);

/// How long a VM may take to open its socket: it cannot while it collects.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait for a VM that another one has asked already.
const OTHERS: Duration = Duration::from_secs(2);

/// The longest argument that VMs take, in bytes.
const LONGEST: usize = 1024;

/// A process that runs HotSpot and may be given orders.
pub(crate) struct Jvm {
    pid: u32,
    /// The same process for ever: a number can become another's.
    process: OwnedFd,
    /// Its number as it knows it: containers count anew.
    own_pid: u32,
    user: u32,
}

/// What a VM said to an order.
pub(crate) struct Answer {
    /// Whether it was taken; not that it went well.
    pub(crate) accepted: bool,
    pub(crate) text: String,
}

impl Jvm {
    /// Finds the VM of a process, and sends nothing.
    pub(crate) fn of(pid: u32) -> Result<Jvm> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let (Some(number), true) = (number, proc.exists()) else {
            bail!("there is no process {pid}");
        };
        let process = pidfd_open(number, PidfdFlags::empty())
            .with_context(|| format!("cannot open process {pid}"))?;
        let status = fs::read_to_string(proc.join("status"))
            .with_context(|| format!("process {pid} has ended"))?;
        let user = numbers(&status, "Uid:").nth(1);
        let own_pid = numbers(&status, "NSpid:").last();
        let (Some(user), Some(own_pid)) = (user, own_pid) else {
            bail!("cannot read user and process id of process {pid} from /proc");
        };
        let jvm = Jvm {
            pid,
            process,
            own_pid,
            user,
        };
        jvm.check_rights()?;
        let maps = fs::read(proc.join("maps"))
            .with_context(|| format!("cannot read the memory map of process {pid}"))?;
        if !is_hotspot(&maps) {
            bail!("process {pid} is not a HotSpot JVM: it has not loaded libjvm.so");
        }
        if status_value(&status, "State:").is_some_and(|state| state.starts_with(['T', 't'])) {
            bail!(
                "process {pid} is stopped and cannot answer; continue it first (kill -CONT {pid})"
            );
        }
        Ok(jvm)
    }

    /// The VM takes orders from its own user, and from root as its container has one.
    fn check_rights(&self) -> Result<()> {
        let us = geteuid().as_raw();
        if us == self.user {
            return Ok(());
        }
        if us != 0 {
            bail!(
                "process {} belongs to user {}; run loadhook as that user or as root",
                self.pid,
                self.user
            );
        }
        let users = |of: &str| fs::read_link(format!("/proc/{of}/ns/user"));
        if users("self")? != users(&self.pid.to_string())? {
            bail!(
                "process {} is in another user namespace; run loadhook as user {}",
                self.pid,
                self.user
            );
        }
        Ok(())
    }

    /// Its process, as we number it.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// The effective user that the VM runs as.
    pub(crate) fn user(&self) -> u32 {
        self.user
    }

    /// What is `/` for the process.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("root")
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid))
    }

    fn has_ended(&self) -> bool {
        // Of a dead process that nobody waited for, too.
        fs::read_link(self.path("exe")).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Gives an order, and waits for the answer as long as `go_on` says so;
    /// `None` if it says no. It is asked ten times a second.
    pub(crate) fn order(
        &self,
        words: [&OsStr; 4],
        go_on: impl FnMut() -> bool,
    ) -> Result<Option<Answer>> {
        match self.try_order(words, go_on) {
            // Whatever it was that failed of it.
            Err(_) if self.has_ended() => {
                bail!("process {} ended before the dump was done", self.pid)
            }
            result => result,
        }
    }

    fn try_order(
        &self,
        words: [&OsStr; 4],
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Option<Answer>> {
        if words.iter().any(|word| word.len() > LONGEST) {
            bail!("the JVM takes no argument longer than {LONGEST} bytes; use a shorter path");
        }
        if !go_on() {
            return Ok(None);
        }
        let Some(mut stream) = self.listening(&mut go_on)? else {
            return Ok(None);
        };
        // The version of the protocol, then the command and its arguments.
        let mut order = b"1\0".to_vec();
        for word in words {
            order.extend_from_slice(word.as_bytes());
            order.push(0);
        }
        let lost = || format!("process {} gave no answer", self.pid);
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
                    // Of a process that was killed.
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
                self.pid,
                geteuid().as_raw()
            ),
        }
    }

    /// A connection to the VM, which is made to listen if it does not yet.
    fn listening(&self, go_on: &mut impl FnMut() -> bool) -> Result<Option<UnixStream>> {
        let trigger = Trigger::of(self);
        let mut start = Instant::now();
        loop {
            match self.connect()? {
                Connection::None => break,
                Connection::Made(stream) => {
                    // One that was left may be there.
                    trigger.remove();
                    return Ok(Some(stream));
                }
                // It listens: a signal would have it print its stacks.
                Connection::Full if start.elapsed() > PATIENCE => bail!(
                    "process {} is busy with other attach commands, and took no more within {} s; try again later",
                    self.pid,
                    PATIENCE.as_secs()
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
            // It listens since.
            is_asked |= matches!(connection, Connection::Full);
            if let Connection::Made(stream) = connection {
                trigger.remove();
                return Ok(Some(stream));
            }
            if self.has_ended() {
                trigger.remove();
                bail!("process {} has ended", self.pid);
            }
            // A second signal to a VM that listens by then has it print its stacks.
            if !is_asked && (is_first || start.elapsed() > OTHERS) {
                pidfd_send_signal(&self.process, Signal::QUIT)
                    .with_context(|| format!("process {}", self.pid))?;
                is_asked = true;
            }
            let goes_on = go_on();
            if goes_on && start.elapsed() <= PATIENCE {
                thread::sleep(PERIOD);
                continue;
            }
            // Without the file, the VM would print its stacks when it sees the
            // signal at last.
            say!(
                "loadhook: process {} has not reacted to SIGQUIT yet: {} stays in its folder, or in /tmp, until it does",
                self.pid,
                trigger.name
            );
            if !goes_on {
                return Ok(None);
            }
            bail!(
                "process {} did not open its attach socket within {} s; is it stopped or overloaded?",
                self.pid,
                PATIENCE.as_secs()
            );
        }
    }

    fn connect(&self) -> Result<Connection> {
        let path = self.path(&format!("root/tmp/.java_pid{}", self.own_pid));
        let name = || path.display().to_string();
        let there = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Connection::None);
            }
            there => there.with_context(name)?,
        };
        // Everybody may put something there.
        if !there.file_type().is_socket() || ![self.user, 0].contains(&there.uid()) {
            bail!("{}: not a socket of the JVM's", name());
        }
        connect_to(&path).with_context(name)
    }

    /// Refuses a process that would not take the signal for a call to listen.
    fn check_listens(&self) -> Result<()> {
        let status = fs::read_to_string(self.path("status")).unwrap_or_default();
        let caught = status_value(&status, "SigCgt:");
        let caught = caught.and_then(|mask| u64::from_str_radix(mask, 16).ok());
        if caught.unwrap_or(0) & (1 << (Signal::QUIT.as_raw() - 1)) == 0 {
            bail!(
                "process {} does not handle SIGQUIT, which asks it to open its attach socket: it is still starting, or its socket in /tmp was removed",
                self.pid
            );
        }
        if self.performance_data().is_some_and(|data| is_closed(&data)) {
            bail!(
                "process {} accepts no attach commands: it was started with -XX:+DisableAttachMechanism",
                self.pid
            );
        }
        Ok(())
    }

    /// What `jps` reads too; not all VMs write it.
    fn performance_data(&self) -> Option<Vec<u8>> {
        let name = self.own_pid.to_string();
        let folders = fs::read_dir(self.path("root/tmp")).ok()?.flatten();
        let mut files = folders
            .filter(|folder| folder.file_name().as_bytes().starts_with(b"hsperfdata_"))
            .map(|folder| folder.path().join(&name));
        files.find_map(|path| {
            let mut options = File::options();
            // No pipe may hold us up.
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
            let file = options.read(true).custom_flags(flags.bits().cast_signed());
            let file = file.open(path).ok()?;
            let metadata = file.metadata().ok()?;
            let is_its = metadata.is_file() && metadata.uid() == self.user;
            let mut data = Vec::new();
            // 32 KB unless told otherwise.
            let read = is_its.then(|| file.take(1 << 20).read_to_end(&mut data))?;
            read.is_ok().then_some(data)
        })
    }
}

/// What came of an attempt to connect.
enum Connection {
    Made(UnixStream),
    /// Nobody listens.
    None,
    /// Somebody listens, and has let as many wait as may.
    Full,
}

/// Connects without waiting.
fn connect_to(path: &Path) -> io::Result<Connection> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) => {
            let stream = UnixStream::from(socket);
            stream.set_nonblocking(false)?;
            Ok(Connection::Made(stream))
        }
        Err(Errno::AGAIN) => Ok(Connection::Full),
        // Of an earlier process with this number, or not yet bound.
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(Connection::None),
        Err(error) => Err(error.into()),
    }
}

/// The file that makes a signal a call to listen.
struct Trigger {
    name: String,
    /// The VM's.
    user: u32,
    /// Where the VM looks for it, in this order; open, since the paths there
    /// end with the process.
    folders: Vec<File>,
}

impl Trigger {
    fn of(jvm: &Jvm) -> Trigger {
        let folders = ["cwd", "root/tmp"].map(|folder| File::open(jvm.path(folder)));
        Trigger {
            name: format!(".attach_pid{}", jvm.own_pid),
            user: jvm.user,
            folders: folders.into_iter().flatten().collect(),
        }
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.folders.iter().map(AsRawFd::as_raw_fd);
        folders.map(|folder| PathBuf::from(format!("/proc/self/fd/{folder}/{}", self.name)))
    }

    /// Sets it; whether it was not there. If it was, another one asks at the same
    /// time, or gave up.
    fn set(&self) -> Result<bool> {
        let mut result = Err(io::ErrorKind::NotFound.into());
        for path in self.paths() {
            result = self.make(&path);
            match &result {
                Ok(_) => break,
                // The VM would look no further.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => break,
                Err(_) => {}
            }
        }
        result.with_context(|| self.name.clone())
    }

    fn remove(&self) {
        for path in self.paths() {
            let _ = fs::remove_file(path);
        }
    }

    /// One that is somebody else's, as of a process that had the number before,
    /// is none to the VM, which takes the signal for an order to print its
    /// stacks.
    fn make(&self, path: &Path) -> io::Result<bool> {
        if let Ok(there) = fs::symlink_metadata(path)
            && ![self.user, 0].contains(&there.uid())
            && fs::remove_file(path).is_err()
        {
            let message =
                "there is one that is neither the VM's user's nor root's, and it cannot be removed";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        match File::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
            Ok(file) if file.metadata()?.uid() == geteuid().as_raw() => Ok(true),
            // On a file system of a network it may be nobody's, which would not do.
            Ok(_) => {
                fs::remove_file(path)?;
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
    }
}

/// The numbers in a line of proc_pid_status(5).
fn numbers<'a>(status: &'a str, name: &str) -> impl Iterator<Item = u32> + use<'a> {
    let words = status_value(status, name).unwrap_or_default();
    words
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
}

/// Whether a process has HotSpot in it; OpenJ9 has a `libjvm.so` too, and takes
/// the signal for something else.
fn is_hotspot(maps: &[u8]) -> bool {
    let has = |library: &[u8]| {
        let mut lines = maps.split(|byte| *byte == b'\n');
        // Replaced on disk by an update: `… (deleted)`.
        lines.any(|line| {
            let file = line.rsplit(|byte| *byte == b'/').next();
            line.contains(&b'/') && file.is_some_and(|file| file.starts_with(library))
        })
    };
    has(b"libjvm.so") && !has(b"libj9vm")
}

/// Whether a VM's performance data say that it takes no orders: the first of
/// its capabilities.
fn is_closed(data: &[u8]) -> bool {
    const NAME: &[u8] = b"sun.rt.jvmCapabilities\0";
    let found = data.windows(NAME.len()).position(|window| window == NAME);
    let value = found.and_then(|at| data.get(at + NAME.len()..));
    let first = value.and_then(|value| value.iter().find(|byte| **byte != 0));
    first == Some(&b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_are_not_taken_for_hotspot() {
        let line = |path: &str| format!("7f00-7f01 r-xp 0000 fe:01 7    {path}\n").into_bytes();
        let maps = |paths: &[&str]| {
            paths
                .iter()
                .flat_map(|path| line(path))
                .collect::<Vec<u8>>()
        };
        for (paths, is) in [
            (&["/usr/bin/cat", "[heap]"][..], false),
            (&["/opt/jdk/lib/server/libjvm.so", "[heap]"], true),
            (&["/opt/jdk/lib/server/libjvm.so (deleted)"], true),
            (&["/opt/libjvm.so.d/other.so"], false),
            (&["/j9/libjvm.so", "/j9/default/libj9vm29.so"], false),
            (&["libjvm.so"], false),
        ] {
            assert_eq!(is_hotspot(&maps(paths)), is, "{paths:?}");
        }
    }

    #[test]
    fn numbers_are_read_from_a_status() {
        let status = "Uid:\t5\t6\t7\t8\nNSpid:\t4711\t12\t1\n";
        assert_eq!(numbers(status, "Uid:").nth(1), Some(6));
        assert_eq!(numbers(status, "NSpid:").last(), Some(1));
        assert_eq!(numbers(status, "None:").last(), None);
    }

    #[test]
    fn a_closed_machine_says_so() {
        let data = |value: &str| format!("x\0sun.rt.jvmCapabilities\0\0\0{value}").into_bytes();
        assert!(is_closed(&data("01000")));
        assert!(!is_closed(&data("11000")));
        assert!(!is_closed(b"sun.rt.jvmCapabilities\0"));
        assert!(!is_closed(b""));
    }
}
