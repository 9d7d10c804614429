//! The judges on real programs: javac, the Closure compiler, and Tomcat on threads. Each program ends as it does alone,
//! and the judges have no complaint.
//!
//! `scripts/corpora.sh` fetches the programs. `.ci/run` runs the tests `in_ci`. The others take minutes, and are run by
//! hand:
//!
//!     cargo test --workspace --test judged_programs -- --ignored --test-threads 1

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use loadhook_testkit::jdk::{Jdk, REPEATABLE};
use loadhook_testkit::{paths, process, tomcat};
use tempfile::TempDir;

#[allow(dead_code, reason = "each test file uses its part")]
mod support;
use support::agent_option;

/// The judges and their options. `everything` is slow, because it checks the object of each call.
const JUDGES: [(&str, &str); 8] = [
    ("callgraph", ""),
    ("callgraph", "ask"),
    ("allocations", ""),
    ("allocations", "ask"),
    ("monitors", ""),
    ("rewriter", "copies"),
    ("dumper", ""),
    ("everything", ""),
];

const FEATURES: [u32; 4] = [11, 17, 21, 25];

/// Returns the path of a corpus that `scripts/corpora.sh` has fetched.
fn corpus(name: &str) -> Result<PathBuf> {
    let path = paths::target().join("corpora").join(name);
    ensure!(
        path.exists(),
        "{} is missing: scripts/corpora.sh fetches it",
        path.display()
    );
    Ok(path)
}

fn java(jdk: &Jdk, judge: Option<(&str, &str)>, scratch: &Path) -> Result<Command> {
    let mut java = jdk.java();
    java.env_remove("JAVA_TOOL_OPTIONS")
        .env_remove("JDK_JAVA_OPTIONS")
        .current_dir(scratch)
        .arg("-XX:-CreateCoredumpOnCrash");
    if let Some((judge, options)) = judge {
        java.arg(agent_option(judge, options)?);
    }
    Ok(java)
}

/// Returns the judge's lines on standard error. Checks that the judge has no complaint.
fn verdict(name: &str, output: &Output) -> Result<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        stderr.contains(": 0 complaints"),
        "{name}: {}\n{stderr}",
        output.status
    );
    Ok(stderr
        .lines()
        .filter(|line| line.starts_with("total "))
        .collect::<Vec<_>>()
        .join(", "))
}

