//! Folders of a process that are held open, because paths through `/proc/PID` become invalid when the process ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// An open folder.
pub(crate) struct OpenFolder(File);

impl OpenFolder {
    /// Opens a folder.
    pub(super) fn open(path: &Path) -> io::Result<OpenFolder> {
        File::open(path).map(OpenFolder)
    }

    /// Opens the folder `tmp` in the root folder of a process. A symbolic link is resolved below this root, as it is
    /// for the process. Otherwise an absolute link would lead out of a container.
    pub(super) fn tmp_below(root: &Path) -> io::Result<OpenFolder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root, flags, Mode::empty())?;
        let opened = match openat(&root, "tmp", flags | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                openat2(&root, "tmp", flags, Mode::empty(), ResolveFlags::IN_ROOT)
            }
            opened => opened,
        };
        match opened {
            Ok(folder) => Ok(OpenFolder(File::from(folder))),
            // Linux has the system call from 5.6 on. Some sandboxes forbid it.
            Err(Errno::NOSYS | Errno::PERM) => Err(io::Error::other(
                "it is a symbolic link, which this kernel does not resolve inside a container; run loadhook in the container",
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a path to the folder.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_does_not_lead_out_of_the_root() {
        let outside = tempfile::tempdir().expect("a folder");
        let root = outside.path().join("root");
        let inside = root.join("var/tmp");
        fs::create_dir_all(&inside).expect("folders");
        fs::write(inside.join("it"), "").expect("a file");
        for link in ["/var/tmp", "var/tmp", "../../../../var/tmp"] {
            symlink(link, root.join("tmp")).expect("a link");
            let tmp = OpenFolder::tmp_below(&root).expect("the folder inside");
            assert!(tmp.path().join("it").exists(), "{link}");
            fs::remove_file(root.join("tmp")).expect("the link is removed");
        }
        // This folder exists, but not below the root.
        symlink(outside.path(), root.join("tmp")).expect("a link");
        assert!(OpenFolder::tmp_below(&root).is_err());
        fs::remove_file(root.join("tmp")).expect("the link is removed");
        fs::create_dir(root.join("tmp")).expect("a folder");
        assert!(OpenFolder::tmp_below(&root).is_ok());
    }
}
