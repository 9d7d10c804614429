//! The native threads of the process, in `/proc/self/task`.
//!
//! Short programs read these files at their start and end. So a file takes three system calls, unless it is long.

use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, open, openat};
use rustix::io::read;

/// Number of bytes that one call reads. Only `status` may be longer: it lists all groups of the process's user.
const PART: usize = 4096;

/// The folder of a process that has a folder for each native thread.
pub(crate) struct Tasks {
    folder: rustix::fd::OwnedFd,
}

impl Tasks {
    /// Opens the folder of this process; `None` if there is none.
    pub(crate) fn own() -> Option<Tasks> {
        Tasks::open(Path::new("/proc/self/task"))
    }

    pub(crate) fn open(folder: &Path) -> Option<Tasks> {
        let folder = open(folder, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Tasks { folder })
    }

    /// Returns the system ids of the threads.
    pub(crate) fn ids(&self) -> Vec<u32> {
        let Ok(entries) = Dir::read_from(&self.folder) else {
            return Vec::new();
        };
        let id = |entry: rustix::fs::DirEntry| entry.file_name().to_str().ok()?.parse().ok();
        entries.flatten().filter_map(id).collect()
    }

    /// Returns the text of a thread's file, such as `comm`; `None` if the thread has ended.
    pub(crate) fn text(&self, id: u32, file: &str) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.folder, format!("{id}/{file}"), flags, Mode::empty()).ok()?;
        let mut text = Vec::new();
        let mut part = [0; PART];
        loop {
            let len = read(&file, &mut part).ok()?;
            text.extend_from_slice(&part[..len]);
            if len < PART {
                return Some(String::from_utf8_lossy(&text).into_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_own_threads_are_read() {
        let tasks = Tasks::own().expect("Linux has this folder");
        let own = std::process::id();
        assert!(tasks.ids().contains(&own));
        let status = tasks.text(own, "status").expect("the main thread lives");
        assert!(status.ends_with('\n'), "{status}");
        assert_eq!(tasks.text(0, "status"), None);
        assert!(Tasks::open(Path::new("/nowhere")).is_none());
    }

    /// A user of a directory service may be in hundreds of groups. `SigBlk` comes after them.
    #[test]
    fn a_file_of_several_parts_is_read_to_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let tasks = Tasks::open(folder.path()).expect("the folder is there");
        std::fs::create_dir(folder.path().join("7")).expect("a folder");
        for groups in [0, 300, 1000] {
            let groups = "1234567890 ".repeat(groups);
            let status = format!("Name:\tx\nGroups:\t{groups}\nSigBlk:\t0000000000000004\n");
            std::fs::write(folder.path().join("7/status"), &status).expect("a file");
            assert_eq!(tasks.text(7, "status"), Some(status));
        }
        std::fs::write(folder.path().join("7/comm"), "x".repeat(PART)).expect("a file");
        let comm = tasks.text(7, "comm").expect("the file is there");
        assert_eq!(comm.len(), PART);
    }
}
