//! Rewriting the classes and archives of a folder.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rawzip::FileReader;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::module_info;
use crate::plan::Tracker;
use crate::tree::{Staged, Take, at};
use crate::units::{Units, is_module_info, module_root};
use crate::{BATCH, Error, Offline, is_archive, is_class, tree};

/// A file below a folder.
#[derive(Clone, Debug)]
pub struct Found {
    pub(crate) path: PathBuf,
    /// In bytes.
    pub len: u64,
}

impl Found {
    /// The path behind the folder, with slashes. One that is no UTF-8 is that
    /// of no class.
    fn name(&self) -> Cow<'_, str> {
        self.path.to_string_lossy()
    }
}

/// The files below a folder, in the order of their paths. Links are no files;
/// `left_out` is told of those that lead out of the folder, of which nothing is
/// rewritten, and of pipes and their like.
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
    for entry in fs::read_dir(&here).map_err(|error| at(&here, &error))? {
        let entry = entry.map_err(|error| at(&here, &error))?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(folder, &path, found, left_out)?;
        } else if kind.is_file() {
            let len = entry.metadata()?.len();
            found.push(Found { path, len });
        } else {
            let inside = |real: PathBuf| real.starts_with(folder);
            if !kind.is_symlink() || fs::canonicalize(entry.path()).is_ok_and(|to| !inside(to)) {
                left_out(&entry.path());
            }
        }
    }
    Ok(())
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
        let Some(to) = to else {
            let file = File::open(from)?;
            let len = file.metadata()?.len();
            self.archive(name, FileReader::from(file), len, io::sink())?;
            return self.check_strictness();
        };
        if !self.archive_into(name, from, to)? && !is_same(from, to) {
            let out = beside(to)?;
            tree::copy(from, out.path()).map_err(|error| at(from, &error))?;
            keep(out, from, to)?;
        }
        Ok(())
    }

    /// Writes the archive that becomes of one; whether there is any change, else
    /// nothing is written.
    fn archive_into(&mut self, name: &str, from: &Path, to: &Path) -> Result<bool, Error> {
        let file = File::open(from)?;
        let len = file.metadata()?.len();
        let mut out = BufWriter::with_capacity(1 << 20, beside(to)?);
        let changed = self.archive(name, FileReader::from(file), len, &mut out)?;
        self.check_strictness()?;
        self.progress.check()?;
        if changed {
            let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            // Lest a crash of the machine leaves the new name and no data.
            out.as_file().sync_data()?;
            keep(out, from, to)?;
        }
        Ok(changed)
    }

    fn check_strictness(&self) -> Result<(), Error> {
        match self.tally.unreadable.first() {
            Some(line) if self.plan.strict => Err(Error::Unreadable(line.clone())),
            _ => Ok(()),
        }
    }

    /// Rewrites the classes and archives among `files` below `from` into the
    /// folder `to`, which may be the same, or nowhere. The folder is written
    /// beside and takes its place as a whole; what else `to` had stays in it.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn folder(&mut self, from: &Path, files: &[Found], to: Option<&Path>) -> Result<(), Error> {
        let Some(to) = to else {
            return self.changes(from, files, None);
        };
        let mut staged = Staged::beside(to)?;
        let into = staged.path().to_owned();
        self.changes(from, files, Some(&into))?;
        let check = || self.progress.check();
        if is_same(from, to) {
            staged.fill(from, Take::Files, &check)?;
        } else {
            staged.fill(from, Take::Copies, &check)?;
            if to.exists() {
                staged.fill(to, Take::Files, &check)?;
            }
        }
        Ok(staged.publish()?)
    }

    /// Writes what changes.
    fn changes(&mut self, from: &Path, files: &[Found], to: Option<&Path>) -> Result<(), Error> {
        let names: Vec<Cow<'_, str>> = files.iter().map(Found::name).collect();
        let content = self.fingerprint(from, files)?;
        let mut units = Units::new(self.plan, &content, names.iter().map(|name| &**name), None);
        if self.plan.tracker != Tracker::None {
            for name in names.iter().filter(|name| is_module_info(name)) {
                self.check_module_file(&mut units, from, name);
            }
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        for (file, name) in files.iter().zip(&names) {
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
                let source = from.join(&file.path);
                let done = match to {
                    Some(to) => self
                        .archive_into(name, &source, &to.join(&file.path))
                        .map(|_| ()),
                    None => self.archive_file(name, &source, None),
                };
                match done {
                    Err(Error::Zip(error)) => {
                        self.tally.unreadable.push(format!("{name}: {error}"));
                    }
                    other => other?,
                }
                continue;
            }
            self.tally.other_files += 1;
            self.progress.advance(file.len);
        }
        self.class_files(&mut units, from, &batch, to)?;
        let Some(to) = to else {
            return Ok(());
        };
        for name in names.iter().filter(|name| is_module_info(name)) {
            self.module_info_file(&units, from, to, name)?;
        }
        for (name, content) in units.files() {
            write(&to.join(name), &content, None)?;
        }
        for (name, symbols) in units.into_symbols()? {
            let mut text = Vec::new();
            symbols.copy_to(&mut text)?;
            write(&to.join(name), &text, None)?;
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
        let names: Vec<Cow<'_, str>> = files.iter().map(|file| file.name()).collect();
        let read: Vec<(&str, io::Result<Vec<u8>>)> = files
            .par_iter()
            .zip(&names)
            .map(|(file, name)| (&**name, self.read(&from.join(&file.path))))
            .collect();
        let rewritten = self.classes(units, "", &read)?;
        self.check_strictness()?;
        if let Some(to) = to {
            files
                .par_iter()
                .zip(rewritten)
                .try_for_each(|(file, rewritten)| match rewritten {
                    Some(bytes) => {
                        let source = from.join(&file.path);
                        write(&to.join(&file.path), &bytes, Some(&source))
                    }
                    None => Ok(()),
                })?;
        }
        self.progress
            .advance(files.iter().map(|file| file.len).sum());
        Ok(())
    }

    /// A module whose description cannot be changed cannot get what its classes
    /// would need, so they stay.
    fn check_module_file(&mut self, units: &mut Units, from: &Path, name: &str) {
        let checked = self
            .read(&from.join(name))
            .map_err(|fault| fault.to_string())
            .and_then(|bytes| self.check_module(&bytes));
        if let Err(fault) = checked {
            let line = format!("{name}: {fault}; its classes stay, too");
            self.tally.unreadable.push(line);
            units.close(module_root(name));
        }
    }

    fn module_info_file(
        &mut self,
        units: &Units,
        from: &Path,
        to: &Path,
        name: &str,
    ) -> Result<(), Error> {
        if self.plan.tracker == Tracker::None {
            return Ok(());
        }
        let unit = units.rewritten_module(module_root(name));
        let needs = unit.map(|unit| unit.needs(self.plan.tracker));
        let source = from.join(name);
        let bytes = match self.read(&source) {
            Ok(bytes) => bytes,
            // It is named already.
            Err(_) if needs.is_none() => return Ok(()),
            Err(error) => return Err(at(&source, &error).into()),
        };
        match module_info::changed(&bytes, needs) {
            Ok(changed) if changed != bytes => {
                if needs.is_none() {
                    self.tally.unhashed.push(name.to_owned());
                }
                write(&to.join(name), &changed, Some(&source))
            }
            _ => Ok(()),
        }
    }

    /// Tells a folder's classes from others.
    fn fingerprint(&self, from: &Path, files: &[Found]) -> Result<Vec<u8>, Error> {
        let mut hash = Sha256::new();
        for file in files.iter().filter(|file| is_class(&file.name())) {
            self.progress.check()?;
            hash.update(file.path.as_os_str().as_bytes());
            hash.update([0]);
            let path = from.join(&file.path);
            let mut class = File::open(&path).map_err(|error| at(&path, &error))?;
            io::copy(&mut class, &mut hash).map_err(|error| at(&path, &error))?;
        }
        Ok(hash.finalize().to_vec())
    }

    /// Reads a class.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let most = self.plan.most_entry;
        let mut class = Vec::new();
        let mut file = File::open(path)?.take(most.saturating_add(1));
        file.read_to_end(&mut class)?;
        if class.len() as u64 > most {
            let fault = format!("larger than {} MiB", most >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
        }
        Ok(class)
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

/// Whether both are one file or folder, which is there.
fn is_same(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}
