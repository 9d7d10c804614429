//! Compares outputs with their inputs, reading both again: what should not have
//! changed is equal to the byte, and what has changed can be read completely.

mod archive;
mod class;
mod module;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::access;
use rawzip::FileReader;
use rayon::prelude::*;

use crate::ahead::INDEX;
use crate::attributes::FileState;
use crate::signatures::{is_manifest, is_signature, without_digests};
use crate::zip::{Archive, ZipError};
use crate::{Error, Found, Plan, Progress, is_archive, is_class};

/// Checks outputs, one after the other.
#[derive(Debug)]
pub struct Verifier<'a> {
    plan: &'a Plan,
    progress: &'a Progress,
    checked: Checked,
}

/// Results of a [`Verifier`].
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Files and entries that did not change.
    pub untouched: u64,
    /// Classes that were rewritten or added.
    pub changed: u64,
    /// Bytes of the classes in `changed`.
    pub changed_bytes: u64,
    /// Faults and their places.
    pub faults: Vec<String>,
    /// Classes and archives that cannot be checked, because their inputs changed
    /// since they were read.
    pub outdated: Vec<String>,
    /// The direct superclass of each class, by internal names; `None` for
    /// interfaces.
    pub superclasses: BTreeMap<String, Option<String>>,
}

/// A class that was rewritten, or added.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// `app.jar!/com/example/Service.class`
    pub name: &'a str,
    /// The original class; `None` if the class was added.
    pub before: Option<&'a [u8]>,
    /// The new class.
    pub after: &'a [u8],
}

/// Called with each changed class.
pub type Visit<'v> = dyn FnMut(Changed<'_>) -> Result<(), Error> + 'v;

impl<'a> Verifier<'a> {
    /// A verifier of the outputs of `plan`.
    pub fn new(plan: &'a Plan, progress: &'a Progress) -> Self {
        Verifier {
            plan,
            progress,
            checked: Checked::default(),
        }
    }

    /// Results so far.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Checks a class that is in no folder or archive.
    pub fn class(&mut self, name: &str, before: &[u8], after: &[u8]) {
        let found = self.pair(name, Some(before), after);
        self.checked.add(found);
    }

    /// Checks the archive in the file `to`, made from the one in `from`.
    ///
    /// # Errors
    /// When a file cannot be read, `from` is no archive, or the user interrupts.
    /// Faults of `to` are no errors.
    pub fn archive_file(&mut self, name: &str, from: &Path, to: &Path) -> Result<(), Error> {
        let found = self.file_pair(name, from, to)?;
        self.checked.add(found);
        Ok(())
    }

    /// Checks the folder `to`, made from `olds` in `from`.
    ///
    /// # Errors
    /// Fails as [`Verifier::archive_file`] does.
    pub fn folder(&mut self, from: &Path, olds: &[Found], to: &Path) -> Result<(), Error> {
        let news = files(to)?;
        let olds: BTreeMap<&Path, &Found> = olds.iter().map(|old| (&*old.path, old)).collect();
        let gone = olds.keys().filter(|path| !news.contains(**path));
        let all: BTreeSet<&Path> = news
            .iter()
            .map(|path| &**path)
            .chain(gone.copied())
            .collect();
        let all: Vec<&Path> = all.into_iter().collect();
        let check = |path: &&Path| {
            self.progress.check()?;
            let name = &path.to_string_lossy();
            let (source, target) = (from.join(path), to.join(path));
            let old = olds.get(path);
            let checked = match (old.is_some(), target.is_file()) {
                (_, false) => Ok(Checked::fault(name, "it is missing")),
                (true, true) => self.file_pair(name, &source, &target),
                (false, true) if is_ours(name) => Ok(self.added(name, &fs::read(&target)?)),
                (false, true) => Ok(Checked::fault(name, "it is not in the input")),
            };
            let is_outdated = old.is_some_and(|old| !old.is_as_found(from));
            match checked {
                Ok(checked) if checked.faults.is_empty() => Ok(checked),
                _ if is_outdated => {
                    let mut checked = Checked::default();
                    if is_class(name) || is_archive(name) {
                        checked.outdated.push(name.to_string());
                    }
                    Ok(checked)
                }
                other => other,
            }
        };
        let found: Result<Vec<_>, Error> = all.par_iter().map(check).collect();
        found?.into_iter().for_each(|found| self.checked.add(found));
        Ok(())
    }

