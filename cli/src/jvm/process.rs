//! Facts about a process, from `/proc`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::open_folder::OpenFolder;
use super::performance_data::{PerformanceData, has_file};
use crate::signals::status_value;

/// A process, as its status describes it at one moment.
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The id of the process inside its container.
    pub(crate) own_pid: u32,
    /// The effective user.
    pub(crate) user: u32,
    /// The number of the effective user inside the process's user namespace.
    pub(crate) own_user: u32,
    /// True if the process is in a PID namespace below ours.
    pub(crate) is_in_namespace: bool,
    pub(super) is_stopped: bool,
    /// The signals that the process handles, as a bit mask.
    handled: u64,
}

impl Process {
    pub(crate) fn read(pid: u32) -> Result<Process> {
        let status = fs::read_to_string(path(pid, "status"))
            .with_context(|| format!("process {pid} has ended"))?;
        let user = numbers(&status, "Uid:").nth(1);
        let own_pid = numbers(&status, "NSpid:").last();
        let (Some(user), Some(own_pid)) = (user, own_pid) else {
            bail!("cannot read user and process id of process {pid} from /proc");
        };
        let state = status_value(&status, "State:").unwrap_or_default();
        let handled = status_value(&status, "SigCgt:");
        let handled = handled.and_then(|mask| u64::from_str_radix(mask, 16).ok());
        Ok(Process {
            pid,
            own_pid,
            user,
            own_user: own_user(
                user,
                &fs::read_to_string(path(pid, "uid_map")).unwrap_or_default(),
            ),
            is_in_namespace: numbers(&status, "NSpid:").count() > 1,
            is_stopped: state.starts_with(['T', 't']),
            handled: handled.unwrap_or(0),
        })
    }

    pub(super) fn handles(&self, signal: i32) -> bool {
        self.handled & (1 << (signal - 1)) != 0
    }

    /// Returns a file of the process in `/proc`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        path(self.pid, name)
    }

    /// Opens the folder `/tmp` of the process.
    pub(crate) fn open_tmp(&self) -> io::Result<OpenFolder> {
        OpenFolder::tmp_below(&self.path("root"))
    }

    /// Returns the performance data of the process, if it is a JVM that writes any.
    pub(crate) fn performance_data(&self) -> Option<PerformanceData> {
        let tmp = self.open_tmp().ok()?;
        PerformanceData::find(&tmp.path(), self.own_pid, self.user)
    }

    /// Returns whether the process looks like a JVM to a user who cannot read its memory map: it has
    /// a file of performance data, or its program is `java`.
    pub(crate) fn looks_like_jvm(&self, arguments: &[String]) -> bool {
        let program = arguments.first().map(Path::new);
        program.is_some_and(|program| program.file_name() == Some(OsStr::new("java")))
            || has_file(Path::new("/tmp"), self.own_pid, self.user)
    }

    /// Returns the command line.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let bytes = fs::read(self.path("cmdline")).unwrap_or_default();
        let words = bytes.split(|byte| *byte == 0);
        words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    }

    /// Returns the files that the process has mapped.
    pub(crate) fn mapped_files(&self) -> io::Result<MappedFiles> {
        fs::read(self.path("maps")).map(MappedFiles)
    }
}

fn path(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

/// Returns the number of a user inside the user namespace with this map (user_namespaces(7)). Each
/// line of the map has the first user inside, the first user outside, and the number of users.
fn own_user(user: u32, map: &str) -> u32 {
    let inside = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let (first, outside, len) = (
            numbers.next()?.ok()?,
            numbers.next()?.ok()?,
            numbers.next()?.ok()?,
        );
        let at = user.checked_sub(outside).filter(|at| *at < len)?;
        first.checked_add(at)
    };
    map.lines().find_map(inside).unwrap_or(user)
}

/// Returns the numbers in a line of proc_pid_status(5).
fn numbers<'a>(status: &'a str, name: &str) -> impl Iterator<Item = u32> + use<'a> {
    let words = status_value(status, name).unwrap_or_default();
    words
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
}

/// The contents of proc_pid_maps(5).
pub(crate) struct MappedFiles(Vec<u8>);

impl MappedFiles {
    /// Returns the path of the first file whose name begins with `start`. If an update replaced the
    /// file on disk, the path ends in ` (deleted)`.
    pub(crate) fn find(&self, start: &str) -> Option<String> {
        self.0.split(|byte| *byte == b'\n').find_map(|line| {
            let path = line.get(line.iter().position(|byte| *byte == b'/')?..)?;
            let name = path.rsplit(|byte| *byte == b'/').next()?;
            let is_it = name.starts_with(start.as_bytes());
            is_it.then(|| String::from_utf8_lossy(path).into_owned())
        })
    }

    /// Returns whether HotSpot is loaded. OpenJ9 also has a `libjvm.so`, but uses the signal for
    /// other purposes.
    pub(crate) fn has_hotspot(&self) -> bool {
        self.has_jvm() && self.find("libj9vm").is_none()
    }

    /// Returns whether any JVM is loaded.
    pub(crate) fn has_jvm(&self) -> bool {
        self.find("libjvm.so").is_some()
    }

    /// Returns the folder of the JDK whose JVM is loaded: the JVM is in `lib/server`
    /// or a similar folder below it.
    pub(crate) fn jdk(&self) -> Option<PathBuf> {
        let library = self.find("libjvm.so")?;
        Path::new(&library).ancestors().nth(3).map(Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_are_not_taken_for_hotspot() {
        let line = |path: &str| format!("7f00-7f01 r-xp 0000 fe:01 7    {path}\n").into_bytes();
        let maps = |paths: &[&str]| {
            let lines = paths.iter().flat_map(|path| line(path));
            MappedFiles(lines.collect())
        };
        for (paths, is) in [
            (&["/usr/bin/cat", "[heap]"][..], false),
            (&["/opt/jdk/lib/server/libjvm.so", "[heap]"], true),
            (&["/opt/jdk/lib/server/libjvm.so (deleted)"], true),
            (&["/opt/libjvm.so.d/other.so"], false),
            (&["/j9/libjvm.so", "/j9/default/libj9vm29.so"], false),
            (&["libjvm.so"], false),
        ] {
            assert_eq!(maps(paths).has_hotspot(), is, "{paths:?}");
        }
        let jdk = maps(&["/opt/a jdk/lib/server/libjvm.so"]).jdk();
        assert_eq!(jdk.as_deref(), Some(Path::new("/opt/a jdk")));
    }

    #[test]
    fn users_are_those_of_the_namespace() {
        let rootless = "         0       1000          1\n         1     100000      65536\n";
        for (user, map, own) in [
            (1000, "         0          0 4294967295\n", 1000),
            (1000, rootless, 0),
            (100_007, rootless, 8),
            (7, rootless, 7),
            (7, "", 7),
        ] {
            assert_eq!(own_user(user, map), own, "{map}");
        }
    }

    #[test]
    fn numbers_are_read_from_a_status() {
        let status = "Uid:\t5\t6\t7\t8\nNSpid:\t4711\t12\t1\n";
        assert_eq!(numbers(status, "Uid:").nth(1), Some(6));
        assert_eq!(numbers(status, "NSpid:").last(), Some(1));
        assert_eq!(numbers(status, "None:").last(), None);
    }
}
