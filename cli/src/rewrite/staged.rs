//! Outputs that wait in temporary folders until they are verified.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loadhook_offline::{NewFolder, Progress};
use tempfile::TempDir;

use super::inputs::{Input, Kind};
use crate::output::{USUAL, say, write_beside};

/// An output that has not replaced its target yet.
pub(super) struct Staged<'i> {
    pub(super) input: &'i Input,
    /// The path of the output until it replaces the target.
    pub(super) at: PathBuf,
    waits: Waits,
}

enum Waits {
    /// The temporary folder beside the target that contains the output.
    File(TempDir),
    Folder(NewFolder),
}

impl<'i> Staged<'i> {
    pub(super) fn folder(input: &'i Input, new: NewFolder) -> Staged<'i> {
        Staged {
            input,
            at: new.path().to_owned(),
            waits: Waits::Folder(new),
        }
    }

    /// Makes a temporary folder for a class or archive.
    pub(super) fn file(input: &'i Input) -> Result<Staged<'i>> {
        let name = || input.to.display().to_string();
        let existing = fs::metadata(&input.to);
        if matches!(input.kind, Kind::Archive) && existing.is_ok_and(|found| !found.is_file()) {
            bail!("{}: not a file", name());
        }
        let folder = match input.kind {
            // The target may be a pipe such as /dev/stdout, and no folder can be made beside it.
            Kind::Class => tempfile::tempdir(),
            _ => beside(&behind_links(&input.to)),
        };
        let folder = folder.with_context(name)?;
        Ok(Staged {
            input,
            at: folder.path().join("output"),
            waits: Waits::File(folder),
        })
    }

    /// Moves the output to the target.
    pub(super) fn put(self, quiet: bool, progress: &Progress) -> Result<()> {
        let to = &self.input.to;
        let folder = match self.waits {
            Waits::Folder(new) => return publish(new, quiet, progress),
            Waits::File(folder) => folder,
        };
        if let Kind::Class = self.input.kind {
            return write_beside(to, &fs::read(&self.at)?, USUAL);
        }
        fs::rename(&self.at, behind_links(to)).with_context(|| to.display().to_string())?;
        Ok(folder.close()?)
    }
}

fn publish(new: NewFolder, quiet: bool, progress: &Progress) -> Result<()> {
    let here = env::current_dir();
    let foreign = new.publish(progress);
    // If the current folder was inside the replaced folder, it no longer exists.
    if let Ok(here) = here {
        let _ = env::set_current_dir(here);
    }
    if let Some(path) = foreign?.filter(|_| !quiet) {
        let path = path.display();
        say!(
            "warning: {path} belonged to another user; it and all files of other users in the output now belong to you; run loadhook as root to keep owners"
        );
    }
    Ok(())
}

fn beside(path: &Path) -> io::Result<TempDir> {
    let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(".loadhook-")
        .suffix(".tmp")
        .tempdir_in(parent)
}

fn behind_links(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
