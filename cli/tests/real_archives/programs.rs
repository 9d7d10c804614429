//! Tests that rewritten programs do the same as the originals, and that two runs have the same
//! counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_testkit::jdk::{Jdk, REPEATABLE};
use loadhook_testkit::{paths, process, tomcat};
use tempfile::TempDir;

use crate::Archives;
use crate::common::{done, loadhook, read};

/// The output of a program on JDK 17, and its profile.
struct Run {
    output: Output,
    profile: Option<Profile>,
}

/// Runs `java ARGUMENTS`, and reads the profile if `timing` is given, which means that the program
/// is rewritten.
fn run(arguments: &[&str], timing: Option<&str>) -> Result<Run> {
    let scratch = TempDir::new()?;
    let file = scratch.path().join("profile.pb.gz");
    let mut java = java(17)?;
    if let Some(timing) = timing {
        java.arg(format!("-Dloadhook.file={}", file.display()));
        java.arg(format!("-Dloadhook.timing={timing}"));
    }
    let output = process::finish(java.args(arguments))?;
    let name = || format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), name());
    ensure!(file.exists() == timing.is_some(), name());
    let profile = timing.map(|_| read(&file));
    Ok(Run { output, profile })
}

/// Makes the command `java`, without options from the environment.
fn java(feature: u32) -> Result<Command> {
    let mut java = Jdk::find(feature)?.java();
    java.env_remove("JAVA_TOOL_OPTIONS")
        .env_remove("JDK_JAVA_OPTIONS");
    Ok(java)
}

/// Returns the number of calls of each method, for the classes that `is_wanted` accepts.
fn calls(run: &Run, is_wanted: impl Fn(&str) -> bool) -> Result<BTreeMap<String, u64>> {
    let profile = run.profile.as_ref().context("the run has no profile")?;
    let mut calls = BTreeMap::new();
    for node in profile.threads.iter().flat_map(|thread| &thread.nodes) {
        let method = &profile.methods[node.method as usize];
        if is_wanted(&method.class) {
            let name = format!("{}.{}{}", method.class, method.name, method.descriptor);
            *calls.entry(name).or_default() += node.calls;
        }
    }
    Ok(calls)
}

fn same_output(plain: &Run, rewritten: &Run) -> Result<()> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (a, b) = (text(&plain.output.stdout), text(&rewritten.output.stdout));
    ensure!(
        a == b,
        "the outputs differ. Before rewriting: {a}\nafter: {b}"
    );
    ensure!(!a.is_empty(), "the program printed nothing");
    Ok(())
}

/// Checks that two runs have the same calls, of more than `least` methods.
fn same_calls(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>, least: usize) -> Result<()> {
    ensure!(
        a.len() > least,
        "calls of more than {least} methods expected, of {} found",
        a.len()
    );
    let all = a.keys().chain(b.keys());
    let differing = all.filter(|method| a.get(*method) != b.get(*method));
    let lines: Vec<String> = differing
        .take(20)
        .map(|method| format!("{method}: {:?}, {:?}", a.get(method), b.get(method)))
        .collect();
    ensure!(lines.is_empty(), "{lines:#?}");
    println!(
        "both runs have the same {} methods and {} calls",
        a.len(),
        a.values().sum::<u64>()
    );
    Ok(())
}

#[track_caller]
fn called(calls: &BTreeMap<String, u64>, method: &str, times: u64) -> Result<()> {
    let begins = |name: &&String| name.starts_with(method);
    let found: u64 = calls
        .iter()
        .filter(|(name, _)| begins(name))
        .map(|(_, n)| n)
        .sum();
    ensure!(
        found == times,
        "{method}: {times} calls expected, {found} found"
    );
    Ok(())
}

fn class_path(jars: &[PathBuf]) -> String {
    let jars: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
    jars.join(":")
}

/// Compiles the program `name` into the folder `plain`, and rewrites it into the folder `counted`.
/// `with` is the class path of the compiler.
fn compiled(name: &str, with: &str, folder: &Path) -> Result<[PathBuf; 2]> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/java/{name}.java"));
    let mut javac = Jdk::find(17)?.javac()?;
    javac.args(["-nowarn", "-proc:none", "-cp", with, "-d"]);
    process::output(javac.arg(folder.join("plain")).arg(source))?;
    let arguments = ["rewrite", "--all", "plain", "-o", "counted", "--verify"];
    done(&mut loadhook(folder, &arguments)).expect(0, "", &["verified: "]);
    Ok(["plain", "counted"].map(|name| folder.join(name)))
}

pub(crate) fn closure_compiler(archives: &Archives) -> Result<()> {
    let jquery = paths::target().join("corpora/jquery/jquery.js");
    ensure!(
        jquery.exists(),
        "{} is missing: scripts/corpora.sh fetches it",
        jquery.display()
    );
    let jquery = jquery.display().to_string();
    let compile = |jar: &Path, timing| {
        let jar = jar.display().to_string();
        // The compiler must not add its declarations of the browser's functions: compiling those
        // takes longer than the program.
        let program = ["-jar", &jar, "--js", &jquery, "--env=CUSTOM"];
        run(&[REPEATABLE, &program].concat(), timing)
    };
    let [before] = &archives.before[..] else {
        anyhow::bail!("one jar expected");
    };
    let plain = compile(before, None)?;
    let runs = [Some("count"), Some("adaptive")].map(|timing| -> Result<_> {
        let run = compile(&archives.after[0], timing)?;
        same_output(&plain, &run)?;
        ensure!(run.output.stderr == plain.output.stderr, "{:?}", run.output);
        calls(&run, |_| true)
    });
    let [first, second] = runs;
    let (first, second) = (first?, second?);
    called(
        &first,
        "com.google.javascript.jscomp.CommandLineRunner.main",
        1,
    )?;
    same_calls(&first, &second, 5000)
}

