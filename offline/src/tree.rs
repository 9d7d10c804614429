//! Folders that appear under their names whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::TempDir;

/// Reading, writing and making folders, by their owner.
const OPEN: u32 = 0o700;

/// A folder in the making, beside the one whose place it will take.
#[derive(Debug)]
pub(crate) struct Staged {
    folder: TempDir,
    to: PathBuf,
    /// The permissions that its folders get in the end: there may be some that
    /// nothing can be put into.
    permissions: BTreeMap<PathBuf, Permissions>,
}

/// How files come from a folder that stays or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// As new files with the old ones' times and permissions.
    Copies,
    /// As the very same files, where the file system can.
    Files,
}

impl Staged {
    /// An empty folder that is to become `to`; gone unless it does.
    pub(crate) fn beside(to: &Path) -> io::Result<Staged> {
        // What a link leads to is replaced, and the link stays one.
        let to = match fs::canonicalize(to) {
            Err(_) if is_there(to) => return Err(at(to, &io::Error::other("a link to nothing"))),
            Err(_) => std::path::absolute(to)?,
            Ok(to) => to,
        };
        let Some(parent) = to.parent() else {
            return Err(at(&to, &io::Error::other("is in no folder")));
        };
        fs::create_dir_all(parent).map_err(|error| at(parent, &error))?;
        let folder = tempfile::Builder::new()
            .prefix(".loadhook-")
            .suffix(".tmp")
            .tempdir_in(parent)
            .map_err(|error| at(parent, &error))?;
        Ok(Staged {
            folder,
            to,
            permissions: BTreeMap::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes what is in `from` and not here yet: files, folders, empty ones
    /// too, and links as links, which nothing follows. `check` is asked again
    /// and again whether to go on.
    pub(crate) fn fill<E: From<io::Error>>(
        &mut self,
        from: &Path,
        take: Take,
        check: &dyn Fn() -> Result<(), E>,
    ) -> Result<(), E> {
        self.fill_below(from, Path::new(""), take, check)
    }

    fn fill_below<E: From<io::Error>>(
        &mut self,
        from: &Path,
        below: &Path,
        take: Take,
        check: &dyn Fn() -> Result<(), E>,
    ) -> Result<(), E> {
        let (source, target) = (from.join(below), self.path().join(below));
        let metadata = fs::metadata(&source).map_err(|error| at(&source, &error))?;
        if take == Take::Files && metadata.dev() != fs::metadata(from)?.dev() {
            // The old folder is removed, and what is mounted there would be, too.
            return Err(at(&source, &io::Error::other("a mount point inside")).into());
        }
        self.permissions
            .entry(target.clone())
            .or_insert_with(|| metadata.permissions());
        if !is_there(&target) {
            fs::create_dir(&target).map_err(|error| at(&target, &error))?;
        }
        for entry in fs::read_dir(&source).map_err(|error| at(&source, &error))? {
            check()?;
            let entry = entry.map_err(|error| at(&source, &error))?;
            let below = below.join(entry.file_name());
            let target = self.path().join(&below);
            let existing = fs::symlink_metadata(&target).ok();
            let is_folder = entry.file_type()?.is_dir();
            if existing
                .as_ref()
                .is_some_and(|existing| existing.is_dir() != is_folder)
            {
                let fault = io::Error::other("a folder in one place and a file in the other");
                return Err(at(&below, &fault).into());
            }
            if is_folder {
                self.fill_below(from, &below, take, check)?;
            } else if existing.is_none() {
                put(&entry, &target, take).map_err(|error| at(&entry.path(), &error))?;
            }
        }
        Ok(())
    }

    /// Takes its place: of an older folder, which is removed, in one step where
    /// the system can exchange two names; else there is a moment in which the
    /// old one is called `….old` beside it, and nothing has the name.
    pub(crate) fn publish(mut self) -> io::Result<()> {
        if let Ok(existing) = fs::metadata(&self.to) {
            let root = self.path().to_owned();
            self.permissions.insert(root, existing.permissions());
        }
        // From the innermost on: the others may be closed then.
        for (folder, permissions) in self.permissions.iter().rev() {
            fs::set_permissions(folder, permissions.clone()).map_err(|error| at(folder, &error))?;
        }
        // Else a crash of the machine may leave names without content.
        rustix::fs::syncfs(File::open(self.path())?)?;
        if !is_there(&self.to) {
            fs::rename(self.path(), &self.to).map_err(|error| at(&self.to, &error))?;
            let _ = self.folder.keep();
            return Ok(());
        }
        self.exchange().map_err(|error| at(&self.to, &error))?;
        // The old one has its name now.
        open_folders(self.path())?;
        let left = self.path().to_owned();
        self.folder.close().map_err(|error| {
            let fault = format!("the old folder could not be removed: {error}");
            at(&left, &io::Error::other(fault))
        })
    }

    fn exchange(&self) -> io::Result<()> {
        let here = self.path();
        match renameat_with(CWD, here, CWD, &self.to, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(Errno::BUSY | Errno::XDEV) => {
                return Err(io::Error::other(
                    "a mount point, which cannot be replaced: give a folder in it",
                ));
            }
            other => return Ok(other?),
        }
        in_steps(here, &self.to)
    }
}

/// Puts a folder into another's place, which is taken as a whole; what else that
/// one had stays in it. Both are on one file system.
///
/// # Errors
/// When a folder cannot be read, or its place cannot be taken; it is as it was
/// then.
pub fn put_folder(made: &Path, to: &Path) -> io::Result<()> {
    let mut staged = Staged::beside(to)?;
    for folder in [made, to] {
        if folder.exists() {
            staged.fill(folder, Take::Files, &|| Ok::<_, io::Error>(()))?;
        }
    }
    staged.publish()
}

/// Where two names cannot be exchanged at once.
fn in_steps(here: &Path, to: &Path) -> io::Result<()> {
    let mut old = here.as_os_str().to_owned();
    old.push(".old");
    fs::rename(to, &old)?;
    if let Err(error) = fs::rename(here, to) {
        fs::rename(&old, to)?;
        return Err(error);
    }
    fs::rename(&old, here)
}

/// Brings what is no folder.
fn put(entry: &fs::DirEntry, target: &Path, take: Take) -> io::Result<()> {
    let (source, kind) = (entry.path(), entry.file_type()?);
    if take == Take::Files && fs::hard_link(&source, target).is_ok() {
        return Ok(());
    }
    if kind.is_symlink() {
        symlink(fs::read_link(&source)?, target)
    } else if kind.is_file() {
        copy(&source, target)
    } else {
        // Pipes and their like are not copied.
        Ok(())
    }
}

/// Copies a file with its permissions and times.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let metadata = fs::metadata(from)?;
    let times = FileTimes::new()
        .set_accessed(metadata.accessed()?)
        .set_modified(metadata.modified()?);
    File::open(to)?.set_times(times)
}

/// What is in a folder without permissions cannot be removed.
fn open_folders(folder: &Path) -> io::Result<()> {
    let permissions = fs::metadata(folder)?.permissions();
    if permissions.mode() & OPEN != OPEN {
        fs::set_permissions(folder, Permissions::from_mode(OPEN))?;
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether something has this name, be it a link to nothing.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The error with the path it is about.
pub(crate) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_folders_change_names_in_steps() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let [here, to] = ["here", "to"].map(|name| folder.path().join(name));
        for place in [&here, &to] {
            fs::create_dir(place)?;
            fs::write(place.join("was"), place.as_os_str().as_encoded_bytes())?;
        }
        in_steps(&here, &to)?;
        let was = |place: &Path| fs::read(place.join("was"));
        assert_eq!(was(&here)?, to.as_os_str().as_encoded_bytes());
        assert_eq!(was(&to)?, here.as_os_str().as_encoded_bytes());
        // What cannot take the place leaves it as it was.
        fs::remove_dir_all(&here)?;
        assert!(in_steps(&here, &to).is_err());
        assert_eq!(was(&to)?, here.as_os_str().as_encoded_bytes());
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }
}
