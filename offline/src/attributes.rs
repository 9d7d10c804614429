//! Attributes of files and folders: owner, permissions, times.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use xattr::FileExt;

const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;

/// Owner, permissions, times, and extended attributes, such as access control
/// lists.
#[derive(Debug)]
pub(crate) struct Attributes {
    metadata: Metadata,
    extended: Vec<(OsString, Vec<u8>)>,
}

impl Attributes {
    /// Reads the attributes of a file or folder. If the path is a link, reads those of the link's target.
    pub(crate) fn of(path: &Path) -> io::Result<Attributes> {
        let metadata = fs::metadata(path)?;
        // Some file systems have no extended attributes.
        let names = xattr::list_deref(path).into_iter().flatten();
        let extended = names.filter_map(|name| {
            let value = xattr::get_deref(path, &name).ok()??;
            Some((name, value))
        });
        Ok(Attributes {
            metadata,
            extended: extended.collect(),
        })
    }

    /// Copies everything but the times to another file. Owner and extended attributes are copied as far as the
    /// process is permitted to. Returns whether the other file then has the original's owner.
    pub(crate) fn give(&self, file: &File) -> io::Result<bool> {
        // The owner comes first, because changing it clears set-user-id bits.
        let now = self.give_owner(file)?;
        for (name, value) in &self.extended {
            let _ = file.set_xattr(name, value);
        }
        let mut mode = self.metadata.permissions().mode();
        // Clear the set-user-id bits if the owner differs: the program must not run with the rights
        // of the user who copies it.
        let is_owned = now.uid() == self.metadata.uid();
        if !is_owned {
            mode &= !SET_UID;
        }
        if now.gid() != self.metadata.gid() {
            mode &= !SET_GID;
        }
        file.set_permissions(Permissions::from_mode(mode))?;
        Ok(is_owned)
    }

    /// Does the same as [`Attributes::give`], and also copies the times.
    pub(crate) fn give_with_times(&self, file: &File) -> io::Result<bool> {
        let is_owned = self.give(file)?;
        let times = FileTimes::new()
            .set_accessed(self.metadata.accessed()?)
            .set_modified(self.metadata.modified()?);
        file.set_times(times)?;
        Ok(is_owned)
    }

    /// Copies owner and group, or only the group, as far as the process is permitted to. Returns
    /// the metadata that the other file then has.
    pub(crate) fn give_owner(&self, file: &File) -> io::Result<Metadata> {
        let (now, wanted) = (file.metadata()?, &self.metadata);
        if (now.uid(), now.gid()) == (wanted.uid(), wanted.gid()) {
            return Ok(now);
        }
        if fchown(file, Some(wanted.uid()), Some(wanted.gid())).is_err() {
            let _ = fchown(file, None, Some(wanted.gid()));
        }
        file.metadata()
    }

    /// Returns the number of the file system's device.
    pub(crate) fn device(&self) -> u64 {
        self.metadata.dev()
    }
}

/// Identity and change times of a file. If two states of a path differ, the file was written to or
/// replaced between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    pub(crate) len: u64,
    modified: (i64, i64),
}

impl FileState {
    pub(crate) fn new(metadata: &Metadata) -> FileState {
        FileState {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Reads the state of a path, without following a link; `None` if nothing is
    /// there.
    pub(crate) fn of(path: &Path) -> io::Result<Option<FileState>> {
        let metadata = unless_gone(fs::symlink_metadata(path))?;
        Ok(metadata.as_ref().map(FileState::new))
    }

    /// Returns whether both are states of the same file.
    pub(crate) fn is_same_file(&self, other: &FileState) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Turns "not found" into `None`, because other programs may delete files in the same folder.
pub(crate) fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}
