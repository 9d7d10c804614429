//! Tests with mutants of classes. If HotSpot accepts a mutant, it must also accept the rewritten
//! form. Both forms must give equal values and stack traces when they run, and the tracker's path
//! must be empty at the end.
//!
//! There are three kinds of seeds. The first kind are the sources in `fuzz_seeds`, compiled for
//! several releases, and the classes of `golden/inputs` that have a `run()`. Each of these classes
//! is also used as a class of version 49 without frames: the old verifier, which checks such
//! classes, accepts many more mutants. The second kind are classes made by hand
//! (`golden::handmade`, `limits`), with constructs that no compiler writes. The third kind is a
//! sample of the JDKs' own classes, which are only linked and initialised.
//!
//! Mutants that exceed the time limit, that end the JVM, or whose runs differ among themselves are
//! not compared but only counted, and their number is limited. Mutants in which a method with
//! `monitorenter` or `monitorexit` was changed are not compared either. If locks are unbalanced, a
//! *return* throws IllegalMonitorStateException (JVMS §2.11.10) after the exit probe, and HotSpot's
//! interpreter and compilers differ in this. `StackOverflowError` and `OutOfMemoryError` occur at
//! other depths with probes, so nothing is compared from the first of these errors on
//! (`pairs::Verdict::disagreement`).
//!
//! `LOADHOOK_HOTSPOT_MUTANTS=1000000 cargo test -p loadhook-tests --test fuzz_hotspot --
//! --nocapture` runs longer; `LOADHOOK_HOTSPOT_MUTANT=<trial>:<number>` repeats one mutant. Mutants
//! that disagree are written to `target/fuzz-findings`.

mod by_hand;
mod counts;
mod probing;
mod seeds;
mod trials;
mod verdicts;

use anyhow::{Context, Result, ensure};
use loadhook_testclasses::mutate::class::Class;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::pairs::Runner;
use std::time::Instant;

use by_hand::{ODDITIES, SABOTAGE};
use counts::Counts;
use probing::{Probing, rewrite};
use seeds::own_seeds;
use trials::{ENOUGH, PATIENCE, Seeds, Trial, explain, judge_all, write_down};
use verdicts::{fault, short};

/// Number of mutants. HotSpot accepts about six in ten. The mutants are the same in each run, so
/// further runs find nothing new. After a change of the rewriter, more mutants should be tried.
const MUTANTS: u64 = 16_000;
const ACCEPTED_AT_LEAST: u64 = 5_000;
/// The kinds of seeds, each with its percentage of the mutants.
const SHARES: [(Seeds, u64); 3] = [
    (Seeds::Sources, 40),
    (Seeds::Handmade, 20),
    (Seeds::Jdk, 40),
];
/// Percentage of the mutants of each kind that run on JDK 25. That JDK cannot stop a thread, so a
/// mutant that hangs costs a JVM; therefore mutations that make loops are not used there.
const PERCENT_ON_JDK_25: u64 = 10;
/// Largest percentage of accepted mutants that may be left out of the comparison.
const EXCLUDED_PERCENT: u64 = 10;

/// Returns, for each trial, the seeds, the JDK, and the number of its mutants out of 10,000.
fn trials() -> impl Iterator<Item = (Seeds, u64, u32)> {
    let jdks = [(17, 100 - PERCENT_ON_JDK_25), (25, PERCENT_ON_JDK_25)];
    let each =
        move |(seeds, share)| jdks.map(|(feature, percent)| (seeds, share * percent, feature));
    SHARES.into_iter().flat_map(each)
}

/// Judges one mutant again. `one` is the name that a finding reports.
fn repeat(one: &str) -> Result<()> {
    let (name, number) = one.split_once(':').context("<trial>:<number>")?;
    for (seeds, _, feature) in trials() {
        if format!("{seeds:?}{feature}") == name {
            println!(
                "{}",
                explain(&Trial::new(feature, seeds)?, number.parse()?, "")?
            );
        }
    }
    Ok(())
}

