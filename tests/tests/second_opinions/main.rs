//! Compares Loadhook's class file parser with other parsers: `cafebabe`, `classfile-parser` and
//! `javap` must read the same facts from each class.
//!
//! Both crates read every class of both JDKs; `javap` reads a sample. The known faults of the
//! crates are in [`faults`], each with a class that shows it and the output of `javap`.

mod cafe;
mod faults;
mod javap;
mod javap_text;
mod names;
mod nom_parser;

use anyhow::{Context, Result, ensure};
use loadhook_rewrite::ClassFile;
use loadhook_rewrite::constant_pool::Constant;
use loadhook_testclasses::mutate::random::Random;
use loadhook_testkit::corpus;
use loadhook_testkit::jdk::Jdk;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// The JDKs whose classes are read.
const JDKS: [u32; 2] = [17, 25];
/// Number of classes of each JDK that `javap` prints.
const PRINTED: usize = 800;

/// Totals of the comparison.
#[derive(Debug, Default)]
struct Opinions {
    classes: usize,
    /// Classes on which `cafebabe` agrees.
    cafebabe: usize,
    /// Classes on which `classfile-parser` agrees.
    classfile_parser: usize,
    instructions: usize,
    frames: usize,
    /// Number of classes that a crate does not read, by the known fault that is the cause.
    excused: BTreeMap<&'static str, usize>,
    disagreements: Vec<String>,
}

impl Opinions {
    fn add(&mut self, other: Opinions) {
        self.classes += other.classes;
        self.cafebabe += other.cafebabe;
        self.classfile_parser += other.classfile_parser;
        self.instructions += other.instructions;
        self.frames += other.frames;
        for (fault, times) in other.excused {
            *self.excused.entry(fault).or_default() += times;
        }
        self.disagreements.extend(other.disagreements);
    }

    fn ask(&mut self, name: &str, bytes: &[u8]) {
        self.classes += 1;
        let class = match ClassFile::parse(bytes) {
            Ok(class) => class,
            Err(error) => {
                return self
                    .disagreements
                    .push(format!("{name}: Loadhook does not read the class: {error}"));
            }
        };
        match cafebabe::parse_class(bytes) {
            Ok(theirs) => match cafe::agree(&class, &theirs) {
                Ok(seen) => {
                    self.cafebabe += 1;
                    self.instructions += seen.instructions;
                    self.frames += seen.frames;
                }
                Err(error) => self
                    .disagreements
                    .push(format!("{name}, cafebabe: {error:#}")),
            },
            Err(_) if faults::has_dynamic_bootstrap_argument(&class) => {
                *self
                    .excused
                    .entry("cafebabe: dynamic constant as bootstrap argument")
                    .or_default() += 1;
            }
            Err(error) => self
                .disagreements
                .push(format!("{name}: cafebabe does not read the class: {error}")),
        }
        let unknown_to_nom = tags(&class).any(|it| matches!(it, 17 | 19 | 20));
        match classfile_parser::class_parser(bytes) {
            Ok((rest, theirs)) => match nom_parser::agree(&class, rest, &theirs) {
                Ok(()) => self.classfile_parser += 1,
                Err(error) => self
                    .disagreements
                    .push(format!("{name}, classfile-parser: {error:#}")),
            },
            Err(_) if unknown_to_nom => {
                *self
                    .excused
                    .entry("classfile-parser: constants of tag 17, 19, 20")
                    .or_default() += 1;
            }
            Err(_) => self
                .disagreements
                .push(format!("{name}: classfile-parser does not read the class")),
        }
    }
}

/// Returns the tags of the class's constants that cause known faults.
fn tags<'c>(class: &'c ClassFile<'_>) -> impl Iterator<Item = u8> + 'c {
    class
        .pool()
        .indexes()
        .filter_map(|it| match class.pool().get(it) {
            Ok(Constant::Dynamic { .. }) => Some(17),
            Ok(Constant::Module { .. }) => Some(19),
            Ok(Constant::Package { .. }) => Some(20),
            _ => None,
        })
}

fn ask_all(files: &[PathBuf]) -> Result<Opinions> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Opinions::default());
    let work = || -> Result<()> {
        let mut opinions = Opinions::default();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            opinions.ask(&file.display().to_string(), &fs::read(file)?);
        }
        all.lock()
            .map_err(|_| anyhow::anyhow!("a thread panicked"))?
            .add(opinions);
        Ok(())
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|it| {
            it.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    Ok(all.into_inner()?)
}

#[test]
fn other_parsers_agree_on_every_class() -> Result<()> {
    for feature in JDKS {
        let started = Instant::now();
        let mut opinions = ask_all(&corpus::walk(&corpus::jdk_classes(feature)?)?)?;
        opinions.disagreements.sort();
        let count = opinions.disagreements.len();
        opinions.disagreements.truncate(20);
        ensure!(
            count == 0,
            "{count} disagreements:\n{}",
            opinions.disagreements.join("\n")
        );
        println!("JDK {feature}, {:.1?}: {opinions:?}", started.elapsed());
        let excused: usize = opinions.excused.values().sum();
        ensure!(
            opinions.cafebabe + opinions.classfile_parser + excused == 2 * opinions.classes,
            "{opinions:?}"
        );
        ensure!(
            opinions.cafebabe + 5 >= opinions.classes,
            "cafebabe reads fewer classes than before: {opinions:?}"
        );
        ensure!(
            excused * 50 < opinions.classes,
            "too many classes are excused by known faults: {opinions:?}"
        );
        ensure!(
            opinions.instructions > 1_000_000 && opinions.frames > 100_000,
            "{opinions:?}"
        );
    }
    Ok(())
}

#[test]
fn javap_agrees_on_a_sample() -> Result<()> {
    let javap = Jdk::find(17)?;
    for feature in JDKS {
        let started = Instant::now();
        let files = corpus::walk(&corpus::jdk_classes(feature)?)?;
        let mut random = Random::new(u64::from(feature));
        let mut sample = Vec::new();
        while sample.len() < PRINTED {
            let file = random
                .pick(&files)
                .context("the list of classes is empty")?;
            // Leave out the smallest classes, which contain little, and the largest, which take
            // minutes to print.
            if (1_500..60_000).contains(&fs::metadata(file)?.len()) && !sample.contains(file) {
                sample.push(file.clone());
            }
        }
        let seen = javap::agree(&javap, &sample)?;
        println!("JDK {feature}, {:.1?}: {seen:?}", started.elapsed());
        ensure!(
            seen.classes == PRINTED && seen.instructions > 20_000 && seen.frames > 1_000,
            "{seen:?}"
        );
        ensure!(
            seen.handlers > 100 && seen.lines > 5_000 && seen.locals > 0,
            "{seen:?}"
        );
    }
    Ok(())
}

#[test]
fn other_parsers_have_the_listed_faults() -> Result<()> {
    faults::check_all()
}
