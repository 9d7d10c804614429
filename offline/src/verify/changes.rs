//! Finds the classes that differ between inputs and outputs.

use std::fs;
use std::path::Path;

use rawzip::ReaderAt;

use super::files::{files, open, same_files};
use super::pairs::{opened, pairs, text};
use crate::zip::Archive;
use crate::zip::compare::same_entry;
use crate::{Error, Plan, is_archive, is_class};

/// A class that was rewritten, or added.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// The class's name for messages: `app.jar!/com/example/Service.class`.
    pub name: &'a str,
    /// The original class; `None` if the class was added.
    pub before: Option<&'a [u8]>,
    /// The new class.
    pub after: &'a [u8],
}

/// Callback that gets each changed class.
pub type Visit<'v> = dyn FnMut(Changed<'_>) -> Result<(), Error> + 'v;

/// Calls `visit` with each class of the archive in the file `to` that changed or was added, in the
/// order of entries.
///
/// # Errors
/// When a file or entry cannot be read, or when `visit` fails.
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
    visit_archive(name, &open(from)?, &open(to)?, plan, visit)
}

/// Does the same as [`changed_in_archive`] for the folder `to`, which was made from the folder `from`.
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

/// Calls `visitor` with each class of `after` that differs from `before`.
fn visit_archive<R: ReaderAt + Sync, S: ReaderAt + Sync>(
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
            visit_archive(name, &old, &new, plan, visitor)?;
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
