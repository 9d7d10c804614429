//! Runs the fuzz targets on mutants of real classes, in this process. A target panics if an
//! invariant is violated; then the test fails.
//!
//! `LOADHOOK_MUTANTS=5000000 cargo test -p loadhook-tests --test fuzz_mutants -- --nocapture` runs
//! longer; `LOADHOOK_MUTANT=<class>:<number>` repeats a mutant that failed.

use anyhow::{Context, Result, ensure};
use loadhook_fuzz::{OptionSet, Targets};
use loadhook_testclasses::mutate::{Kind, Mutant, Mutator, class::Class, random::Random};
use loadhook_testkit::{corpus, paths};
use std::any::Any;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::AddAssign;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

const MUTANTS: u64 = 400_000;
/// Size in bytes of the classes used as seeds. Larger classes take more time, but help to find no
/// more faults.
const SIZES: std::ops::RangeInclusive<u64> = 150..=2_500;
const FROM_EACH_JDK: usize = 400;
/// Maximum number of different findings. Findings whose messages differ only in numbers count as
/// one.
const ENOUGH: usize = 20;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    mutants: u64,
    /// Mutants that could be read as a class file.
    parsed: u64,
    /// Number of successful rewritings, over all option sets.
    rewritten: u64,
    instrumented: u64,
    left_alone: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.mutants += other.mutants;
        self.parsed += other.parsed;
        self.rewritten += other.rewritten;
        self.instrumented += other.instrumented;
        self.left_alone += other.left_alone;
    }
}

/// Returns a fixed sample of the small classes in a folder. It is the same on every run.
fn sample(folder: &Path, count: usize) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in corpus::walk(folder)? {
        if SIZES.contains(&fs::metadata(&file)?.len()) {
            files.push(file);
        }
    }
    let mut random = Random::new(files.len() as u64);
    Ok((0..count)
        .filter_map(|_| random.pick(&files).cloned())
        .collect())
}

fn seeds() -> Result<Vec<Vec<u8>>> {
    let mut files = BTreeSet::new();
    for feature in [17, 25] {
        files.extend(sample(&corpus::jdk_classes(feature)?, FROM_EACH_JDK)?);
    }
    for folder in ["golden/inputs", "fuzz/corpus/seeds"] {
        let folder = paths::workspace().join(folder);
        let small = |file: &PathBuf| fs::metadata(file).is_ok_and(|it| it.len() <= 2 * SIZES.end());
        files.extend(
            corpus::walk(&folder)
                .unwrap_or_default()
                .into_iter()
                .filter(small),
        );
    }
    let read = |file: &PathBuf| fs::read(file).with_context(|| file.display().to_string());
    let mut seeds = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let handmade = loadhook_golden::handmade::all()
        .into_iter()
        .map(|it| it.bytes);
    seeds.extend(handmade.filter(|it| it.len() as u64 <= 2 * SIZES.end()));
    Ok(seeds)
}

fn told(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
        .to_owned()
}

/// Runs every target on one mutant. To save time, the mutant is rewritten under only two option
/// sets, which alternate. Another test runs the corpus under all option sets.
fn judge(targets: &mut Targets, mutant: &Mutant, number: u64) -> Counts {
    let parsed = loadhook_fuzz::read(&mutant.bytes);
    loadhook_fuzz::identity(&mutant.bytes);
    let mut counts = Counts {
        mutants: 1,
        parsed: u64::from(parsed),
        ..Counts::default()
    };
    let sets = OptionSet::EACH;
    let set = sets[number as usize % sets.len()];
    let sets = if set == OptionSet::All {
        vec![set]
    } else {
        vec![OptionSet::All, set]
    };
    let told = targets.rewrite(&mutant.bytes, &sets);
    counts.rewritten = u64::from(told.classes);
    counts.instrumented = u64::from(told.instrumented);
    counts.left_alone = u64::from(told.left_alone);
    match number % 16 {
        0 => targets.reuse(&mutant.bytes, set),
        1 => targets.refused_buffers(&mutant.bytes),
        _ => {}
    }
    counts
}

struct Finding {
    which: usize,
    number: u64,
    message: String,
    times: usize,
}

/// The first finding for each message. The key is the message without its numbers.
type Findings = BTreeMap<String, Finding>;

fn add(findings: &mut Findings, finding: Finding) {
    let is_number = |it: char| it.is_ascii_hexdigit() || it == 'x';
    let words = finding.message.split(|it: char| !it.is_alphanumeric());
    let key: Vec<&str> = words
        .filter(|it| !it.starts_with(|it: char| it.is_ascii_digit()) || !it.chars().all(is_number))
        .collect();
    match findings.entry(key.join(" ")) {
        Entry::Vacant(entry) => drop(entry.insert(finding)),
        Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            known.times += finding.times;
            if finding.number < known.number {
                (known.which, known.number, known.message) =
                    (finding.which, finding.number, finding.message);
            }
        }
    }
}