#[test]
fn rewritten_mutants_behave_as_before() -> Result<()> {
    if let Ok(one) = std::env::var("LOADHOOK_HOTSPOT_MUTANT") {
        return repeat(&one);
    }
    let mutants = std::env::var("LOADHOOK_HOTSPOT_MUTANTS");
    let mutants = mutants.ok().map_or(Ok(MUTANTS), |it| it.parse())?;
    let (mut counts, mut explained) = (Counts::default(), Vec::new());
    for (seeds, percent, feature) in trials() {
        let started = Instant::now();
        let trial = Trial::new(feature, seeds)?;
        let mutants = mutants * percent / 10_000;
        let (counted, findings) = judge_all(&trial, mutants)?;
        println!(
            "{}: {} classes, {:.1?}: {counted}\n",
            trial.name(),
            trial.mutator.seeds(),
            started.elapsed()
        );
        counts += counted;
        for finding in findings.iter().take(ENOUGH) {
            explained.push(explain(&trial, finding.number, &finding.message)?);
        }
    }
    ensure!(
        explained.is_empty(),
        "at least {} mutants disagree:\n{}",
        explained.len(),
        explained.join("\n")
    );
    ensure!(
        counts.accepted >= ACCEPTED_AT_LEAST,
        "too few mutants were accepted: {counts}"
    );
    let excluded = counts.accepted - counts.compared;
    ensure!(
        excluded * 100 <= counts.accepted * EXCLUDED_PERCENT,
        "too many mutants were left out: {counts}"
    );
    ensure!(
        counts.unchanged * 100 <= counts.accepted,
        "too many mutants got no probe: {counts}"
    );
    Ok(())
}

#[test]
fn rewritten_odd_classes_behave_as_before() -> Result<()> {
    let mut failed = Vec::new();
    let seeds = own_seeds()?;
    for feature in [17, 25] {
        let mut runner = Runner::new(&Jdk::find(feature)?, &[]).with_time_limit(PATIENCE);
        for (what, make) in ODDITIES {
            let (mut pairs, mut reports) = (Vec::new(), Vec::new());
            for seed in &seeds {
                let mut class = Class::parse(seed).context("the bytes are no class")?;
                make(&mut class);
                let class = class.write();
                let (rewritten, report) =
                    rewrite(&mut Probing::All.rewriter(), &class, Probing::All)?;
                reports.push(report);
                pairs.push((class.clone(), rewritten.unwrap_or(class)));
            }
            let verdicts = runner.judge_all(&pairs)?;
            let accepted = verdicts
                .iter()
                .filter(|it| it.original.link.is_ok())
                .count();
            println!(
                "JDK {feature}, {what}: HotSpot accepts {accepted} of {} classes",
                seeds.len()
            );
            ensure!(
                accepted * 3 > seeds.len(),
                "{what}: {accepted} of {} classes accepted",
                seeds.len()
            );
            for ((verdict, pair), report) in verdicts.iter().zip(&pairs).zip(&reports) {
                let Some(told) = fault(verdict, report, &pair.0, true) else {
                    continue;
                };
                let folder = format!("odd-{}", failed.len());
                let folder = write_down(&folder, &pair.0, &pair.1)?;
                let told = short(&told);
                failed.push(format!(
                    "JDK {feature}, {what}: {}\n  {told}",
                    folder.display()
                ));
            }
        }
    }
    ensure!(
        failed.is_empty(),
        "{} classes disagree:\n{}",
        failed.len(),
        failed[..failed.len().min(ENOUGH)].join("\n")
    );
    Ok(())
}

/// Damages rewritten classes on purpose. The comparison with the originals must report each kind of
/// fault.
#[test]
fn a_faulty_rewrite_is_noticed() -> Result<()> {
    let mut runner = Runner::new(&Jdk::find(17)?, &[]).with_time_limit(PATIENCE);
    let mut rewriter = Probing::Timing.rewriter();
    let seeds = own_seeds()?;
    for (what, sabotage) in SABOTAGE {
        let (mut pairs, mut reports) = (Vec::new(), Vec::new());
        for seed in &seeds {
            let (rewritten, report) = rewrite(&mut rewriter, seed, Probing::Timing)?;
            let Some(mut class) = rewritten.and_then(|it| Class::parse(&it)) else {
                continue;
            };
            sabotage(&mut class);
            pairs.push((seed.clone(), class.write()));
            reports.push(report);
        }
        let verdicts = runner.judge_all(&pairs)?;
        let noticed = verdicts
            .iter()
            .zip(&pairs)
            .zip(&reports)
            .filter(|((verdict, pair), report)| fault(verdict, report, &pair.0, true).is_some());
        let noticed = noticed.count();
        println!(
            "{what}: the fault was noticed in {noticed} of {} classes",
            pairs.len()
        );
        ensure!(
            noticed * 20 > pairs.len(),
            "{what}: the fault was noticed in only {noticed} of {} classes",
            pairs.len()
        );
    }
    Ok(())
}
