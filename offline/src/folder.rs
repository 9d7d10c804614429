//! Rewriting the classes and archives of a folder into another one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rawzip::FileReader;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::module_info;
use crate::units::{Units, is_module_info, module_root};
use crate::{BATCH, Error, Offline, is_archive, is_class};

/// A file below a folder: its path with slashes, and its length in bytes.
#[derive(Clone, Debug)]
pub struct Found {
    /// Behind the folder.
    pub path: String,
    /// In bytes.
    pub len: u64,
}

/// The files below a folder, in the order of their paths. `left_out` is told of
/// links to folders, which could lead in circles, and of what is no file.
///
/// # Errors
/// When a folder cannot be read, or a name is no UTF-8.
pub fn find(folder: &Path, left_out: &mut dyn FnMut(&Path)) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    collect(folder, "", &mut found, left_out)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn collect(
    folder: &Path,
    below: &str,
    found: &mut Vec<Found>,
    left_out: &mut dyn FnMut(&Path),
) -> io::Result<()> {
    let here = folder.join(below);
    for entry in fs::read_dir(&here).map_err(|error| at(&here, &error))? {
        let entry = entry.map_err(|error| at(&here, &error))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(at(&entry.path(), &io::Error::other("its name is no UTF-8")));
        };
        let path = format!("{below}{name}");
        let kind = entry.file_type()?;
        let metadata = fs::metadata(entry.path()).ok();
        if kind.is_dir() {
            collect(folder, &format!("{path}/"), found, left_out)?;
        } else if let Some(metadata) = metadata.filter(fs::Metadata::is_file) {
            found.push(Found {
                path,
                len: metadata.len(),
            });
        } else {
            left_out(&entry.path());
        }
    }
    Ok(())
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Offline<'_> {
    /// Rewrites the archive in a file into another file, or the same. It is
    /// written beside and renamed, so that there is a whole one or what was
    /// there before. Nothing is written if `to` is `None`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn archive_file(
        &mut self,
        name: &str,
        from: &Path,
        to: Option<&Path>,
    ) -> Result<(), Error> {
        let file = File::open(from)?;
        let len = file.metadata()?.len();
        let Some(to) = to else {
            self.archive(name, FileReader::from(file), len, io::sink())?;
            return Ok(());
        };
        let mut out = BufWriter::with_capacity(1 << 20, beside(to)?);
        if self.archive(name, FileReader::from(file), len, &mut out)? {
            let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            self.check_strictness()?;
            self.progress.check()?;
            keep(out, from, to)
        } else {
            self.check_strictness()?;
            drop(out);
            copy(from, to)
        }
    }

    fn check_strictness(&self) -> Result<(), Error> {
        match self.tally.unreadable.first() {
            Some(line) if self.plan.strict => Err(Error::Unreadable(line.clone())),
            _ => Ok(()),
        }
    }

    /// Rewrites the classes and archives among `files` below `from` into `to`,
    /// or nowhere.
    ///
    /// # Errors
    /// See [`Error`]; files that were written before stay.
    pub fn folder(&mut self, from: &Path, files: &[Found], to: Option<&Path>) -> Result<(), Error> {
        let names = || files.iter().map(|file| file.path.as_str());
        let content = self.fingerprint(from, files)?;
        let mut units = Units::new(self.plan, &content, names(), None);
        let mut batch = Vec::new();
        let mut bytes = 0;
        for file in files {
            let name = file.path.as_str();
            let source = from.join(name);
            let target = to.map(|to| to.join(name));
            if is_class(name) && !is_module_info(name) {
                batch.push(file);
                bytes += file.len;
                if bytes >= BATCH {
                    self.class_files(&mut units, from, &batch, to)?;
                    batch.clear();
                    bytes = 0;
                }
                continue;
            }
            self.progress.check()?;
            if is_archive(name) {
                match self.archive_file(name, &source, target.as_deref()) {
                    Err(Error::Zip(error)) => {
                        self.tally.unreadable.push(format!("{name}: {error}"));
                        target
                            .as_deref()
                            .map_or(Ok(()), |target| copy(&source, target))?;
                    }
                    other => other?,
                }
                continue;
            }
            self.tally.other_files += 1;
            if !is_module_info(name) {
                target
                    .as_deref()
                    .map_or(Ok(()), |target| copy(&source, target))?;
            }
            self.progress.advance(file.len);
        }
        self.class_files(&mut units, from, &batch, to)?;
        let Some(to) = to else {
            return Ok(());
        };
        for name in names().filter(|name| is_module_info(name)) {
            self.module_info_file(&mut units, from, to, name)?;
        }
        for (name, content) in units.files() {
            write(&to.join(name), &content, None)?;
        }
        Ok(())
    }

    fn class_files(
        &mut self,
        units: &mut Units,
        from: &Path,
        files: &[&Found],
        to: Option<&Path>,
    ) -> Result<(), Error> {
        self.progress.check()?;
        let read: Vec<(&str, io::Result<Vec<u8>>)> = files
            .par_iter()
            .map(|file| (file.path.as_str(), fs::read(from.join(&file.path))))
            .collect();
        let rewritten = self.classes(units, "", &read)?;
        self.check_strictness()?;
        if let Some(to) = to {
            read.par_iter()
                .zip(rewritten)
                .try_for_each(|((name, bytes), rewritten)| {
                    let (source, target) = (from.join(name), to.join(name));
                    match (rewritten, bytes) {
                        (Some(rewritten), _) => write(&target, &rewritten, Some(&source)),
                        (None, Ok(_)) => copy(&source, &target),
                        (None, Err(error)) => Err(at(&source, error).into()),
                    }
                })?;
        }
        self.progress
            .advance(files.iter().map(|file| file.len).sum());
        Ok(())
    }

    fn module_info_file(
        &mut self,
        units: &mut Units,
        from: &Path,
        to: &Path,
        name: &str,
    ) -> Result<(), Error> {
        let source = from.join(name);
        let bytes = fs::read(&source)?;
        let unit = units.rewritten_module(module_root(name));
        let changed = unit.and_then(|unit| {
            module_info::changed(&bytes, Some(unit.needs(self.plan.tracker))).ok()
        });
        write(&to.join(name), &changed.unwrap_or(bytes), Some(&source))
    }

    /// Tells a folder's classes from others.
    fn fingerprint(&self, from: &Path, files: &[Found]) -> Result<Vec<u8>, Error> {
        let mut hash = Sha256::new();
        for file in files.iter().filter(|file| is_class(&file.path)) {
            self.progress.check()?;
            hash.update(file.path.as_bytes());
            hash.update([0]);
            hash.update(fs::read(from.join(&file.path))?);
        }
        Ok(hash.finalize().to_vec())
    }
}

