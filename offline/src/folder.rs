//! Rewrites the classes and archives of a folder.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rawzip::FileReader;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::attributes::Attributes;
use crate::error::at;
use crate::found::Found;
use crate::module_info;
use crate::plan::Tracker;
use crate::tree::NewFolder;
use crate::units::{Units, is_module_info, module_root};
use crate::{BATCH, Error, Offline, is_archive, is_class, tree};

impl Offline<'_> {
    /// Rewrites the archive in the file `from` into the file `to`, which may be the same file. The
    /// archive is written to a temporary file and renamed, so `to` is never incomplete. Nothing is
    /// written if `to` is `None`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn archive_file(
        &mut self,
        name: &str,
        from: &Path,
        to: Option<&Path>,
    ) -> Result<(), Error> {
        let changed = self.archive_into(name, File::open(from)?, from, to)?;
        if let Some(to) = to.filter(|to| !changed && !is_same(from, to)) {
            let out = beside(to)?;
            tree::copy(from, out.path()).map_err(|error| at(from, &error))?;
            keep(out, to)?;
        }
        Ok(())
    }

    /// Writes the rewritten archive if it differs from the old one. Returns whether it differs.
    fn archive_into(
        &mut self,
        name: &str,
        file: File,
        from: &Path,
        to: Option<&Path>,
    ) -> Result<bool, Error> {
        let len = file.metadata()?.len();
        let source = FileReader::from(file);
        let Some(to) = to else {
            let changed = self.archive(name, source, len, io::sink())?;
            self.check_strictness()?;
            return Ok(changed);
        };
        let mut out = BufWriter::with_capacity(1 << 20, beside(to)?);
        let changed = self.archive(name, source, len, &mut out)?;
        self.check_strictness()?;
        self.progress.check()?;
        if changed {
            let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            Attributes::of(from)?.give(out.as_file())?;
            keep(out, to)?;
        }
        Ok(changed)
    }

    fn check_strictness(&self) -> Result<(), Error> {
        match self.tally.unreadable.first() {
            Some(line) if self.plan.strict => Err(Error::Unreadable(line.clone())),
            _ => Ok(()),
        }
    }

    /// Rewrites the classes and archives among `files` below `from` into a folder that will become `to`, which
    /// may be `from`. Nothing is written if `to` is `None`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn folder(
        &mut self,
        from: &Path,
        files: &[Found],
        to: Option<&Path>,
    ) -> Result<Option<NewFolder>, Error> {
        let Some(to) = to else {
            self.changes(from, files, None)?;
            return Ok(None);
        };
        let mut new = NewFolder::beside(to)?;
        let into = new.path().to_owned();
        self.changes(from, files, Some(&into))?;
        new.complete(from, files, self.progress)?;
        Ok(Some(new))
    }

    /// Writes the files that change when they are rewritten.
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
                bytes += file.bytes();
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
                let target = to.map(|to| to.join(&file.path));
                let opened = File::open(&source).map_err(|error| at(&source, &error))?;
                let done = self.archive_into(name, opened, &source, target.as_deref());
                if let Err(Error::Zip(error)) = done {
                    self.tally.unreadable.push(format!("{name}: {error}"));
                } else {
                    done?;
                }
                continue;
            }
            self.tally.other_files += 1;
            self.progress.advance(file.bytes());
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
            .map(|(file, name)| (&**name, self.read_class(&from.join(&file.path))))
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
            .advance(files.iter().map(|file| file.bytes()).sum());
        Ok(())
    }

    /// Checks the description of a module. If it cannot be changed, the module's classes stay as
    /// they are, because they could not call the tracker.
    fn check_module_file(&mut self, units: &mut Units, from: &Path, name: &str) {
        let checked = self
            .read_class(&from.join(name))
            .map_err(|fault| fault.to_string())
            .and_then(|bytes| self.check_module(&bytes));
        if let Err(fault) = checked {
            let line = format!("{name}: {fault}; the module's classes are not instrumented");
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
        let bytes = match self.read_class(&source) {
            Ok(bytes) => bytes,
            // Reading the file has already failed, and the tally names the file.
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

    /// Returns the hash of the classes of a folder. The ids of the folder's units are derived from
    /// this hash.
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
    fn read_class(&self, path: &Path) -> io::Result<Vec<u8>> {
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

/// Makes a temporary file in the folder of `path`.
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

/// Renames a written temporary file to `to`.
fn keep(written: NamedTempFile, to: &Path) -> Result<(), Error> {
    // Without this call, the new name may have no data after a crash of the
    // machine.
    written.as_file().sync_data()?;
    // If `to` is a link, the file to which the link leads is replaced.
    let to = fs::canonicalize(to).unwrap_or_else(|_| to.to_owned());
    written
        .persist(&to)
        .map_err(|error| at(&to, &error.error))?;
    Ok(())
}

/// Writes a file into a new folder, with the attributes of the file `like` if there is one. The
/// folder is synchronised to disk as a whole later.
fn write(to: &Path, content: &[u8], like: Option<&Path>) -> Result<(), Error> {
    let mut out = beside(to)?;
    out.write_all(content).map_err(|error| at(to, &error))?;
    if let Some(like) = like {
        Attributes::of(like)?.give(out.as_file())?;
    } else {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        out.as_file().set_permissions(permissions)?;
    }
    out.persist(to).map_err(|error| at(to, &error.error))?;
    Ok(())
}

/// Returns whether both paths lead to the same existing file or folder.
fn is_same(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}
