//! The native threads of the process, in `/proc/self/task`.
//!
//! Short programs read these files at their start and end. So a file takes three system calls.

use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, open, openat};
use rustix::io::read;

/// More bytes than any file has that is read here. One call must read a file as a whole.
const LONGEST: usize = 4096;

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
        let mut bytes = [0; LONGEST];
        let len = read(&file, &mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..len]).into_owned())
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
}
