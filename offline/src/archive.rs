//! Rewrites archives, and the archives inside them.

use std::collections::HashSet;
use std::io::{self, Write};

use rawzip::ReaderAt;
use rayon::prelude::*;

use crate::ahead::{Ahead, INDEX};
use crate::budget::{self, Budget};
use crate::module_info;
use crate::plan::Tracker;
use crate::signatures::{is_manifest, is_signature, without_digests};
use crate::tracker::{self, File};
use crate::units::{Added, Units, is_module_info, module_root};
use crate::zip::{Archive, DEFLATED, Entry, Output, Packed, Spool};
use crate::{BATCH, Error, Offline, is_archive, is_class};
use loadhook_text::printable_bytes;

/// Maximum depth at which nested archives are rewritten. Libraries of an application are at depth two.
const DEEPEST: u32 = 4;

/// The treatment of an entry.
enum Step {
    Copy,
    Class,
    /// Rewrite the archive in the entry.
    Inside,
    Manifest,
    ModuleInfo,
    Drop,
}

/// An entry's number in the directory, its name, and its treatment.
type Planned<'n> = (usize, &'n str, Step);

impl Offline<'_> {
    /// Rewrites an archive of `len` bytes into `out`. `name` names the archive in messages. Returns whether any
    /// class changed. If no class changed, the caller discards the content of `out`.
    ///
    /// # Errors
    /// See [`Error`]; `out` is then incomplete.
    pub fn archive<R: ReaderAt + Sync>(
        &mut self,
        name: &str,
        source: R,
        len: u64,
        out: impl Write,
    ) -> Result<bool, Error> {
        let archive = Archive::open(source, len)?;
        let most = self.plan.most_total;
        self.budget = most.map_or_else(|| Budget::usual(len), Budget::new);
        let changed = self.entries(&printable_bytes(name.as_bytes()), &archive, out, 0);
        self.budget = Budget::unlimited();
        changed
    }

    fn entries<R: ReaderAt + Sync>(
        &mut self,
        name: &str,
        archive: &Archive<R>,
        out: impl Write,
        depth: u32,
    ) -> Result<bool, Error> {
        let names: Vec<Option<&str>> = archive
            .entries()
            .iter()
            .map(|entry| std::str::from_utf8(archive.name(entry)).ok())
            .collect();
        let known = || names.iter().copied().flatten();
        let prefix = format!("{name}!/");
        let manifest = self.main_manifest(name, archive, &names)?;
        let manifest = manifest.as_deref();
        let mut units = Units::new(self.plan, archive.directory(), known(), manifest);
        let ahead = self.look_ahead(name, archive, &names, &mut units)?;
        let mut job = Job {
            archive,
            name,
            prefix,
            units,
            ahead,
            is_signed: known().any(is_signature),
            output: Output::new(out, archive)?,
            depth,
            changed: false,
            unreadable_manifest: None,
        };
        self.tally.archives += 1;

        let is_alias = |at: &usize| archive.entries()[*at].is_alias();
        let mut order: Vec<usize> = (0..names.len()).filter(|at| !is_alias(at)).collect();
        order.sort_by_key(|at| archive.entries()[*at].offset());
        let mut batch = Vec::new();
        let mut bytes = 0;
        for at in order {
            let entry = &archive.entries()[at];
            let step = match names[at] {
                Some(name) => self.step(&job, name),
                None => {
                    self.check_unnamed(&job, entry);
                    Step::Copy
                }
            };
            let is_large = matches!(step, Step::Inside);
            if matches!(step, Step::Class) {
                bytes = entry.size().saturating_add(bytes);
            }
            batch.push((at, names[at].unwrap_or_default(), step));
            if bytes >= BATCH || is_large {
                self.batch(&mut job, &batch)?;
                batch.clear();
                bytes = 0;
            }
        }
        self.batch(&mut job, &batch)?;
        self.finish(job, known())
    }

    fn step<R, W>(&mut self, job: &Job<'_, R, W>, name: &str) -> Step {
        let strips = job.is_signed && self.plan.strip_signatures;
        match name {
            name if strips && is_signature(name) => Step::Drop,
            name if strips && is_manifest(name) => Step::Manifest,
            INDEX if job.ahead.outdates_index => {
                self.tally.unindexed.push(job.name.to_owned());
                Step::Drop
            }
            name if is_module_info(name) => Step::ModuleInfo,
            name if is_class(name) => Step::Class,
            name if is_archive(name) && job.depth < DEEPEST => Step::Inside,
            name if is_archive(name) => {
                let name = job.shown(name);
                let line = format!("{name}: nested in more than {DEEPEST} archives");
                self.tally.left_out.push(line);
                Step::Copy
            }
            _ => Step::Copy,
        }
    }

    /// Reports a class or archive that no JVM finds, because its name is not UTF-8.
    fn check_unnamed<R: ReaderAt, W>(&mut self, job: &Job<'_, R, W>, entry: &Entry) {
        let name = job.archive.name(entry);
        let end = String::from_utf8_lossy(name);
        if is_class(&end) || is_archive(&end) {
            let line = format!(
                "{}{}: its name is not UTF-8",
                job.prefix,
                printable_bytes(name)
            );
            self.tally.left_out.push(line);
        }
    }

    fn batch<R: ReaderAt + Sync, W: Write>(
        &mut self,
        job: &mut Job<'_, R, W>,
        batch: &[Planned<'_>],
    ) -> Result<(), Error> {
        self.progress.check()?;
        let archive = job.archive;
        let mut packed = self.batch_classes(job, batch)?.into_iter();
        for (at, name, step) in batch {
            self.progress.check()?;
            let entry = &archive.entries()[*at];
            let content = match step {
                Step::Drop => {
                    let left_out = job.output.leave_out(archive, *at);
                    left_out.map_err(|fault| job.unreadable(name, fault))?;
                    job.progress(self, entry);
                    continue;
                }
                Step::Manifest => {
                    self.manifest(job, *at, name)?;
                    job.progress(self, entry);
                    continue;
                }
                Step::Class => packed.next().flatten(),
                Step::Copy => {
                    self.tally.other_files += 1;
                    None
                }
                Step::Inside => self.inside(job, entry, name)?,
                Step::ModuleInfo => self.module_info(job, entry, name)?,
            };
            if let Some(packed) = content {
                if job.is_signed && !self.plan.strip_signatures {
                    return Err(Error::Signed(job.name.to_owned()));
                }
                job.changed = true;
                job.output.replace(archive, *at, &packed)?;
            } else {
                job.output.copy(archive, *at)?;
            }
            job.progress(self, entry);
        }
        Ok(())
    }

    /// Rewrites the classes of a batch in parallel.
    fn batch_classes<R: ReaderAt + Sync, W>(
        &mut self,
        job: &mut Job<'_, R, W>,
        batch: &[Planned<'_>],
    ) -> Result<Vec<Option<Packed>>, Error> {
        let most = self.plan.most_entry;
        let classes: Vec<(&Entry, &str)> = batch
            .iter()
            .filter(|(_, _, step)| matches!(step, Step::Class))
            .map(|(at, name, _)| (&job.archive.entries()[*at], *name))
            .collect();
        for (entry, _) in &classes {
            self.budget.take(self.unpacked(entry), job.name)?;
        }
        let read: Vec<(&str, io::Result<Vec<u8>>)> = classes
            .par_iter()
            .map(|(entry, name)| (*name, job.archive.read(entry, most)))
            .collect();
        let rewritten = self.classes(&mut job.units, &job.prefix, &read)?;
        drop(read);
        let packed = rewritten.into_par_iter().zip(&classes);
        Ok(packed
            .map(|(bytes, (entry, _))| Some(Packed::new(&bytes?, entry.method())))
            .collect())
    }

    /// Rewrites a nested archive. Returns `None` if it stays unchanged.
    fn inside<R: ReaderAt + Sync, W>(
        &mut self,
        job: &Job<'_, R, W>,
        entry: &Entry,
        name: &str,
    ) -> Result<Option<Packed>, Error> {
        let most = self.plan.most_entry;
        let name = job.shown(name);
        self.budget
            .take(budget::ROOT + self.unpacked(entry), &name)?;
        let inner = match job.archive.content(entry, most) {
            Ok(content) => Archive::open(content, entry.size()).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let inner = match inner {
            Ok(inner) => inner,
            Err(fault) => {
                self.tally.unreadable.push(format!("{name}: {fault}"));
                return Ok(None);
            }
        };
        let mut out = Spool::new();
        if !self.entries(&name, &inner, &mut out, job.depth + 1)? {
            return Ok(None);
        }
        Ok(Some(Packed::spooled(out, entry.method())?))
    }

    /// Writes the manifest of an archive whose signature is removed.
    fn manifest<R: ReaderAt, W: Write>(
        &mut self,
        job: &mut Job<'_, R, W>,
        at: usize,
        name: &str,
    ) -> Result<(), Error> {
        self.tally.other_files += 1;
        let entry = &job.archive.entries()[at];
        match self.read(job.archive, entry, job.name)? {
            Ok(manifest) => {
                let packed = Packed::new(&without_digests(&manifest), entry.method());
                job.output.replace(job.archive, at, &packed)?;
            }
            Err(fault) => {
                job.unreadable_manifest = Some(job.unreadable(name, fault));
                job.output.copy(job.archive, at)?;
            }
        }
        Ok(())
    }

    fn module_info<R: ReaderAt, W>(
        &mut self,
        job: &mut Job<'_, R, W>,
        entry: &Entry,
        name: &str,
    ) -> Result<Option<Packed>, Error> {
        self.tally.other_files += 1;
        let root = module_root(name);
        let is_rewritten = || job.ahead.modules.contains(root);
        let needs_ours = job.units.module(root, is_rewritten).is_some();
        // A description that needs no tracker may change, too: its hashes of other modules may have become wrong,
        // see `module_info`. A signature that is kept forbids this.
        let is_free = !job.is_signed || self.plan.strip_signatures;
        if !needs_ours && (self.plan.tracker == Tracker::None || !is_free) {
            return Ok(None);
        }
        let bytes = match self.read(job.archive, entry, job.name)? {
            Err(fault) if needs_ours => return Err(job.unreadable(name, fault)),
            Err(_) => return Ok(None),
            Ok(bytes) => bytes,
        };
        let unit = job.units.module(root, || needs_ours);
        let needs = unit.map(|unit| unit.needs(self.plan.tracker));
        let changed = match module_info::changed(&bytes, needs) {
            Err(fault) if needs_ours => return Err(job.unreadable(name, fault)),
            Err(_) => return Ok(None),
            Ok(changed) => changed,
        };
        if changed == bytes {
            return Ok(None);
        }
        if !needs_ours {
            self.tally.unhashed.push(job.name.to_owned());
        }
        Ok(Some(Packed::new(&changed, entry.method())))
    }

    /// Returns the archive's manifest, if it has one that can be read. If there are several, the
    /// last one counts, as in the JVM.
    fn main_manifest<R: ReaderAt>(
        &mut self,
        name: &str,
        archive: &Archive<R>,
        names: &[Option<&str>],
    ) -> Result<Option<Vec<u8>>, Error> {
        let is_manifest = |name: &Option<&str>| name.is_some_and(is_manifest);
        let Some(at) = names.iter().rposition(is_manifest) else {
            return Ok(None);
        };
        Ok(self.read(archive, &archive.entries()[at], name)?.ok())
    }

    /// Reads an entry of the archive `name`, if the budget allows it.
    pub(crate) fn read<R: ReaderAt>(
        &mut self,
        archive: &Archive<R>,
        entry: &Entry,
        name: &str,
    ) -> Result<io::Result<Vec<u8>>, Error> {
        self.budget.take(self.unpacked(entry), name)?;
        Ok(archive.read(entry, self.plan.most_entry))
    }

    /// Returns the number of bytes that an entry takes from the budget: 0 if the entry will not be
    /// unpacked.
    pub(crate) fn unpacked(&self, entry: &Entry) -> u64 {
        if entry.size() <= self.plan.most_entry {
            entry.unpacked_at_most()
        } else {
            0
        }
    }

    fn finish<'n, R: ReaderAt + Sync, W: Write>(
        &mut self,
        mut job: Job<'_, R, W>,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<bool, Error> {
        if job.changed && job.is_signed && self.plan.strip_signatures {
            if let Some(error) = job.unreadable_manifest {
                return Err(error);
            }
            self.tally.unsigned.push(job.name.to_owned());
        }
        // An archive that was rewritten before has some of these files already,
        // with the same content.
        let present: HashSet<&str> = names.filter(|name| name.contains("loadhook/")).collect();
        let output = &mut job.output;
        let mut add = |name: String, packed: &Packed| {
            if present.contains(&*name) {
                Ok(())
            } else {
                output.add_packed(&name, packed)
            }
        };
        let pack = |(name, content): File| (name, Packed::new(&content, DEFLATED));
        let mut usual = None;
        for Added {
            root,
            has_usual_tracker,
            own,
        } in job.units.added()
        {
            self.progress.check()?;
            if has_usual_tracker {
                let classes = || tracker::classes(tracker::PREFIX).into_iter();
                let usual: &Vec<_> = usual.get_or_insert_with(|| classes().map(pack).collect());
                for (name, packed) in usual {
                    add(format!("{root}{name}"), packed)?;
                }
            }
            for (name, packed) in own.into_iter().map(pack) {
                add(format!("{root}{name}"), &packed)?;
            }
        }
        for (name, symbols) in job.units.into_symbols()? {
            add(name, &Packed::spooled(symbols, DEFLATED)?)?;
        }
        job.output.finish(job.archive)?;
        Ok(job.changed)
    }
}

/// The state of rewriting one archive.
struct Job<'a, R, W> {
    archive: &'a Archive<R>,
    name: &'a str,
    /// Text before the names of entries in messages.
    prefix: String,
    units: Units,
    ahead: Ahead,
    is_signed: bool,
    output: Output<W>,
    depth: u32,
    changed: bool,
    /// The error of reading the manifest whose digests should be removed. It matters only if the archive changes.
    unreadable_manifest: Option<Error>,
}

impl<R, W> Job<'_, R, W> {
    fn progress(&self, offline: &Offline<'_>, entry: &Entry) {
        if self.depth == 0 {
            offline.progress.advance(entry.stored_size());
        }
    }

    /// Returns an entry's name for messages.
    fn shown(&self, name: &str) -> String {
        format!("{}{}", self.prefix, printable_bytes(name.as_bytes()))
    }

    fn unreadable(&self, name: &str, fault: impl std::fmt::Display) -> Error {
        Error::Unreadable(format!("{}: {fault}", self.shown(name)))
    }
}
