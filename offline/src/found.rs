//! Finds the files below a folder.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::attributes::{FileState, unless_gone};
use crate::error::at;

/// A file below a folder.
#[derive(Clone, Debug)]
pub struct Found {
    pub(crate) path: PathBuf,
    pub(crate) state: FileState,
}

impl Found {
    /// Returns the file's size in bytes at the time when the file was found.
    pub fn bytes(&self) -> u64 {
        self.state.len
    }

    /// Returns whether the file in `folder` is unchanged since it was found.
    pub(crate) fn is_as_found(&self, folder: &Path) -> bool {
        FileState::of(&folder.join(&self.path)).is_ok_and(|now| now == Some(self.state))
    }

    /// Returns the path below the folder, with slashes. Bytes that are not UTF-8 are replaced; no
    /// class has such a path.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        self.path.to_string_lossy()
    }
}

/// Finds the files below a folder, in the order of their paths. Links are not followed. Calls `left_out` with
/// each link that leads out of the folder, and with each pipe, socket or device, because these are not rewritten.
///
/// # Errors
/// When a folder cannot be read.
pub fn find(folder: &Path, left_out: &mut dyn FnMut(&Path)) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let real = fs::canonicalize(folder).map_err(|error| at(folder, &error))?;
    collect(&real, Path::new(""), &mut found, left_out)?;
    found.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(found)
}

fn collect(
    folder: &Path,
    below: &Path,
    found: &mut Vec<Found>,
    left_out: &mut dyn FnMut(&Path),
) -> io::Result<()> {
    let here = folder.join(below);
    let placed = |error: io::Error| at(&here, &error);
    let Some(entries) = unless_gone(fs::read_dir(&here)).map_err(placed)? else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry.map_err(placed)?;
        let Some(metadata) = unless_gone(entry.metadata()).map_err(placed)? else {
            continue;
        };
        let path = below.join(entry.file_name());
        let kind = metadata.file_type();
        if kind.is_dir() {
            collect(folder, &path, found, left_out)?;
        } else if kind.is_file() {
            let state = FileState::new(&metadata);
            found.push(Found { path, state });
        } else {
            let inside = |real: PathBuf| real.starts_with(folder);
            if !kind.is_symlink() || fs::canonicalize(entry.path()).is_ok_and(|to| !inside(to)) {
                left_out(&entry.path());
            }
        }
    }
    Ok(())
}
