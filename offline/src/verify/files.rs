//! Finds, opens and compares files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rawzip::FileReader;

use crate::zip::{Archive, ZipError};

/// Finds the files below a folder. Links are not followed.
pub(super) fn files(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

/// Opens the archive in a file.
pub(super) fn open(path: &Path) -> Result<Archive<FileReader>, ZipError> {
    Archive::open_file(File::open(path)?)
}

/// Returns whether two files have the same content.
pub(super) fn same_files(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let mut buffers = [(); 2].map(|()| vec![0; 1 << 16]);
    loop {
        let [first, second] = &mut buffers;
        let len = a.read(first)?;
        b.read_exact(&mut second[..len])?;
        if len == 0 {
            return Ok(true);
        }
        if first[..len] != second[..len] {
            return Ok(false);
        }
    }
}
