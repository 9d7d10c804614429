//! Tests the golden inputs on real JVMs: they link under `-Xverify:all`, and give equal results
//! before and after rewriting with every probe.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use loadhook_rewrite::{Everything, Options, Outcome, Rewriter};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{java_tools, process};
use loadhook_tests::judge::{Case, Judge};

/// Hand-made inputs with nothing to run, or whose `run` never ends.
const NOT_RUN: &[&str] = &["no_methods", "endless_loop", "constructor_endless"];

/// Runs each hand-made class by itself. The tracker's path must be empty at the end.
fn hand_made(feature: u32) -> Result<()> {
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
    ensure!(cases.len() > 300, "only {} inputs", cases.len());
    let mut judge = Judge::new(feature, Options::default())?;
    for (group, count) in judge.judge(cases.into_iter(), 0)? {
        println!("JDK {feature}, {group}: {count:?}");
    }
    Ok(())
}

/// Runs the compiled classes all together, since some of them are nest mates.
fn compiled(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut rewriter = Rewriter::new(Options::default());
    let inputs = loadhook_golden::committed()?;
    for input in &inputs {
        let mut selector = Everything::all(0);
        let outcome = rewriter.rewrite(&input.bytes, &mut selector, |len| Some(vec![0; len]))?;
        let rewritten = match outcome {
            Outcome::Rewritten(rewritten) => rewritten,
            Outcome::Unchanged => input.bytes.clone(),
        };
        let path = folder.path().join(format!("{}.class", input.name));
        fs::create_dir_all(path.parent().context("no parent")?)?;
        fs::write(path, rewritten)?;
    }
    let before = run_tree(feature, &loadhook_golden::inputs())?;
    let after = run_tree(feature, folder.path())?;
    let ran = before
        .lines()
        .filter(|line| line.contains("\tran "))
        .count();
    println!("JDK {feature}: {} classes, {ran} of them ran", inputs.len());
    ensure!(ran > 40, "only {ran} classes ran:\n{before}");
    ensure!(!before.contains("\tfailed "), "{before}");
    for (before, after) in before.lines().zip(after.lines()) {
        ensure!(before == after, "before: {before}\nafter:  {after}");
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
fn jdk_17_runs_the_compiled_inputs() -> Result<()> {
    compiled(17)
}

#[test]
fn jdk_25_runs_the_compiled_inputs() -> Result<()> {
    compiled(25)
}