/// A file that is gone unless it is kept, in the same folder.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    if fs::metadata(path).is_ok_and(|existing| !existing.is_file()) {
        return Err(at(path, &io::Error::other("not a file")));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    fs::create_dir_all(&folder).map_err(|error| at(&folder, &error))?;
    tempfile::Builder::new()
        .prefix(".loadhook-")
        .suffix(".tmp")
        .tempfile_in(&folder)
        .map_err(|error| at(&folder, &error))
}

/// Puts a written file in its place, with the permissions of the one it comes
/// from.
fn keep(written: NamedTempFile, like: &Path, to: &Path) -> Result<(), Error> {
    written
        .as_file()
        .set_permissions(fs::metadata(like)?.permissions())?;
    // A link stays one.
    let to = fs::canonicalize(to).unwrap_or_else(|_| to.to_owned());
    written
        .persist(&to)
        .map_err(|error| at(&to, &error.error))?;
    Ok(())
}

fn write(to: &Path, content: &[u8], like: Option<&Path>) -> Result<(), Error> {
    let mut out = beside(to)?;
    out.write_all(content).map_err(|error| at(to, &error))?;
    if let Some(like) = like {
        return keep(out, like, to);
    }
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    out.as_file().set_permissions(permissions)?;
    out.persist(to).map_err(|error| at(to, &error.error))?;
    Ok(())
}

/// Copies a file that stays as it is.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let same =
        fs::canonicalize(to).is_ok_and(|to| fs::canonicalize(from).is_ok_and(|from| from == to));
    if same {
        return Ok(());
    }
    let mut out = beside(to)?;
    let mut source = File::open(from).map_err(|error| at(from, &error))?;
    io::copy(&mut source, &mut out).map_err(|error| at(to, &error))?;
    keep(out, from, to)
}
