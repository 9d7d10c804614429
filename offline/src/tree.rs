//! Replaces a folder as a whole: the new folder appears complete or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::attributes::{Attributes, FileState, unless_gone};
use crate::error::at;
use crate::found::Found;
use crate::leftover::{Leftover, Seen};
use crate::{Error, Progress};

/// A folder that is made beside the folder that it will replace. It is removed if it is dropped before it has
/// replaced that folder.
#[derive(Debug)]
pub struct NewFolder {
    folder: TempDir,
    to: PathBuf,
    /// The attributes that the folders inside get at the end. Until then, their
    /// permissions must allow adding files.
    folders: BTreeMap<PathBuf, Attributes>,
    /// States of files in the folder that this one will replace.
    seen: BTreeMap<PathBuf, Seen>,
    /// The first file whose owner could not be kept.
    foreign: Option<PathBuf>,
    /// True if this folder is made from the folder that it will replace.
    is_in_place: bool,
}

/// The way in which files are taken from the old folder.
#[derive(Clone, Copy, Debug)]
enum Take<'f> {
    /// Copies of the files in a list, with the same attributes. The old folder stays.
    Copies(&'f [Found]),
    /// Hard links to the files in a list, or to all files; copies if the file system has no hard links. The old
    /// folder is removed afterwards.
    Files(Option<&'f [Found]>),
}

impl Take<'_> {
    fn is_copies(self) -> bool {
        matches!(self, Take::Copies(_))
    }

    fn includes(self, path: &Path) -> bool {
        let (Take::Copies(files) | Take::Files(Some(files))) = self else {
            return true;
        };
        let path = path.as_os_str();
        // The list of files is sorted by `OsStr`, so the search compares `OsStr`, too.
        let found = files.binary_search_by(|file| file.path.as_os_str().cmp(path));
        found.is_ok()
    }
}

impl NewFolder {
    /// Makes an empty folder that will become `to`.
    pub(crate) fn beside(to: &Path) -> io::Result<NewFolder> {
        // If `to` is a link, the folder to which the link leads is replaced, and the link stays.
        let to = match fs::canonicalize(to) {
            Err(_) if is_there(to) => {
                return Err(at(
                    to,
                    &io::Error::other("a link to a file that does not exist"),
                ));
            }
            Err(_) => std::path::absolute(to)?,
            Ok(to) => to,
        };
        let Some(parent) = to.parent() else {
            return Err(at(
                &to,
                &io::Error::other("the root folder cannot be replaced; give a folder inside it"),
            ));
        };
        fs::create_dir_all(parent).map_err(|error| at(parent, &error))?;
        let folder = tempfile::Builder::new()
            .prefix(".loadhook-")
            .suffix(".tmp")
            .tempdir_in(parent)
            .map_err(|error| at(parent, &error))?;
        Ok(NewFolder {
            folder,
            to,
            folders: BTreeMap::new(),
            seen: BTreeMap::new(),
            foreign: None,
            is_in_place: false,
        })
    }

    /// Returns the path of the folder until it is published.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds the files of `from` that the new folder does not have yet. `files` were found in `from` earlier. A
    /// file that was added to `from` later is taken when the folder is replaced, or stays in `from`.
    pub(crate) fn complete(
        &mut self,
        from: &Path,
        files: &[Found],
        progress: &Progress,
    ) -> Result<(), Error> {
        self.is_in_place = fs::canonicalize(from).is_ok_and(|from| from == self.to);
        self.adopt(from, Path::new(""))?;
        if !self.is_in_place {
            return self.fill(from, Path::new(""), Take::Copies(files), progress);
        }
        for file in files {
            if let Some(ours) = FileState::of(&self.path().join(&file.path))? {
                let was = file.state;
                self.see(&file.path, was, ours, false);
            }
        }
        self.fill(from, Path::new(""), Take::Files(Some(files)), progress)
    }

