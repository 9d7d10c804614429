//! Facts about an archive that are needed before its first entry is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rawzip::ReaderAt;
use rayon::prelude::*;

use crate::module_info;
use crate::plan::Tracker;
use crate::units::{Units, is_module_info, module_root, needs};
use crate::zip::{Archive, Entry};
use crate::{BATCH, Error, Offline, is_class};
use loadhook_text::printable_bytes;

/// An index of the packages in several archives (JAR specification), which class loaders up to JDK 17 use. If the
/// index lacks the tracker's package, class loaders do not find the tracker. Without an index, class loading works,
/// only slower.
pub(crate) const INDEX: &str = "META-INF/INDEX.LIST";

/// Forecast of the changes to an archive's classes. Module descriptions and the index depend on the
/// forecast, and may come before the classes.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// Roots of the modules in which a class will be rewritten.
    pub(crate) modules: BTreeSet<String>,
    /// True if there is an index and a class will be rewritten.
    pub(crate) outdates_index: bool,
}

impl Offline<'_> {
    /// Forecasts the changes, and reads no more classes than needed. If the description of a module cannot be
    /// read, the module's classes stay as they are, because the module could not be changed to read the tracker.
    pub(crate) fn look_ahead<R: ReaderAt + Sync>(
        &mut self,
        name: &str,
        archive: &Archive<R>,
        names: &[Option<&str>],
        units: &mut Units,
    ) -> Result<Ahead, Error> {
        if self.plan.tracker == Tracker::None {
            return Ok(Ahead::default());
        }
        let all = || {
            let entries = archive.entries().iter().zip(names);
            let entries = entries.filter(|(entry, _)| !entry.is_alias());
            entries.filter_map(|(entry, name)| Some((entry, (*name)?)))
        };
        let mut modules = BTreeMap::new();
        for (entry, path) in all().filter(|(_, path)| is_module_info(path)) {
            let root = module_root(path);
            let read = self.read(archive, entry, name)?;
            let read = read.map_err(|fault| fault.to_string());
            if let Err(fault) = read.and_then(|bytes| self.check_module(&bytes)) {
                let path = printable_bytes(path.as_bytes());
                self.tally.unreadable.push(format!(
                    "{name}!/{path}: {fault}; the module's classes are not instrumented"
                ));
                units.close(root);
            }
            modules.insert(root, AtomicBool::new(false));
        }
        let any = AtomicBool::new(!all().any(|(_, name)| name == INDEX));
        let is_indexed = !any.load(Ordering::Relaxed);
        if modules.is_empty() && !is_indexed {
            return Ok(Ahead::default());
        }
        let classes: Vec<(&Entry, &str)> = all()
            .filter(|(_, name)| is_class(name) && !is_module_info(name))
            .collect();
        // The forecast uses a copy of the budget. The classes are unpacked again later, and then count towards the
        // budget itself.
        let mut budget = self.budget.clone();
        for (entry, _) in &classes {
            budget.take(self.unpacked(entry), name)?;
        }
        let look = |(entry, name): &(&Entry, &'_ str)| {
            let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
            let mut roots = ancestors(name).filter_map(|root| modules.get(root));
            let is_known = is_set(&any) && roots.all(is_set);
            if is_known {
                return;
            }
            if let Some(root) = self.rewrites(archive, entry, name, units) {
                any.store(true, Ordering::Relaxed);
                if let Some(flag) = modules.get(root) {
                    flag.store(true, Ordering::Relaxed);
                }
            }
        };
        for batch in batches(&classes, |(entry, _)| entry.size()) {
            self.progress.check()?;
            batch.par_iter().for_each(look);
        }
        let rewritten = modules
            .into_iter()
            .filter(|(_, flag)| flag.load(Ordering::Relaxed));
        Ok(Ahead {
            modules: rewritten.map(|(root, _)| root.to_owned()).collect(),
            outdates_index: is_indexed && any.into_inner(),
        })
    }

    /// Checks that a module's description can be changed.
    pub(crate) fn check_module(&self, bytes: &[u8]) -> Result<(), String> {
        let changed = module_info::changed(bytes, Some(needs("loadhook", self.plan.tracker)));
        changed.map(drop).map_err(|fault| fault.to_string())
    }

    /// Returns the root of the class in `entry`; `None` if that class will not be rewritten.
    fn rewrites<'n, R: ReaderAt>(
        &self,
        archive: &Archive<R>,
        entry: &Entry,
        name: &'n str,
        units: &Units,
    ) -> Option<&'n str> {
        let bytes = archive.read(entry, self.plan.most_entry).ok()?;
        let facts = self.rewriter.facts(&bytes).ok()?;
        let root = units.root(name, &facts.name)?;
        self.rewriter.rewrites(&bytes, &facts).then_some(root)
    }
}

/// Cuts a list into batches of about [`BATCH`] bytes, to limit memory.
fn batches<T>(mut items: &[T], size: impl Fn(&T) -> u64) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut bytes: u64 = 0;
        let is_full = |item| {
            bytes = bytes.saturating_add(size(item));
            bytes >= BATCH
        };
        let len = items.iter().position(is_full);
        let (batch, rest) = items.split_at(len.map_or(items.len(), |last| last + 1));
        items = rest;
        (!batch.is_empty()).then_some(batch)
    })
}

/// Returns the folders above a path, beginning with `""`. Each of the folders may be the root of
/// the path.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).map(|end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::{BATCH, ancestors, batches};

    #[test]
    fn batches_end_where_they_are_full() {
        let sizes = [BATCH / 2, BATCH / 2 - 1, 1, BATCH, u64::MAX, 1, 2];
        let lens: Vec<usize> = batches(&sizes, |size| *size).map(<[u64]>::len).collect();
        assert_eq!(lens, [3, 1, 1, 2]);
    }

    #[test]
    fn roots_end_with_a_slash() {
        let all: Vec<&str> = ancestors("WEB-INF/classes/A.class").collect();
        assert_eq!(all, ["", "WEB-INF/", "WEB-INF/classes/"]);
    }
}