fn run(mutator: &Mutator, mutants: u64) -> (Counts, Findings) {
    let next = AtomicU64::new(0);
    let worker = || {
        let mut targets = Targets::default();
        let (mut counts, mut findings) = (Counts::default(), Findings::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= mutants || findings.len() >= ENOUGH {
                return (counts, findings);
            }
            let which = number as usize % mutator.seeds();
            let judged = panic::catch_unwind(AssertUnwindSafe(|| {
                judge(
                    &mut targets,
                    &mutator.mutant(which, number, kind(number)),
                    number,
                )
            }));
            match judged {
                Ok(judged) => counts += judged,
                Err(panic) => {
                    targets = Targets::default();
                    add(
                        &mut findings,
                        Finding {
                            which,
                            number,
                            message: told(&*panic),
                            times: 1,
                        },
                    );
                }
            }
        }
    };
    let (mut counts, mut findings) = (Counts::default(), Findings::new());
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            match worker.join() {
                Ok((counted, found)) => {
                    counts += counted;
                    found.into_values().for_each(|it| add(&mut findings, it));
                }
                Err(panic) => panic::resume_unwind(panic),
            }
        }
    });
    (counts, findings)
}

/// Returns the kind of mutation. Two of three mutants violate rules; HotSpot may accept the third.
fn kind(number: u64) -> Kind {
    if number.is_multiple_of(3) {
        Kind::Runnable
    } else {
        Kind::Any
    }
}

/// Describes a finding with the steps that cause it, and writes its class to a file.
fn explain(mutator: &Mutator, finding: &Finding) -> Result<String> {
    let Finding {
        which,
        number,
        message,
        times,
    } = finding;
    let fails = |mask: u32| {
        let mutant = mutator.some_steps(*which, *number, kind(*number), mask);
        let mut targets = Targets::default();
        panic::catch_unwind(AssertUnwindSafe(|| judge(&mut targets, &mutant, *number))).is_err()
    };
    let mask = (0..4).fold(u32::MAX, |mask, step| {
        if fails(mask & !(1 << step)) {
            mask & !(1 << step)
        } else {
            mask
        }
    });
    let mutant = mutator.some_steps(*which, *number, kind(*number), mask);
    let folder = paths::target().join("fuzz-findings");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("mutant-{which}-{number}.class"));
    fs::write(&file, &mutant.bytes)?;
    Ok(format!(
        "{times} times, LOADHOOK_MUTANT={which}:{number} {:?}\n  {}\n  {message}",
        mutant.steps,
        file.display()
    ))
}

#[test]
fn no_target_fails_on_mutants() -> Result<()> {
    let mutator = Mutator::new(seeds()?);
    if let Ok(one) = std::env::var("LOADHOOK_MUTANT") {
        let (which, number) = one.split_once(':').context("<class>:<number>")?;
        let (which, number) = (which.parse()?, number.parse()?);
        let mutant = mutator.mutant(which, number, kind(number));
        println!(
            "{:?}: {:?}",
            mutant.steps,
            judge(&mut Targets::default(), &mutant, number)
        );
        return Ok(());
    }
    let mutants = std::env::var("LOADHOOK_MUTANTS")
        .ok()
        .map_or(Ok(MUTANTS), |it| it.parse())?;
    let started = Instant::now();
    // Do not print backtraces of caught panics; their messages are recorded.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let (counts, findings) = run(&mutator, mutants);
    let explained: Result<Vec<String>> = findings
        .values()
        .take(ENOUGH)
        .map(|it| explain(&mutator, it))
        .collect();
    panic::set_hook(hook);
    println!(
        "{counts:?} of {} classes in {:.1?}",
        mutator.seeds(),
        started.elapsed()
    );
    let explained = explained?;
    let times: usize = findings.values().map(|it| it.times).sum();
    ensure!(
        explained.is_empty(),
        "{times} mutants fail:\n{}",
        explained.join("\n")
    );
    ensure!(
        counts.parsed * 2 > counts.mutants,
        "too few mutants are class files: {counts:?}"
    );
    ensure!(
        counts.rewritten * 2 > counts.mutants,
        "too few mutants are rewritten: {counts:?}"
    );
    Ok(())
}

/// The mutator must read every class of a JDK and write the same bytes.
#[test]
fn the_mutator_reads_all_classes() -> Result<()> {
    for file in corpus::walk(&corpus::jdk_classes(25)?)?.iter().step_by(7) {
        ensure!(
            Class::parse(&fs::read(file)?).is_some(),
            "{}",
            file.display()
        );
    }
    Ok(())
}
