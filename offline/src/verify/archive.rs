//! Checks archives and nested archives entry by entry.

use rawzip::ReaderAt;
use rayon::prelude::*;

use super::{Changed, Checked, Verifier, Visit, is_ours};
use crate::zip::compare::{same_but_content, same_entry, same_frame};
use crate::zip::{Archive, Content, Entry, ZipError};
use crate::{Error, Plan, is_archive, is_class};

/// An entry of the output and the entry of the input that it was made from.
struct Pair<'a> {
    before: Option<&'a Entry>,
    after: &'a Entry,
}

/// Pairs the entries of output and input, and finds removed ones. Entries keep
/// their order; new ones come last.
fn pairs<'a, R: ReaderAt, S: ReaderAt>(
    before: &'a Archive<R>,
    after: &'a Archive<S>,
) -> (Vec<Pair<'a>>, Vec<&'a Entry>) {
    let mut olds = before.entries().iter();
    let (mut pairs, mut gone) = (Vec::new(), Vec::new());
    for entry in after.entries() {
        let name = after.name(entry);
        let skipped = olds.clone().position(|old| before.name(old) == name);
        gone.extend(olds.by_ref().take(skipped.unwrap_or(0)));
        pairs.push(Pair {
            before: skipped.and_then(|_| olds.next()),
            after: entry,
        });
    }
    gone.extend(olds);
    (pairs, gone)
}

fn text<R: ReaderAt>(archive: &Archive<R>, entry: &Entry) -> String {
    String::from_utf8_lossy(archive.name(entry)).into_owned()
}

impl Verifier<'_> {
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
                // One that cannot be read stays as it was.
                let class = content().ok();
                checked
                    .superclasses
                    .extend(class.and_then(|class| super::superclass(&class)));
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
            return Ok(self.pair(&name, Some(&original), &content));
        }
        match self.expected(&entry, &original) {
            _ if content == original => Ok(Checked::untouched()),
            Some(expected) if expected == content => Ok(Checked::default()),
            _ => fault("its content changed"),
        }
    }
}

/// Opens a nested archive, which may be large.
fn opened<'a, R: ReaderAt + Sync>(
    archive: &'a Archive<R>,
    entry: &Entry,
    most: u64,
) -> Result<Archive<Content<'a>>, ZipError> {
    let content = archive.content(entry, most)?;
    Archive::open(content, entry.size())
}

/// Calls back with each class of `after` that differs from `before`.
pub(super) fn visit<R: ReaderAt + Sync, S: ReaderAt + Sync>(
    name: &str,
    before: &Archive<R>,
    after: &Archive<S>,
    plan: &Plan,
    visitor: &mut Visit<'_>,
) -> Result<(), Error> {
    for pair in pairs(before, after).0 {
        let entry = text(after, pair.after);
        let is_wanted = is_class(&entry) || is_archive(&entry);
        if !is_wanted {
            continue;
        }
        if let Some(old) = pair.before
            && same_entry((before, old), (after, pair.after))?
        {
            continue;
        }
        let name = &format!("{name}!/{entry}");
        let most = plan.most_entry;
        if let Some(old) = pair.before.filter(|_| is_archive(&entry)) {
            let (old, new) = (opened(before, old, most)?, opened(after, pair.after, most)?);
            visit(name, &old, &new, plan, visitor)?;
            continue;
        }
        let old = pair.before.map(|old| before.read(old, most)).transpose()?;
        let content = after.read(pair.after, most)?;
        visitor(Changed {
            name,
            before: old.as_deref(),
            after: &content,
        })?;
    }
    Ok(())
}
