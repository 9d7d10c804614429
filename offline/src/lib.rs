//! Rewrites Java classes on disk: class files, folders and archives, nested
//! archives included. Rewritten programs count their calls without an agent.
//!
//! Everything but rewritten classes stays as it was, byte for byte. An archive keeps its entries' order, names,
//! times, comments and packing. The output depends only on the input and the [`Plan`], not on the number of
//! threads.
//!
//! A *unit* is the content of one class path entry or module. With [`Tracker::Embed`] each unit
//! gets the classes of the tracker, symbols, and a *part*: the class that the unit's probes call.
//! `docs/dev/jars.md` describes how tracker, symbols and part work together.
#![forbid(unsafe_code)]

mod ahead;
mod archive;
mod attributes;
mod budget;
mod class_facts;
mod class_rewriter;
mod error;
mod folder;
mod found;
mod leftover;
mod module_info;
mod plan;
mod signatures;
mod symbols;
mod tally;
mod tracker;
mod tree;
mod units;
pub mod verify;
pub mod zip;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use crate::budget::Budget;
use crate::class_facts::{Facts, Ids, TrackerUse};
use crate::class_rewriter::{ClassRewriter, RewrittenClass};
pub use crate::error::Error;
pub use crate::found::{Found, find};
pub use crate::plan::{Plan, Tracker};
pub use crate::tally::{Detail, Identified, Names, Tally};
pub use crate::tracker::jar as tracker_jar;
pub use crate::tree::NewFolder;
use crate::units::{Assignment, Units, place};
use loadhook_text::printable_bytes;

/// Approximate number of bytes of classes that are in memory at a time.
const BATCH: u64 = 16 << 20;

/// Maximum number of bytes of names and descriptors of a class's methods. Many methods can share
/// one long name, so a class file of 2 MB could otherwise need 4 GB.
const MOST_SYMBOLS: u64 = 64 << 20;

/// Progress of a rewriting. Other threads can read it, and can stop the rewriting.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of bytes of the inputs that were processed.
    pub done: AtomicU64,
    /// True ends the rewriting with [`Error::Interrupted`].
    pub stop: Arc<AtomicBool>,
}

impl Progress {
    fn check(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Rewrites inputs, one after the other.
pub struct Offline<'a> {
    plan: &'a Plan,
    rewriter: ClassRewriter<'a>,
    progress: &'a Progress,
    /// The next ids for classes whose probes call no part. No base is added to these ids, so they must be unique
    /// over all inputs.
    outside: Ids,
    budget: Budget,
    tally: Tally,
}

impl<'a> Offline<'a> {
    /// Makes a rewriter for this plan. `detail` selects the lists in the tally.
    pub fn new(plan: &'a Plan, detail: Detail, progress: &'a Progress) -> Self {
        Offline {
            plan,
            rewriter: ClassRewriter::new(plan, detail),
            progress,
            outside: Ids::default(),
            budget: Budget::unlimited(),
            tally: Tally::new(detail),
        }
    }

    /// Returns the counts over everything that was rewritten so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the patterns that have matched nothing so far.
    pub fn unmatched(&self) -> Vec<String> {
        self.rewriter.unmatched()
    }

    /// Rewrites a class that is in no folder or archive. Returns `None` if the class stays unchanged. The plan's
    /// tracker must be [`Tracker::None`].
    ///
    /// # Errors
    /// When `bytes` is not a class file, or the class has probes already.
    pub fn class(&mut self, name: &str, bytes: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let facts = self.rewriter.facts(bytes).map_err(Error::NoClass)?;
        if !self.is_fresh(name, &facts)? {
            return Ok(None);
        }
        let first = self.outside.take(facts.ids);
        let done = self
            .rewriter
            .rewrite(name, bytes, "loadhook/Tracker", first)
            .map_err(Error::NoClass)?;
        self.tally.add(done.tally);
        self.progress.advance(bytes.len() as u64);
        Ok(done.bytes)
    }

