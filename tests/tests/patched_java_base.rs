//! Tests that a JVM starts with verification on a completely rewritten `java.base`, and that a
//! program has the same results as without probes. One test uses all probes, another only count
//! probes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_rewrite::{Everything, Options, Outcome, Rewriter};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{corpus, paths, process};
use rayon::prelude::*;

/// The methods of the tracker that all families of probes except count probes call.
const ALL: [&str; 11] = [
    "enter",
    "exit",
    "caught",
    "construct",
    "constructed",
    "ended",
    "alloc",
    "allocArray",
    "init",
    "newArray",
    "objects",
];

fn program(name: &str) -> std::path::PathBuf {
    paths::workspace().join("tests/programs").join(name)
}

/// Compiles the programs with JDK 17. The tracker is compiled into `patch`, as a class of
/// `java.base`.
fn compile(patch: &Path, classes: &Path) -> Result<()> {
    let jdk = Jdk::find(17)?;
    let mut javac = jdk.javac()?;
    javac.arg("-d").arg(classes).arg(program("Busy.java"));
    process::output(&mut javac)?;

    // A committed file cannot be named `$Loadhook.java` on every system, so it is copied to that
    // name here.
    let sources = classes.join("java-base/java/lang");
    fs::create_dir_all(&sources)?;
    let source = sources.join("$Loadhook.java");
    fs::copy(program("Loadhook.java"), &source)?;
    let mut javac = jdk.javac()?;
    javac
        .arg("--patch-module")
        .arg(format!("java.base={}", classes.join("java-base").display()))
        .arg("-d")
        .arg(patch)
        .arg(&source);
    process::output(&mut javac).map(drop)
}

fn rewrite_java_base(feature: u32, patch: &Path, probes: &Everything) -> Result<usize> {
    let java_base = corpus::jdk_classes(feature)?.join("java.base");
    let options = Options {
        owner: "java/lang/$Loadhook".into(),
        ..Options::default()
    };
    let rewritten: Vec<bool> = corpus::walk(&java_base)?
        .par_iter()
        .map_init(
            || Rewriter::new(options.clone()),
            |rewriter, path| {
                let class = fs::read(path)?;
                let mut selector = probes.clone();
                let outcome = rewriter.rewrite(&class, &mut selector, |len| Some(vec![0; len]))?;
                let Outcome::Rewritten(rewritten) = outcome else {
                    return Ok(false);
                };
                let target = patch.join(path.strip_prefix(&java_base)?);
                fs::create_dir_all(target.parent().context("the path has no parent folder")?)?;
                fs::write(target, rewritten)?;
                Ok(true)
            },
        )
        .collect::<Result<_>>()?;
    Ok(rewritten.iter().filter(|&&rewritten| rewritten).count())
}

/// Runs a program on a rewritten `java.base`. `called` are the tracker's methods that must have
/// been called.
fn run_on_patched(feature: u32, probes: &Everything, called: &[&str]) -> Result<()> {
    let parent = paths::target().join("loadhook-tests");
    fs::create_dir_all(&parent)?;
    let folder = tempfile::Builder::new()
        .prefix("java-base-")
        .tempdir_in(parent)?;
    let (patch, classes) = (folder.path().join("patch"), folder.path().join("classes"));
    fs::create_dir_all(&patch)?;
    fs::create_dir_all(&classes)?;
    // Compile before the classes are rewritten into `patch`. Otherwise JDK 17's javac would find
    // JDK 25's Object there.
    compile(&patch, &classes)?;
    let rewritten = rewrite_java_base(feature, &patch, probes)?;
    ensure!(
        rewritten > 5_000,
        "more than 5,000 rewritten classes expected, {rewritten} found"
    );

    let jdk = Jdk::find(feature)?;
    let run = |command: &mut Command| process::output(command.arg("-cp").arg(&classes).arg("Busy"));
    let plain = run(&mut jdk.java())?;
    let mut patched = jdk.java();
    patched
        .arg("-Xverify:all")
        .arg("--patch-module")
        .arg(format!("java.base={}", patch.display()));
    let patched = process::output(patched.arg("-cp").arg(&classes).args(["Busy", "counters"]))?;
    println!("JDK {feature}, {rewritten} classes of java.base rewritten:\n{patched}");
    let (results, counters) = patched.split_at(plain.len().min(patched.len()));
    ensure!(
        results == plain,
        "the results with probes:\n{results}\ndiffer from those without:\n{plain}"
    );
    for probe in called {
        ensure!(
            counters
                .lines()
                .any(|line| line.starts_with(&format!("{probe} true"))),
            "{probe} was never called:\n{counters}"
        );
    }
    Ok(())
}

#[test]
fn jdk_17_runs_on_a_rewritten_java_base() -> Result<()> {
    run_on_patched(17, &Everything::all(0), &ALL)
}

#[test]
fn jdk_25_runs_on_a_rewritten_java_base() -> Result<()> {
    run_on_patched(25, &Everything::all(0), &ALL)
}

#[test]
fn jdk_17_runs_on_a_counted_java_base() -> Result<()> {
    run_on_patched(17, &Everything::counts(0), &["count"])
}

#[test]
fn jdk_25_runs_on_a_counted_java_base() -> Result<()> {
    run_on_patched(25, &Everything::counts(0), &["count"])
}
