//! The trigger file, which makes a JVM open its attach socket.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::process::geteuid;

use super::open_folder::OpenFolder;

/// The file `.attach_pid…`, which makes the JVM open its socket when it gets a SIGQUIT.
pub(super) struct Trigger<'j> {
    pub(super) name: String,
    /// The JVM's user.
    user: u32,
    /// The working folder of the process, where the JVM looks first; `None` if it cannot be opened.
    working_folder: Option<OpenFolder>,
    /// The folder `/tmp` of the process, where the JVM looks next.
    tmp: &'j OpenFolder,
}

impl<'j> Trigger<'j> {
    /// Makes the description of the trigger file for a process of `user`. `own_pid` is the
    /// process's id in its own PID namespace.
    pub(super) fn new(
        working_folder: Option<OpenFolder>,
        tmp: &'j OpenFolder,
        own_pid: u32,
        user: u32,
    ) -> Trigger<'j> {
        Trigger {
            name: format!(".attach_pid{own_pid}"),
            user,
            working_folder,
            tmp,
        }
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.working_folder.iter().chain([self.tmp]);
        folders.map(|folder| folder.path().join(&self.name))
    }

    /// Creates the file. Returns false if it existed already, because another process is attaching
    /// or has given up.
    pub(super) fn set(&self) -> Result<bool> {
        let mut result = Err(io::ErrorKind::NotFound.into());
        for path in self.paths() {
            result = self.make(&path);
            match &result {
                Ok(_) => break,
                // The JVM looks at the next path only if there is no file at this one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => break,
                Err(_) => {}
            }
        }
        result.with_context(|| self.name.clone())
    }

    pub(super) fn remove(&self) {
        for path in self.paths() {
            let _ = fs::remove_file(path);
        }
    }

    /// Creates the file at a path. The JVM ignores a file of another user, which an earlier process
    /// with the same id may have left, and would print its stacks at the signal. So that file is
    /// removed first.
    fn make(&self, path: &Path) -> io::Result<bool> {
        if let Ok(there) = fs::symlink_metadata(path)
            && ![self.user, 0].contains(&there.uid())
            && fs::remove_file(path).is_err()
        {
            let message = "a file that belongs neither to the JVM's user nor to root has this name, and cannot be removed; ask its owner or root to remove it";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        match File::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
            Ok(file) if file.metadata()?.uid() == geteuid().as_raw() => Ok(true),
            // On a network file system the file may belong to the user `nobody`. The JVM ignores
            // such a file.
            Ok(_) => {
                fs::remove_file(path)?;
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
    }
}