    /// Gives each new file below `below` the owner of the nearest folder that exists in `from`.
    fn adopt(&self, from: &Path, below: &Path) -> io::Result<()> {
        let owner = below.ancestors().find(|below| from.join(below).is_dir());
        let owner = Attributes::of(&from.join(owner.unwrap_or(below)))?;
        for entry in fs::read_dir(self.path().join(below))? {
            let entry = entry?;
            let below = below.join(entry.file_name());
            if !is_there(&from.join(&below)) {
                owner.give_owner(&File::open(entry.path())?)?;
            }
            if entry.file_type()?.is_dir() {
                self.adopt(from, &below)?;
            }
        }
        Ok(())
    }

    /// Takes the files, folders and links of `from` that the new folder does not have yet. Links
    /// are not followed. Files that vanish meanwhile are left out.
    fn fill(
        &mut self,
        from: &Path,
        below: &Path,
        take: Take<'_>,
        progress: &Progress,
    ) -> Result<(), Error> {
        let (source, target) = (from.join(below), self.path().join(below));
        let placed = |error: io::Error| at(&source, &error);
        let Some(attributes) = unless_gone(Attributes::of(&source)).map_err(placed)? else {
            return Ok(());
        };
        if !take.is_copies() && attributes.device() != fs::metadata(from)?.dev() {
            // A mount point inside is an error: removing the old folder would
            // also remove the files that are mounted there.
            return Err(placed(io::Error::other(
                "is a mount point inside the folder; unmount it, or give another folder",
            ))
            .into());
        }
        // While files are copied, a folder whose attributes are known keeps these attributes.
        if !take.is_copies() || !self.folders.contains_key(below) {
            self.folders.insert(below.to_owned(), attributes);
        }
        if !is_there(&target) {
            fs::create_dir(&target).map_err(|error| at(&target, &error))?;
        }
        let Some(entries) = unless_gone(fs::read_dir(&source)).map_err(placed)? else {
            return Ok(());
        };
        // Read all names first. Otherwise this loop would not end if a program keeps creating files
        // while they are linked here.
        let entries: Vec<_> = entries.collect();
        for entry in entries {
            progress.check()?;
            let entry = entry.map_err(placed)?;
            let Some(metadata) = unless_gone(entry.metadata()).map_err(placed)? else {
                continue;
            };
            let below = below.join(entry.file_name());
            let target = self.path().join(&below);
            let existing = unless_gone(fs::symlink_metadata(&target))?;
            let is_other = |existing: &fs::Metadata| existing.is_dir() != metadata.is_dir();
            if existing.as_ref().is_some_and(is_other) {
                let fault = io::Error::other(
                    "a folder in the input, and a file in the existing output, or the reverse; \
                     remove it from the output",
                );
                return Err(at(&below, &fault).into());
            }
            if metadata.is_dir() {
                self.fill(from, &below, take, progress)?;
                continue;
            }
            if metadata.is_file() && !take.includes(&below) {
                continue;
            }
            let state = FileState::new(&metadata);
            match existing {
                None => {
                    let put = unless_gone(put(&entry, &target, take));
                    put.map_err(|error| at(&entry.path(), &error))?;
                    if !take.is_copies()
                        && let Some(ours) = FileState::of(&target)?
                    {
                        self.see(&below, state, ours, true);
                    }
                }
                Some(existing) if !take.is_copies() => {
                    if self.is_in_place && existing.uid() != metadata.uid() {
                        self.foreign.get_or_insert_with(|| entry.path());
                    }
                    self.see(&below, state, FileState::new(&existing), false);
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Records the state of a file of the old folder. The first recorded state counts, because files may change
    /// at any time.
    fn see(&mut self, path: &Path, was: FileState, ours: FileState, is_taken: bool) {
        let seen = Seen {
            was,
            ours,
            is_taken,
        };
        self.seen.entry(path.to_owned()).or_insert(seen);
    }

    /// Replaces the old folder. If the system can exchange two names, this takes one step. Otherwise there is a moment
    /// in which the old folder is called `….old`, and no folder has the wanted name. Before the replacement, the new
    /// folder gets all other files of the old folder. Afterwards the new folder gets the files that other programs have
    /// added to the old folder meanwhile. Returns the first file whose owner could not be kept, if there is one.
    ///
    /// # Errors
    /// When the old folder cannot be replaced, or the user interrupts: the old folder is then
    /// unchanged. Also when a file of the old folder was replaced since it was read: the old folder
    /// is then kept beside the new one, and the error names the file.
    pub fn publish(mut self, progress: &Progress) -> Result<Option<PathBuf>, Error> {
        let to = self.to.clone();
        let is_replaced = is_there(&to);
        if is_replaced {
            self.fill(&to, Path::new(""), Take::Files(None), progress)?;
        }
        // Inner folders come first, because the permissions of an outer folder
        // may forbid access to what is inside.
        for (below, attributes) in self.folders.iter().rev() {
            let folder = self.folder.path().join(below);
            let given = File::open(&folder).and_then(|file| attributes.give_with_times(&file));
            let is_owned = given.map_err(|error| at(&folder, &error))?;
            if !is_owned && is_there(&to.join(below)) {
                self.foreign.get_or_insert_with(|| to.join(below));
            }
        }
        // Without this call, names may have no content after a crash of the
        // machine.
        rustix::fs::syncfs(File::open(self.path())?).map_err(io::Error::from)?;
        if !is_replaced {
            fs::rename(self.path(), &to).map_err(|error| at(&to, &error))?;
            let _ = self.folder.keep();
            return Ok(None);
        }
        self.exchange().map_err(|error| at(&to, &error))?;
        // The temporary name now leads to the old folder. Files that were not taken may still be in
        // it.
        let old = self.folder.keep();
        let leftover = Leftover {
            old: &old,
            new: &to,
            seen: &self.seen,
        };
        leftover.remove()?;
        Ok(self.foreign)
    }

    fn exchange(&self) -> io::Result<()> {
        let here = self.path();
        match renameat_with(CWD, here, CWD, &self.to, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(Errno::BUSY | Errno::XDEV) => {
                return Err(io::Error::other(
                    "a mount point cannot be replaced; give a folder inside it",
                ));
            }
            other => return Ok(other?),
        }
        in_steps(here, &self.to)
    }
}

/// Exchanges two names in several steps, for a system that cannot do it in one.
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

/// Copies or links a file or link of the old folder to `target`.
fn put(entry: &fs::DirEntry, target: &Path, take: Take<'_>) -> io::Result<()> {
    let (source, kind) = (entry.path(), entry.file_type()?);
    if !take.is_copies() && fs::hard_link(&source, target).is_ok() {
        return Ok(());
    }
    if kind.is_symlink() {
        symlink(fs::read_link(&source)?, target)
    } else if kind.is_file() {
        copy(&source, target)
    } else {
        // Pipes, sockets and devices are not copied.
        Ok(())
    }
}

/// Copies a file with all its attributes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut options = File::options();
    // Only the user can read the copy until it has the attributes of the source.
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut target = options.open(to)?;
    io::copy(&mut source, &mut target)?;
    Attributes::of(from)?.give_with_times(&target)?;
    Ok(())
}

/// Returns whether anything exists at the path, even a link to a missing file.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detail, Offline, Plan, find};

    /// The error must name a file that vanished, and no temporary folder may be left.
    #[test]
    fn files_that_cannot_be_read_are_named() -> Result<(), Error> {
        let folder = tempfile::tempdir()?;
        let from = folder.path().join("from");
        let (plan, progress) = (Plan::new(Default::default()), Progress::default());
        for name in ["a.jar", "A.class"] {
            fs::create_dir(&from)?;
            fs::write(from.join(name), "none")?;
            let files = find(&from, &mut |_| {})?;
            fs::remove_file(from.join(name))?;
            for to in [None, Some(&*from)] {
                let mut offline = Offline::new(&plan, Detail::default(), &progress);
                let fault = offline
                    .folder(&from, &files, to)
                    .expect_err("the file is missing");
                assert!(fault.to_string().contains(name), "{fault}");
            }
            assert_eq!(fs::read_dir(folder.path())?.count(), 1);
            fs::remove_dir(&from)?;
        }
        Ok(())
    }

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
        // If the new folder cannot be moved, the old one stays in its place.
        fs::remove_dir_all(&here)?;
        assert!(in_steps(&here, &to).is_err());
        assert_eq!(was(&to)?, here.as_os_str().as_encoded_bytes());
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }
}