pub(crate) fn groovy(archives: &Archives) -> Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/script.groovy");
    let script = script.display().to_string();
    let groovy = |jars: &[PathBuf], timing| {
        let jars = class_path(jars);
        let program = ["-cp", &jars, "groovy.ui.GroovyMain", &script];
        run(&program, timing)
    };
    let plain = groovy(&archives.before, None)?;
    let rewritten = groovy(&archives.after, Some("exact"))?;
    same_output(&plain, &rewritten)?;
    let all = calls(&rewritten, |_| true)?;
    ensure!(
        all.len() > 1000,
        "calls of more than 1000 methods expected, of {} found",
        all.len()
    );
    called(&all, "groovy.ui.GroovyMain.main", 1)?;
    // Groovy makes the class of the script while the program runs. So it is not instrumented, but
    // calls this instrumented method.
    called(
        &all,
        "org.codehaus.groovy.runtime.DefaultGroovyMethods.groupBy(Ljava/lang/Iterable;",
        1,
    )
}

pub(crate) fn tomcat(archives: &Archives) -> Result<()> {
    for feature in [17, 25] {
        let jdk = Jdk::find(feature)?;
        let scratch = TempDir::new()?;
        let file = scratch.path().join("profile.pb.gz");
        let class_path = tomcat::class_path(&archives.after, scratch.path())?;
        let mut java = java(feature)?;
        java.arg(format!("-Dloadhook.file={}", file.display()))
            .args(["-cp", &class_path, "TomcatServer"])
            .arg(scratch.path())
            .arg("false");
        let output = tomcat::talk(&mut java, &jdk, &class_path)?;
        ensure!(output.status.code() == Some(128 + 15), "{output:?}");
        let run = Run {
            output,
            profile: Some(read(&file)),
        };
        let answers = (tomcat::CLIENTS * tomcat::REQUESTS) as u64;
        let calls = calls(&run, |_| true)?;
        called(
            &calls,
            "org.apache.coyote.http11.Http11Processor.prepareRequest(",
            answers,
        )?;
    }
    Ok(())
}

/// Packages of `java.base` that must be opened on JDK 17, because Spark uses them by reflection.
const OPENED: &[&str] = &[
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
];

pub(crate) fn spark(archives: &Archives) -> Result<()> {
    let folder = TempDir::new()?;
    let [own, counted] = compiled("SparkJob", &class_path(&archives.before), folder.path())?;
    let opened: Vec<String> = OPENED
        .iter()
        .map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED"))
        .collect();
    let opened: Vec<&str> = opened.iter().map(String::as_str).collect();
    let spark = |jars: &[PathBuf], own: &Path, timing| {
        let scratch = TempDir::new()?;
        let path = scratch.path().display().to_string();
        let class_path = format!("{}:{}", own.display(), class_path(jars));
        // The call tree of the program has a million and a half nodes, more than the default limit.
        let room = ["-Xmx3g", "-Dloadhook.max-nodes=10000000"];
        let program = ["-cp", &class_path, "SparkJob", &path];
        let run = run(&[&opened[..], &room, &program].concat(), timing)?;
        // Overflowed calls would make the counts of two runs differ: the speed of the threads
        // decides which calls overflow.
        let overflowed = run
            .profile
            .as_ref()
            .map_or(0, |p| p.header.overflowed_calls);
        ensure!(
            overflowed == 0,
            "no overflowed calls expected, {overflowed} found"
        );
        Ok::<Run, anyhow::Error>(run)
    };
    let plain = spark(&archives.before, &own, None)?;
    let is_among = |class: &str, parts: &[&str]| parts.iter().any(|part| class.starts_with(part));
    let is_ours = |class: &str| is_among(class, DETERMINISTIC) && !is_among(class, HASHED);
    let runs = [Some("count"), Some("adaptive")].map(|timing| -> Result<_> {
        let run = spark(&archives.after, &counted, timing)?;
        same_output(&plain, &run)?;
        calls(&run, is_ours)
    });
    let [first, second] = runs;
    let (first, second) = (first?, second?);
    called(&first, "SparkJob.main", 1)?;
    called(&first, "SparkJob.line", 3000)?;
    same_calls(&first, &second, 700)
}

/// Classes whose calls do not depend on the speed of threads: the classes of the test's job, and the
/// classes of Spark that plan a query.
const DETERMINISTIC: &[&str] = &[
    "SparkJob",
    "org.apache.spark.sql.catalyst.parser.",
    "org.antlr.v4.runtime.",
    "org.apache.spark.api.java.",
];

/// Classes of [`DETERMINISTIC`] whose calls depend on identity hash codes, which differ from run to
/// run.
const HASHED: &[&str] = &[
    "org.antlr.v4.runtime.atn.ATNConfigSet$",
    "org.antlr.v4.runtime.misc.Array2DHashSet",
];