/// Runs a program alone, then under each judge on each JDK that has what it needs. All faults are reported at the end.
/// Returns the judges' lines.
fn judge(
    name: &str,
    features: &[u32],
    judges: &[(&'static str, &'static str)],
    arguments: impl Fn(&Jdk, &Path) -> Result<Option<Vec<String>>>,
) -> Result<Vec<String>> {
    let (mut all_totals, mut faults) = (Vec::new(), Vec::new());
    for &feature in features {
        let jdk = Jdk::find(feature)?;
        let mut alone = None;
        for judge in [None].into_iter().chain(judges.iter().copied().map(Some)) {
            let scratch = TempDir::new()?;
            let Some(arguments) = arguments(&jdk, scratch.path())? else {
                continue;
            };
            let output = process::finish(
                java(&jdk, judge, scratch.path())?
                    .args(REPEATABLE)
                    .args(arguments),
            )?;
            let left: Vec<Vec<u8>> = paths::files(scratch.path(), "class")?
                .into_iter()
                .chain(paths::files(scratch.path(), "js")?)
                .map(fs::read)
                .collect::<Result<_, _>>()?;
            let name = format!("{name}, JDK {feature}, {judge:?}");
            if judge.is_none() {
                ensure!(
                    output.status.success() && !left.is_empty(),
                    "{name}: {output:?}"
                );
                alone = Some(left);
                continue;
            }
            match verdict(&name, &output) {
                Ok(totals) => {
                    println!("{name}: {totals}");
                    all_totals.push(totals);
                }
                Err(fault) => faults.push(fault.to_string()),
            }
            if !output.status.success() || alone.as_ref() != Some(&left) {
                faults.push(format!(
                    "{name}: {}, or other files than alone",
                    output.status
                ));
            }
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(all_totals)
}

#[test]
#[ignore = "needs scripts/corpora.sh, and minutes"]
fn javac() -> Result<()> {
    let sources = paths::files(&corpus("bcel")?, "java")?;
    judge("javac", &FEATURES, &JUDGES, |jdk, scratch| {
        if jdk.javac().is_err() {
            return Ok(None);
        }
        let patch = format!("java.xml={}", corpus("bcel")?.display());
        let mut arguments: Vec<String> = ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn"]
            .into_iter()
            .chain([
                "-XDignore.symbol.file",
                "-proc:none",
                "-g",
                "--patch-module",
                &patch,
                "-d",
            ])
            .map(str::to_owned)
            .collect();
        arguments.push(scratch.join("out").display().to_string());
        arguments.extend(sources.iter().map(|path| path.display().to_string()));
        Ok(Some(arguments))
    })
    .map(drop)
}

/// Returns the arguments with which the Closure compiler compiles a script.
fn closure(script: &Path, scratch: &Path) -> Result<Vec<String>> {
    let compiler = corpus("closure-compiler/compiler.jar")?;
    Ok(vec![
        "-jar".to_owned(),
        compiler.display().to_string(),
        "--js".to_owned(),
        script.display().to_string(),
        "--env=CUSTOM".to_owned(),
        "--js_output_file".to_owned(),
        scratch.join("small.js").display().to_string(),
    ])
}

#[test]
#[ignore = "needs scripts/corpora.sh, and minutes"]
fn closure_compiler() -> Result<()> {
    let jquery = corpus("jquery/jquery.js")?;
    judge("the Closure compiler", &FEATURES, &JUDGES, |_, scratch| {
        closure(&jquery, scratch).map(Some)
    })
    .map(drop)
}

#[test]
#[ignore = "needs scripts/corpora.sh, and minutes"]
fn tomcat_on_threads() -> Result<()> {
    serve(&FEATURES, &JUDGES).map(drop)
}

/// The part that `.ci/run` runs.
mod in_ci {
    use super::*;

    /// Parsing this takes little beside the start of the compiler.
    const SCRIPT: &str = "\
function area(shape) { return shape.width * shape.height; }
var all = [1, 2, 3].map(function (side) { return area({width: side, height: side + 1}); });
console.log(all);
";

    #[test]
    #[ignore = "needs scripts/corpora.sh"]
    fn calls_of_the_closure_compiler() -> Result<()> {
        let input = TempDir::new()?;
        let script = input.path().join("input.js");
        fs::write(&script, SCRIPT)?;
        let judges = [("callgraph", "")];
        let totals = judge("the Closure compiler", &[17], &judges, |_, scratch| {
            closure(&script, scratch).map(Some)
        })?;
        // The start of the compiler alone takes many more.
        exceeds(&totals, "calls", 100_000)
    }

    #[test]
    #[ignore = "needs scripts/corpora.sh"]
    fn monitors_of_tomcat() -> Result<()> {
        let totals = serve(&[17], &[("monitors", "")])?;
        // The JDK's own threads wait, and the server's threads meet at the pools of its connections.
        exceeds(&totals, "other-waits", 0)?;
        exceeds(&totals, "other-contended", 0)
    }

    /// Checks that a number of each judge is larger than `bound`.
    fn exceeds(totals: &[String], name: &str, bound: i64) -> Result<()> {
        ensure!(!totals.is_empty(), "no judge has run");
        let start = format!("total {name} ");
        for totals in totals {
            let number = totals.split(", ").find_map(|it| it.strip_prefix(&start));
            let number: i64 = number.with_context(|| totals.clone())?.parse()?;
            ensure!(number > bound, "{name} is {number}: {totals}");
        }
        Ok(())
    }
}

/// Runs Tomcat on threads under each judge on each JDK, with clients that send it requests. Returns the judges' lines.
fn serve(features: &[u32], judges: &[(&'static str, &'static str)]) -> Result<Vec<String>> {
    let (mut all_totals, mut faults) = (Vec::new(), Vec::new());
    for &feature in features {
        let jdk = Jdk::find(feature)?;
        let jars = [
            "tomcat/tomcat10-embed-core.jar",
            "tomcat/jakarta-annotation-api.jar",
        ];
        let jars: Vec<PathBuf> = jars.into_iter().map(corpus).collect::<Result<_>>()?;
        for &chosen in judges {
            let scratch = TempDir::new()?;
            let class_path = tomcat::class_path(&jars, scratch.path())?;
            let mut server = java(&jdk, Some(chosen), scratch.path())?;
            server
                .args(["-cp", &class_path, "TomcatServer"])
                .arg(scratch.path())
                .arg("false");
            let name = format!("Tomcat, JDK {feature}, {chosen:?}");
            let told = tomcat::talk(&mut server, &jdk, &class_path)
                .and_then(|output| verdict(&name, &output));
            match told {
                Ok(totals) => {
                    println!("{name}: {totals}");
                    all_totals.push(totals);
                }
                Err(fault) => faults.push(format!("{name}: {fault:#}")),
            }
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(all_totals)
}
