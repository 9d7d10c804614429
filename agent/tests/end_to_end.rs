//! The agent in real JVMs: the program is untouched, the counts are exact.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_tests::helpers;
use loadhook_tests::jdk::Jdk;

/// Built with these tests, beside them.
fn agent() -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    let folder = test.parent().context("no target folder")?;
    let agent = folder.join("libloadhook_agent.so");
    ensure!(agent.is_file(), "{} was not built", agent.display());
    Ok(agent)
}

fn compiled(folder: &Path) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Exits.java");
    let mut javac = Jdk::find(17)?.javac()?;
    javac.args(["-g", "-d"]).arg(folder).arg(source);
    helpers::output(&mut javac).map(drop)
}

fn run(feature: u32, folder: &Path, options: &str, jvm: &[&str]) -> Result<Output> {
    let mut java = Jdk::find(feature)?.java();
    java.arg(format!("-agentpath:{}={options}", agent()?.display()));
    java.args(jvm).arg("-cp").arg(folder).arg("Exits");
    Ok(java.output()?)
}

fn read(file: &Path) -> Result<Profile> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    Ok(pprof::read(&bytes[..])?)
}

/// Calls by method, and by caller and method.
type Counts = (BTreeMap<String, u64>, BTreeMap<(String, String), u64>);

fn counts(profile: &Profile) -> Counts {
    let name = |method: u32| {
        let method = &profile.methods[method as usize];
        format!("{}.{}", method.class, method.name)
    };
    let mut counts = Counts::default();
    for thread in &profile.threads {
        for node in &thread.nodes {
            let caller = node
                .parent
                .map(|parent| thread.nodes[parent as usize].method);
            let caller = caller.map_or_else(String::new, name);
            *counts.0.entry(name(node.method)).or_default() += node.calls;
            *counts.1.entry((caller, name(node.method))).or_default() += node.calls;
        }
    }
    counts
}

fn exact_counts(feature: u32, timing: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    compiled(folder.path())?;
    let file = folder.path().join("profile.pb.gz");
    let options = format!(
        "all=true,timing={timing},file={},quiet=true",
        file.display()
    );
    let output = run(feature, folder.path(), &options, &["-Xverify:all"])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.stdout == b"6765\n", "standard output: {output:?}");
    ensure!(output.status.code() == Some(7), "{output:?}");
    ensure!(!stderr.contains("loadhook"), "{stderr}");

    let (calls, edges) = counts(&read(&file)?);
    for (method, expected) in [
        ("Exits.main", 1),
        ("Exits.through", 1000),
        ("Exits.thrower", 1000),
        ("Exits$Derived.<init>", 100),
        ("Exits$Base.<init>", 100),
        ("Exits.fib", 21_891),
        ("Exits.work", 8),
        // Of thrower, of main's two handlers, of Derived and of work.
        ("Exits.leaf", 500 + 500 + 25 + 75 + 8000),
    ] {
        ensure!(
            calls.get(method) == Some(&expected),
            "JDK {feature}, {timing}: {method}: {expected} expected in {calls:#?}"
        );
    }
    for (caller, callee, expected) in [
        ("Exits.main", "Exits.through", 1000),
        ("Exits.through", "Exits.thrower", 1000),
        ("Exits.thrower", "Exits.leaf", 500),
        ("Exits.main", "Exits.leaf", 525),
        ("Exits$Derived.<init>", "Exits.leaf", 75),
        ("Exits$Derived.<init>", "Exits$Base.<init>", 100),
        ("Exits.work", "Exits.leaf", 8000),
        ("", "Exits.main", 1),
    ] {
        let edge = (caller.to_owned(), callee.to_owned());
        ensure!(
            edges.get(&edge) == Some(&expected),
            "JDK {feature}, {timing}: {edge:?}: {expected} expected in {edges:#?}"
        );
    }
    Ok(())
}

#[test]
fn counts_and_callers_are_exact_on_17() -> Result<()> {
    exact_counts(17, "adaptive")?;
    exact_counts(17, "exact")?;
    exact_counts(17, "count")
}

#[test]
fn counts_and_callers_are_exact_on_25() -> Result<()> {
    exact_counts(25, "adaptive")?;
    exact_counts(25, "exact")?;
    exact_counts(25, "count")
}

/// Wrong options stop the JVM before `main`, with one line: the only case in
/// which we stop one.
#[test]
fn wrong_options_stop_the_jvm() -> Result<()> {
    let folder = tempfile::tempdir()?;
    compiled(folder.path())?;
    for (options, message) in [
        (
            "timing=fast",
            "timing=fast: adaptive, exact or count expected",
        ),
        ("include=a/b", "packages are separated by dots here"),
        ("file=/nonexistent/x", "file=/nonexistent/x: No such file"),
    ] {
        let output = run(17, folder.path(), options, &[])?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !output.status.success() && output.stdout != b"6765\n",
            "{output:?}"
        );
        ensure!(stderr.contains(message), "{options}: {stderr}");
    }
    Ok(())
}
