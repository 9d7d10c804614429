//! Tests the golden inputs on real JVMs. Each class links under `-Xverify:all`, and gives equal
//! results before and after rewriting. Count probes count as many calls as entry probes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use loadhook_rewrite::{Everything, Options, Outcome, Rewriter};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::pairs::Runner;
use loadhook_testkit::{java_tools, process};
use loadhook_tests::judge::{Case, Judge};

/// Hand-made inputs that have no `run()`, or whose `run()` never ends.
const NOT_RUN: &[&str] = &["no_methods", "endless_loop", "constructor_endless"];

fn hand_made_cases() -> Result<Vec<Case>> {
    let cases: Vec<Case> = loadhook_golden::handmade::all()
        .into_iter()
        .map(|input| Case {
            runs: !NOT_RUN.contains(&input.name.as_str()),
            odd: false,
            name: input.name,
            group: "hand-made",
            original: input.bytes,
        })
        .collect();
    ensure!(
        cases.len() > 300,
        "more than 300 inputs expected, {} found",
        cases.len()
    );
    Ok(cases)
}

/// Runs each hand-made class alone. The tracker's path must be empty at the end.
fn hand_made(feature: u32) -> Result<()> {
    let cases = hand_made_cases()?;
    for probes in [
        Everything::all(0),
        Everything::counts(0),
        Everything::traces_with_values(0),
    ] {
        let mut judge = Judge::new(feature, Options::default(), probes)?;
        for (group, count) in judge.judge(cases.iter().cloned())? {
            println!("JDK {feature}, {group}: {count:?}");
        }
    }
    Ok(())
}

/// Runs each hand-made class twice, with entry probes and with count probes. Both must count the
/// same number of calls.
fn counted(feature: u32) -> Result<()> {
    let mut rewriter = Rewriter::new(Options::default());
    let mut rewrite = |class: &[u8], mut probes: Everything| -> Result<(Vec<u8>, u32)> {
        let outcome = rewriter.rewrite(class, &mut probes, |len| Some(vec![0; len]))?;
        let bytes = match outcome {
            Outcome::Rewritten(bytes) => bytes,
            Outcome::Unchanged => class.to_vec(),
        };
        Ok((bytes, rewriter.report().instrumented))
    };
    let (mut names, mut pairs) = (Vec::new(), Vec::new());
    for case in hand_made_cases()?.into_iter().filter(|case| case.runs) {
        let (entered, with_entry) = rewrite(&case.original, Everything::timing(0))?;
        let (counted, with_count) = rewrite(&case.original, Everything::counts(0))?;
        ensure!(with_count >= with_entry, "{}", case.name);
        if with_count == with_entry {
            names.push(case.name);
            pairs.push((entered, counted));
        }
    }
    let runner = Runner::new(&Jdk::find(feature)?, &["-Xverify:all"]);
    let mut runner = runner.with_time_limit(Duration::from_secs(60));
    let verdicts = runner.judge_all(&pairs)?;
    let mut calls = 0;
    for (name, verdict) in names.iter().zip(&verdicts) {
        let rewritten = verdict.rewritten.as_ref().and_then(|it| it.ran());
        let (Some(entered), Some(counted)) = (verdict.original.ran(), rewritten) else {
            bail!("{name} did not run: {verdict:?}");
        };
        ensure!(entered.calls == counted.calls, "{name}: {verdict:?}");
        ensure!(
            entered.tracker.enters == counted.tracker.counts,
            "{name}: entry probes saw {} calls, count probes {}",
            entered.tracker.enters,
            counted.tracker.counts
        );
        calls += counted.tracker.counts;
    }
    println!("JDK {feature}: {calls} calls of {} classes", names.len());
    ensure!(
        names.len() > 300,
        "more than 300 classes expected, {} found",
        names.len()
    );
    Ok(())
}

/// Runs all compiled classes together, since some are nest mates of others.
fn compiled(feature: u32) -> Result<()> {
    for probes in [Everything::all(0), Everything::counts(0)] {
        compiled_with(feature, &probes)?;
    }
    Ok(())
}

fn compiled_with(feature: u32, probes: &Everything) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut rewriter = Rewriter::new(Options::default());
    let inputs = loadhook_golden::committed()?;
    for input in &inputs {
        let mut selector = probes.clone();
        let outcome = rewriter.rewrite(&input.bytes, &mut selector, |len| Some(vec![0; len]))?;
        let rewritten = match outcome {
            Outcome::Rewritten(rewritten) => rewritten,
            Outcome::Unchanged => input.bytes.clone(),
        };
        let path = folder.path().join(format!("{}.class", input.name));
        fs::create_dir_all(path.parent().context("the path has no parent folder")?)?;
        fs::write(path, rewritten)?;
    }
    let before = run_tree(feature, &loadhook_golden::inputs())?;
    let after = run_tree(feature, folder.path())?;
    let ran = before
        .lines()
        .filter(|line| line.contains("\tran "))
        .count();
    println!("JDK {feature}: {} classes, {ran} of them ran", inputs.len());
    ensure!(
        ran > 40,
        "more than 40 classes should run, but {ran} ran:\n{before}"
    );
    ensure!(!before.contains("\tfailed "), "{before}");
    for (before, after) in before.lines().zip(after.lines()) {
        ensure!(
            before == after,
            "the outputs differ. Original classes: {before}\nrewritten classes: {after}"
        );
    }
    ensure!(before.lines().count() == after.lines().count());
    Ok(())
}

fn run_tree(feature: u32, tree: &Path) -> Result<String> {
    let mut java = Jdk::find(feature)?.java();
    let class_path = [tree, java_tools::classes()?];
    java.arg("-Xverify:all")
        .arg("-cp")
        .arg(std::env::join_paths(class_path)?)
        .arg("RunTree")
        .arg(tree);
    process::output(&mut java)
}

#[test]
fn jdk_17_runs_the_hand_made_inputs() -> Result<()> {
    hand_made(17)
}

#[test]
fn jdk_25_runs_the_hand_made_inputs() -> Result<()> {
    hand_made(25)
}

#[test]
fn jdk_17_counts_each_call_of_the_hand_made_inputs() -> Result<()> {
    counted(17)
}

#[test]
fn jdk_25_counts_each_call_of_the_hand_made_inputs() -> Result<()> {
    counted(25)
}

#[test]
fn jdk_17_runs_the_compiled_inputs() -> Result<()> {
    compiled(17)
}

#[test]
fn jdk_25_runs_the_compiled_inputs() -> Result<()> {
    compiled(25)
}
