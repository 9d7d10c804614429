//! Checks files and folders of outputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rayon::prelude::*;

use super::checked::Checked;
use super::contents::{ContentChecks, is_ours};
use super::files::{files, open, same_files};
use crate::attributes::FileState;
use crate::{Error, Found, Plan, Progress, is_archive, is_class};

/// Verifies outputs, one after the other.
#[derive(Debug)]
pub struct Verifier<'a> {
    checks: ContentChecks<'a>,
    checked: Checked,
}

impl<'a> Verifier<'a> {
    /// Makes a verifier of outputs that were made by `plan`.
    pub fn new(plan: &'a Plan, progress: &'a Progress) -> Self {
        Verifier {
            checks: ContentChecks { plan, progress },
            checked: Checked::default(),
        }
    }

    /// Returns the results so far.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Checks a class that is in no folder or archive.
    pub fn class(&mut self, name: &str, before: &[u8], after: &[u8]) {
        let found = self.checks.class(name, Some(before), after);
        self.checked.add(found);
    }

    /// Checks the archive in the file `to`, which was made from the archive in `from`.
    ///
    /// # Errors
    /// When a file cannot be read, `from` is not an archive, or the user interrupts. Faults of `to` are not
    /// errors, but results.
    pub fn archive_file(&mut self, name: &str, from: &Path, to: &Path) -> Result<(), Error> {
        let found = self.file_pair(name, from, to)?;
        self.checked.add(found);
        Ok(())
    }

    /// Checks the folder `to`, which was made from the files `olds` in `from`.
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
            self.checks.progress.check()?;
            let name = &path.to_string_lossy();
            let (source, target) = (from.join(path), to.join(path));
            let old = olds.get(path);
            let checked = match (old.is_some(), target.is_file()) {
                (_, false) => Ok(Checked::fault(name, "it is missing")),
                (true, true) => self.file_pair(name, &source, &target),
                (false, true) if is_ours(name) => Ok(self.checks.added(name, &fs::read(&target)?)),
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

    /// Checks the file `to`, which was made from `from`.
    fn file_pair(&self, name: &str, from: &Path, to: &Path) -> Result<Checked, Error> {
        if is_class(name) {
            return Ok(self
                .checks
                .class(name, Some(&fs::read(from)?), &fs::read(to)?));
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
            Ok(after) => self.checks.archives(name, &before, &after),
            Err(error) => Ok(Checked::fault(name, &error.to_string())),
        }
    }
}
