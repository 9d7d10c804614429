//! Outputs that wait beside their places until they are found good.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loadhook_offline::put_folder;
use tempfile::TempDir;

use super::inputs::{Input, Kind};
use crate::output::{USUAL, write_beside};

/// An output in a folder of its own, in the folder in which it will be.
pub(super) struct Staged<'i> {
    pub(super) input: &'i Input,
    /// Where it is.
    pub(super) at: PathBuf,
    folder: TempDir,
}

impl<'i> Staged<'i> {
    pub(super) fn new(input: &'i Input) -> Result<Staged<'i>> {
        let name = || input.to.display().to_string();
        let existing = fs::metadata(&input.to);
        if matches!(input.kind, Kind::Archive) && existing.is_ok_and(|found| !found.is_file()) {
            bail!("{}: not a file", name());
        }
        let folder = match input.kind {
            // Its place may be a pipe.
            Kind::Class => tempfile::tempdir(),
            Kind::Archive | Kind::Folder(_) => beside(&behind_links(&input.to)),
        };
        let folder = folder.with_context(name)?;
        Ok(Staged {
            input,
            at: folder.path().join("output"),
            folder,
        })
    }

    /// Puts it into its place.
    pub(super) fn put(self) -> Result<()> {
        let to = &self.input.to;
        if let Kind::Class = self.input.kind {
            return write_beside(to, &fs::read(&self.at)?, USUAL);
        }
        let done = match self.input.kind {
            Kind::Folder(_) => put_folder(&self.at, to),
            Kind::Class | Kind::Archive => fs::rename(&self.at, behind_links(to)),
        };
        done.with_context(|| to.display().to_string())?;
        Ok(self.folder.close()?)
    }
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
