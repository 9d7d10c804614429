//! Checks archives and nested archives entry by entry.

use rawzip::ReaderAt;
use rayon::prelude::*;

use super::checked::Checked;
use super::contents::{ContentChecks, is_ours, superclass};
use super::pairs::{Pair, opened, pairs, text};
use crate::zip::Archive;
use crate::zip::compare::{same_but_content, same_entry, same_frame};
use crate::{Error, is_archive, is_class};

impl ContentChecks<'_> {
    /// Checks the archive `after`, which was made from `before`, entry by entry.
    pub(super) fn archives<R: ReaderAt + Sync, S: ReaderAt + Sync>(
        &self,
        name: &str,
        before: &Archive<R>,
        after: &Archive<S>,
    ) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        if !same_frame(before, after)? {
            let fault = "the bytes before its entries, or its comment, changed";
            checked.add(Checked::fault(name, fault));
        }
        let (pairs, gone) = pairs(before, after);
        for entry in gone.into_iter().map(|entry| text(before, entry)) {
            if !self.may_go(&entry) {
                checked.add(Checked::fault(&format!("{name}!/{entry}"), "it is missing"));
            }
        }
        let all: Vec<Checked> = pairs
            .par_iter()
            .map(|pair| {
                self.progress.check()?;
                self.entry(name, before, after, pair)
            })
            .collect::<Result<_, Error>>()?;
        all.into_iter().for_each(|found| checked.add(found));
        Ok(checked)
    }

    fn entry<R: ReaderAt + Sync, S: ReaderAt + Sync>(
        &self,
        archive: &str,
        before: &Archive<R>,
        after: &Archive<S>,
        pair: &Pair<'_>,
    ) -> Result<Checked, Error> {
        let entry = text(after, pair.after);
        let name = format!("{archive}!/{entry}");
        let fault = |what: &str| Ok(Checked::fault(&name, what));
        let content = || after.read(pair.after, self.plan.most_entry);
        let Some(old) = pair.before else {
            return match content() {
                Ok(content) if is_ours(&entry) => Ok(self.added(&name, &content)),
                Ok(_) => fault("it is not in the input"),
                Err(error) => fault(&error.to_string()),
            };
        };
        if same_entry((before, old), (after, pair.after))? {
            let mut checked = Checked::untouched();
            if is_class(&entry) {
                // A class that cannot be read must stay as it was.
                let class = content().ok();
                checked
                    .superclasses
                    .extend(class.and_then(|class| superclass(&class)));
            }
            return Ok(checked);
        }
        match same_but_content((before, old), (after, pair.after)) {
            Ok(true) => {}
            Ok(false) => return fault("its zip records changed"),
            Err(error) => return fault(&error.to_string()),
        }
        if is_archive(&entry) {
            let most = self.plan.most_entry;
            return match (opened(before, old, most), opened(after, pair.after, most)) {
                (Ok(before), Ok(after)) => self.archives(&name, &before, &after),
                (_, Err(error)) | (Err(error), _) => fault(&error.to_string()),
            };
        }
        let content = match content() {
            Ok(content) => content,
            Err(error) => return fault(&error.to_string()),
        };
        let original = before.read(old, self.plan.most_entry)?;
        if is_class(&entry) {
            return Ok(self.class(&name, Some(&original), &content));
        }
        match self.expected(&entry, &original) {
            _ if content == original => Ok(Checked::untouched()),
            Some(expected) if expected == content => Ok(Checked::default()),
            _ => fault("its content changed"),
        }
    }
}