    /// Checks the file `to`, made from `from`.
    fn file_pair(&self, name: &str, from: &Path, to: &Path) -> Result<Checked, Error> {
        if is_class(name) {
            return Ok(self.pair(name, Some(&fs::read(from)?), &fs::read(to)?));
        }
        let state = |path| FileState::of(path).ok().flatten();
        let is_one = state(from)
            .zip(state(to))
            .is_some_and(|(a, b)| a.is_same_file(&b));
        if is_one || same_files(from, to)? {
            return Ok(Checked::untouched());
        }
        let before = match open(from) {
            Ok(before) => before,
            Err(_) => return Ok(Checked::fault(name, "its content changed")),
        };
        match open(to) {
            Ok(after) => self.archives(name, &before, &after),
            Err(error) => Ok(Checked::fault(name, &error.to_string())),
        }
    }

    fn pair(&self, name: &str, before: Option<&[u8]>, after: &[u8]) -> Checked {
        let mut checked = Checked::default();
        if before == Some(after) {
            checked.untouched = 1;
        } else {
            checked.changed = 1;
            checked.changed_bytes = after.len() as u64;
            if let Some(fault) = class::fault(before, after) {
                checked.faults.push(format!("{name}: {fault}"));
            }
        }
        checked.superclasses.extend(superclass(after));
        checked
    }

    /// Checks an added file or entry.
    fn added(&self, name: &str, content: &[u8]) -> Checked {
        match is_class(name) {
            true => self.pair(name, None, content),
            false => Checked::default(),
        }
    }

    /// The new content that an entry or file may have that is no class or archive.
    fn expected(&self, name: &str, before: &[u8]) -> Option<Vec<u8>> {
        (self.plan.strip_signatures && is_manifest(name)).then(|| without_digests(before))
    }

    fn may_go(&self, name: &str) -> bool {
        name == INDEX || self.plan.strip_signatures && is_signature(name)
    }
}

/// Calls back with each class of the archive in the file `to` that changed or was
/// added, in the order of entries.
///
/// # Errors
/// When a file or entry cannot be read, and those of `visit`.
pub fn changed_in_archive(
    name: &str,
    from: &Path,
    to: &Path,
    plan: &Plan,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    if same_files(from, to)? {
        return Ok(());
    }
    archive::visit(name, &open(from)?, &open(to)?, plan, visit)
}

/// Does the same as [`changed_in_archive`] for the folder `to`.
///
/// # Errors
/// Fails as [`changed_in_archive`] does.
pub fn changed_in_folder(
    from: &Path,
    to: &Path,
    plan: &Plan,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    for path in files(to)? {
        let (source, target) = (from.join(&path), to.join(&path));
        let name = &path.to_string_lossy();
        if is_archive(name) && open(&source).is_ok() {
            changed_in_archive(name, &source, &target, plan, visit)?;
        } else if is_class(name) {
            let before = source.exists().then(|| fs::read(&source)).transpose()?;
            let (before, after) = (before.as_deref(), &fs::read(&target)?);
            if before != Some(after) {
                visit(Changed {
                    name,
                    before,
                    after,
                })?;
            }
        }
    }
    Ok(())
}

impl Checked {
    fn untouched() -> Checked {
        Checked {
            untouched: 1,
            ..Checked::default()
        }
    }

    fn fault(name: &str, fault: &str) -> Checked {
        Checked {
            faults: vec![format!("{name}: {fault}")],
            ..Checked::default()
        }
    }

    fn add(&mut self, other: Checked) {
        self.untouched += other.untouched;
        self.changed += other.changed;
        self.changed_bytes += other.changed_bytes;
        self.faults.extend(other.faults);
        self.outdated.extend(other.outdated);
        self.superclasses.extend(other.superclasses);
    }
}

/// Finds the files below a folder. Links are not followed.
fn files(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
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

fn open(path: &Path) -> Result<Archive<FileReader>, ZipError> {
    Archive::open_file(File::open(path)?)
}

fn same_files(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let mut buffers = [(); 2].map(|()| vec![0; 1 << 16]);
    loop {
        let [first, second] = &mut buffers;
        let len = a.read(first)?;
        b.read_exact(&mut second[..len])?;
        match len {
            0 => return Ok(true),
            _ if first[..len] != second[..len] => return Ok(false),
            _ => {}
        }
    }
}

/// Returns whether a file is where the classes of trackers and parts are.
fn is_ours(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("/{folder}/").contains("/loadhook/")
}

/// Name and direct superclass of a class; `None` if it is no class, or its name is
/// not UTF-8.
fn superclass(class: &[u8]) -> Option<(String, Option<String>)> {
    let class = ClassFile::parse(class).ok()?;
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).ok();
    let is_interface = class.access_flags() & access::INTERFACE != 0;
    let superclass = match is_interface {
        true => None,
        false => Some(text(class.super_name()?)?),
    };
    Some((text(class.name())?, superclass))
}
