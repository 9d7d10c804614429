//! Checks the contents of single files and entries.

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::access;

use super::checked::Checked;
use super::class;
use crate::ahead::INDEX;
use crate::signatures::{is_manifest, is_signature, without_digests};
use crate::{Plan, Progress, is_class};

/// Checks contents. The plan decides which changes are permitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContentChecks<'a> {
    pub(super) plan: &'a Plan,
    /// Ends the checks when the user interrupts.
    pub(super) progress: &'a Progress,
}

impl ContentChecks<'_> {
    /// Checks the class `after`, which was made from `before`; `before` is `None` if the class was
    /// added.
    pub(super) fn class(&self, name: &str, before: Option<&[u8]>, after: &[u8]) -> Checked {
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
    pub(super) fn added(&self, name: &str, content: &[u8]) -> Checked {
        if is_class(name) {
            self.class(name, None, content)
        } else {
            Checked::default()
        }
    }

    /// Returns the changed content that the file or entry `name` may have in the output; `None` if it must not
    /// change. The file or entry is neither a class nor an archive.
    pub(super) fn expected(&self, name: &str, before: &[u8]) -> Option<Vec<u8>> {
        (self.plan.strip_signatures && is_manifest(name)).then(|| without_digests(before))
    }

    /// Returns whether an entry may be missing in the output.
    pub(super) fn may_go(&self, name: &str) -> bool {
        name == INDEX || self.plan.strip_signatures && is_signature(name)
    }
}

/// Returns whether a file is in a folder that Loadhook adds for trackers and parts.
pub(super) fn is_ours(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("/{folder}/").contains("/loadhook/")
}

/// Returns the name and the direct superclass of a class; `None` if the bytes are not a class, or
/// the name is not UTF-8.
pub(super) fn superclass(class: &[u8]) -> Option<(String, Option<String>)> {
    let class = ClassFile::parse(class).ok()?;
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).ok();
    let is_interface = class.access_flags() & access::INTERFACE != 0;
    let superclass = if is_interface {
        None
    } else {
        Some(text(class.super_name()?)?)
    };
    Some((text(class.name())?, superclass))
}
