//! Rewriting archives, and those inside them.

use std::io::Write;

use rawzip::ReaderAt;
use rayon::prelude::*;

use crate::module_info;
use crate::plan::Tracker;
use crate::signatures::{is_manifest, is_signature, without_digests};
use crate::units::{Units, is_module_info, module_root};
use crate::zip::{Archive, Entry, Output, Packed};
use crate::{BATCH, Error, Offline, is_archive, is_class};

/// Archives in archives in archives: an application's libraries are two deep.
const DEEPEST: u32 = 4;

/// Which packages are in which archive, as loaders up to JDK 17 believe: one
/// that does not list ours hides it. It only makes loading quicker.
const INDEX: &str = "META-INF/INDEX.LIST";

/// What becomes of an entry.
enum Step {
    Copy,
    Class,
    /// An archive inside.
    Inside,
    Manifest,
    ModuleInfo,
    Drop,
}

impl Offline<'_> {
    /// Rewrites an archive of `len` bytes into `out`; `name` names it in
    /// messages. Whether anything changed: if not, what `out` holds is the same
    /// archive, though not always to the byte.
    ///
    /// # Errors
    /// See [`Error`]; `out` is not whole then.
    pub fn archive<R: ReaderAt + Sync>(
        &mut self,
        name: &str,
        source: R,
        len: u64,
        out: impl Write,
    ) -> Result<bool, Error> {
        let archive = Archive::open(source, len)?;
        self.entries(name, &archive, out, 0)
    }

    fn entries<R: ReaderAt + Sync>(
        &mut self,
        name: &str,
        archive: &Archive<R>,
        out: impl Write,
        depth: u32,
    ) -> Result<bool, Error> {
        let names: Vec<&str> = archive
            .entries()
            .iter()
            .map(|entry| text(archive, entry))
            .collect();
        let mut job = Job {
            archive,
            prefix: format!("{name}!/"),
            units: Units::new(
                self.plan,
                archive.directory(),
                names.iter().copied(),
                self.manifest(archive, &names).as_deref(),
            ),
            is_signed: names.iter().any(|name| is_signature(name)),
            output: Output::new(out, archive)?,
            depth,
            changed: false,
        };
        self.tally.archives += 1;
        let strips = job.is_signed && self.plan.strip_signatures;
        if strips {
            self.tally.unsigned.push(name.to_owned());
            job.changed = true;
        }

        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|at| archive.entries()[*at].offset());
        let mut batch = Vec::new();
        let mut bytes = 0;
        for at in order {
            let entry = &archive.entries()[at];
            let step = match names[at] {
                name if strips && is_signature(name) => Step::Drop,
                name if strips && is_manifest(name) => Step::Manifest,
                INDEX if self.rewrites_any(archive, "") => {
                    self.tally.unindexed.push(name.to_owned());
                    Step::Drop
                }
                name if is_module_info(name) => Step::ModuleInfo,
                name if is_class(name) => Step::Class,
                name if is_archive(name) && depth < DEEPEST => Step::Inside,
                _ => Step::Copy,
            };
            let is_large = matches!(step, Step::Inside);
            if matches!(step, Step::Class) {
                bytes = entry.size().saturating_add(bytes);
            }
            batch.push((at, names[at], step));
            if bytes >= BATCH || is_large {
                self.batch(&mut job, &batch)?;
                batch.clear();
                bytes = 0;
            }
        }
        self.batch(&mut job, &batch)?;
        self.finish(job, &names)
    }

    fn batch<R: ReaderAt + Sync, W: Write>(
        &mut self,
        job: &mut Job<'_, R, W>,
        batch: &[(usize, &str, Step)],
    ) -> Result<(), Error> {
        self.progress.check()?;
        let archive = job.archive;
        let most = self.plan.most_entry;
        let classes: Vec<&(usize, &str, Step)> = batch
            .iter()
            .filter(|(_, _, step)| matches!(step, Step::Class))
            .collect();
        let read: Vec<(&str, std::io::Result<Vec<u8>>)> = classes
            .par_iter()
            .map(|(at, name, _)| (*name, archive.read(&archive.entries()[*at], most)))
            .collect();
        let rewritten = self.classes(&mut job.units, &job.prefix, &read)?;
        drop(read);
        let packed: Vec<Option<Packed>> = rewritten
            .into_par_iter()
            .zip(&classes)
            .map(|(bytes, (at, _, _))| Some(Packed::new(&bytes?, archive.entries()[*at].method())))
            .collect();
        let mut packed = packed.into_iter();

        for (at, name, step) in batch {
            self.progress.check()?;
            let entry = &archive.entries()[*at];
            let content = match step {
                Step::Drop => {
                    job.output.leave_out(archive, *at)?;
                    job.progress(self, entry);
                    continue;
                }
                Step::Class => packed.next().flatten(),
                Step::Copy => {
                    self.tally.other_files += 1;
                    None
                }
                Step::Manifest => {
                    let manifest = archive.read(entry, most)?;
                    Some(Packed::new(&without_digests(&manifest), entry.method()))
                }
                Step::Inside => self.inside(job, entry, name)?,
                Step::ModuleInfo => self.module_info(job, entry, name)?,
            };
            if let Some(packed) = content {
                if job.is_signed && !self.plan.strip_signatures {
                    return Err(Error::Signed(job.prefix.trim_end_matches("!/").to_owned()));
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

    /// An archive inside, rewritten; `None` if it stays as it was.
    fn inside<R: ReaderAt + Sync, W: Write>(
        &mut self,
        job: &Job<'_, R, W>,
        entry: &Entry,
        name: &str,
    ) -> Result<Option<Packed>, Error> {
        let name = format!("{}{name}", job.prefix);
        let content = match job.archive.read(entry, self.plan.most_entry) {
            Ok(content) => content,
            Err(error) => {
                self.tally.unreadable.push(format!("{name}: {error}"));
                return Ok(None);
            }
        };
        let len = content.len() as u64;
        let inner = match Archive::open(content, len) {
            Ok(inner) => inner,
            Err(error) => {
                self.tally.unreadable.push(format!("{name}: {error}"));
                return Ok(None);
            }
        };
        let mut out = Vec::new();
        let changed = self.entries(&name, &inner, &mut out, job.depth + 1)?;
        Ok(changed.then(|| Packed::new(&out, entry.method())))
    }

    fn module_info<R: ReaderAt + Sync, W: Write>(
        &mut self,
        job: &mut Job<'_, R, W>,
        entry: &Entry,
        name: &str,
    ) -> Result<Option<Packed>, Error> {
        self.tally.other_files += 1;
        let root = module_root(name);
        let is_rewritten = || self.rewrites_any(job.archive, root);
        let unit = job.units.module(root, is_rewritten);
        let needs = unit.map(|unit| unit.needs(self.plan.tracker));
        let read = job.archive.read(entry, self.plan.most_entry);
        if needs.is_none() {
            let is_free = self.plan.tracker != Tracker::None
                && (!job.is_signed || self.plan.strip_signatures);
            let changed = read.ok().filter(|_| is_free).and_then(|bytes| {
                let changed = module_info::changed(&bytes, None).ok()?;
                (changed != bytes).then_some(changed)
            });
            return Ok(changed.map(|changed| {
                let name = job.prefix.trim_end_matches("!/");
                self.tally.unhashed.push(name.to_owned());
                Packed::new(&changed, entry.method())
            }));
        }
        let bytes = read?;
        let changed = module_info::changed(&bytes, needs).map_err(Error::NoClass)?;
        Ok((changed != bytes).then(|| Packed::new(&changed, entry.method())))
    }

    /// The archive's manifest; none that cannot be read.
    fn manifest<R: ReaderAt>(&self, archive: &Archive<R>, names: &[&str]) -> Option<Vec<u8>> {
        let at = names.iter().position(|name| is_manifest(name))?;
        let entry = &archive.entries()[at];
        archive.read(entry, self.plan.most_entry).ok()
    }

    /// Whether any class below a root will be rewritten: its module's
    /// description comes before them.
    fn rewrites_any<R: ReaderAt>(&self, archive: &Archive<R>, root: &str) -> bool {
        archive.entries().iter().any(|entry| {
            let name = text(archive, entry);
            if !is_class(name) || is_module_info(name) || !name.starts_with(root) {
                return false;
            }
            let read = archive.read(entry, self.plan.most_entry);
            read.is_ok_and(|bytes| self.workshop.rewrites(&bytes))
        })
    }

    fn finish<R: ReaderAt + Sync, W: Write>(
        &mut self,
        mut job: Job<'_, R, W>,
        names: &[&str],
    ) -> Result<bool, Error> {
        for (name, content) in job.units.files() {
            // Those of an earlier time are the same.
            if !names.contains(&name.as_str()) {
                job.output.add(&name, &content)?;
                job.changed = true;
            }
        }
        job.output.finish(job.archive)?;
        Ok(job.changed)
    }
}

/// An archive being rewritten.
struct Job<'a, R, W> {
    archive: &'a Archive<R>,
    /// Before entries' names in messages.
    prefix: String,
    units: Units,
    is_signed: bool,
    output: Output<W>,
    depth: u32,
    changed: bool,
}

impl<R, W> Job<'_, R, W> {
    fn progress(&self, offline: &Offline<'_>, entry: &Entry) {
        if self.depth == 0 {
            offline.progress.advance(entry.stored_size());
        }
    }
}

/// A name that is no UTF-8 is none that we look for.
fn text<'a, R: ReaderAt>(archive: &'a Archive<R>, entry: &Entry) -> &'a str {
    std::str::from_utf8(archive.name(entry)).unwrap_or("?")
}