    /// Returns whether a class may get probes. If not, counts the class in the tally.
    fn is_fresh(&mut self, name: &str, facts: &Facts) -> Result<bool, Error> {
        match facts.tracker_use {
            TrackerUse::Fresh => return Ok(true),
            TrackerUse::Tracker => self.tally.other_files += 1,
            TrackerUse::Instrumented if self.plan.skip_instrumented => {
                self.tally.already_instrumented += 1;
            }
            TrackerUse::Instrumented => return Err(Error::Instrumented(name.to_owned())),
        }
        Ok(false)
    }

    /// Assigns to the class at `path` its ids and the class that its probes call. Returns `None` if the class
    /// stays unchanged. Messages call the class `name`.
    fn assign(
        &mut self,
        units: &mut Units,
        path: &str,
        name: &str,
        facts: &Facts,
    ) -> Result<Option<Assignment>, Error> {
        if !self.is_fresh(name, facts)? {
            return Ok(None);
        }
        if facts.symbols > MOST_SYMBOLS {
            let fault = format!(
                "the names of its methods have {} bytes, more than {MOST_SYMBOLS}",
                facts.symbols
            );
            self.tally.unreadable.push(format!("{name}: {fault}"));
            return Ok(None);
        }
        self.budget.take(facts.symbols, name)?;
        let assignment = units.assign(path, facts, &mut self.outside);
        if assignment.is_none() {
            self.tally.other_files += 1;
            if place(path, &facts.name).is_none() {
                let class = printable_bytes(&facts.name).replace('/', ".");
                let line =
                    format!("{name}: class {class} is not where a class loader would look for it");
                self.tally.left_out.push(line);
            }
        }
        Ok(assignment)
    }

    /// Rewrites classes of one archive or folder in parallel. The name of a class is its path in the archive or
    /// folder; messages put `prefix` before the name. The result has `None` for each class that stays unchanged.
    fn classes(
        &mut self,
        units: &mut Units,
        prefix: &str,
        classes: &[(&str, std::io::Result<Vec<u8>>)],
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let rewriter = &self.rewriter;
        let facts: Vec<Result<Facts, String>> = classes
            .par_iter()
            .map(|(_, bytes)| {
                let bytes = bytes.as_ref().map_err(ToString::to_string)?;
                rewriter.facts(bytes).map_err(|error| error.to_string())
            })
            .collect();
        let shown = |path: &str| format!("{prefix}{}", printable_bytes(path.as_bytes()));
        let mut assignments = Vec::new();
        for ((path, _), facts) in classes.iter().zip(&facts) {
            let name = shown(path);
            let assignment = match facts {
                Ok(facts) => self.assign(units, path, &name, facts)?,
                Err(fault) => {
                    self.tally.unreadable.push(format!("{name}: {fault}"));
                    None
                }
            };
            assignments.push(assignment);
        }
        let rewriter = &self.rewriter;
        let done: Vec<Option<Result<RewrittenClass, _>>> = classes
            .par_iter()
            .zip(&assignments)
            .map(|((path, bytes), assignment)| {
                let (assignment, Ok(bytes)) = (assignment.as_ref()?, bytes) else {
                    return None;
                };
                Some(rewriter.rewrite(&shown(path), bytes, &assignment.owner, assignment.first))
            })
            .collect();
        let mut all = Vec::new();
        for (((path, _), assignment), done) in classes.iter().zip(assignments).zip(done) {
            all.push(match (assignment, done) {
                (Some(assignment), Some(Ok(mut done))) => {
                    let bytes = done.bytes.take();
                    if units.book(&assignment, done, &mut self.tally)? {
                        self.budget.take(budget::ROOT, &shown(path))?;
                    }
                    bytes
                }
                (_, Some(Err(fault))) => {
                    let name = shown(path);
                    self.tally.unreadable.push(format!("{name}: {fault}"));
                    None
                }
                _ => None,
            });
        }
        Ok(all)
    }
}

/// Returns whether a file with this name is a class file.
fn is_class(name: &str) -> bool {
    name.ends_with(".class")
}

/// Returns whether a file with this name is an archive with classes.
pub fn is_archive(name: &str) -> bool {
    [".jar", ".war", ".ear", ".rar", ".zip"].iter().any(|end| {
        let tail = name
            .len()
            .checked_sub(end.len())
            .and_then(|at| name.get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    })
}
