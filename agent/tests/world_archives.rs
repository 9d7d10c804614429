//! Class data archives are still used with the agent, and classes from them are counted like other
//! classes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_testkit::{process, source};

use world::{Program, Ran, classes, expect};

mod world;

/// The expected calls of `Archived`.
const COUNTS: &[(&str, u64)] = &[
    ("Archived.main", 1),
    ("Archived$Square.<init>", 100),
    ("Archived$Square.area", 200),
    ("Archived.multiply", 200),
    ("Archived$Aside.text", 0),
];

/// Puts the program into a jar, since the JVM does not archive classes from folders.
fn archived(feature: u32) -> Result<Program> {
    let mut program = Program::new(feature, &classes("archived")?, &["Archived"])?;
    let jar = program.folder().join("archived.jar");
    source::jar(&jar, &[], &classes("archived")?)?;
    program.jvm = vec!["-cp".to_owned(), jar.display().to_string()];
    // `Archived$Aside` is not instrumented, so that the JVM can load it from an archive.
    Ok(program.options("all=true,quiet=true,exclude=Archived$Aside"))
}

/// The names of the classes that were loaded from an archive, and of the other classes.
struct Sources {
    shared: BTreeSet<String>,
    other: BTreeSet<String>,
}

/// Runs the program with these options. The JVM logs the source of each class.
fn logged(program: &Program, agent: bool, options: &[&str]) -> Result<(Ran, Sources)> {
    let log = program.folder().join("classes.log");
    let mut java = program.java();
    if agent {
        java.arg(program.agent_option()?);
    }
    java.args(options)
        .arg(format!("-Xlog:class+load:file={}", log.display()));
    let ran: Ran = process::finish(java.args(&program.jvm).args(&program.main))?.into();
    let text = fs::read_to_string(&log).with_context(|| ran.to_string())?;
    fs::remove_file(&log)?;
    let mut sources = Sources {
        shared: BTreeSet::new(),
        other: BTreeSet::new(),
    };
    for line in text.lines() {
        let Some((before, source)) = line.split_once(" source: ") else {
            continue;
        };
        let name = before.rsplit(' ').next().unwrap_or_default().to_owned();
        if source.starts_with("shared objects file") {
            sources.shared.insert(name);
        } else {
            sources.other.insert(name);
        }
    }
    Ok((ran, sources))
}

/// Runs the program with these options, with and without the agent. Output and exit code must be
/// the same, and all classes of the JDK that come from the archive without the agent must do so
/// with it.
fn same(program: &Program, options: &[&str]) -> Result<(Profile, Sources)> {
    let (plain, before) = logged(program, false, options)?;
    let (observed, after) = logged(program, true, options)?;
    let what = || format!("JDK {}: {options:?}", program.jdk.feature);
    ensure!(
        plain.code == Some(4),
        "{}: exit code 4 expected without the agent: {plain}",
        what()
    );
    ensure!(
        plain.stdout == observed.stdout && plain.code == observed.code,
        "{}: output or exit code differ. Without the agent: {plain}\nwith the agent: {observed}",
        what()
    );
    ensure!(observed.stderr == plain.stderr, "{}: {observed}", what());
    ensure!(
        before.shared.len() > 400,
        "{}: only {} classes are shared without the agent: has this JDK {} an archive?",
        what(),
        before.shared.len(),
        program.jdk.home.display()
    );
    let lost: Vec<&String> = before
        .shared
        .iter()
        .filter(|name| after.other.contains(*name) && !name.starts_with("Archived"))
        .filter(|name| !is_regenerated(name))
        .collect();
    ensure!(
        lost.is_empty(),
        "{}: these classes come from the archive only without the agent: {lost:?}",
        what()
    );
    let profile = program.profile()?;
    expect(&profile, COUNTS).with_context(what)?;
    Ok((profile, after))
}

/// Returns whether the JVM takes the class from its image because an agent has a class-load hook.
/// JDK 25 does so for these four classes, of which the default archive has other versions.
fn is_regenerated(name: &str) -> bool {
    name.starts_with("java.lang.invoke.") && name.ends_with("$Holder")
}

fn default_archive(feature: u32) -> Result<()> {
    let program = archived(feature)?;
    let home = &program.jdk.home;
    let archive = home.join("lib/server/classes.jsa");
    ensure!(
        archive.is_file(),
        "{} not found: JDK {feature} is a runtime without an archive of classes, a whole one is needed \
         (JAVA_HOME_{feature})",
        archive.display()
    );
    // With `on`, the JVM does not start without its archive.
    same(&program, &["-Xshare:on"]).map(drop)
}

#[test]
fn the_default_archive_stays_in_use_on_17() -> Result<()> {
    default_archive(17)
}

#[test]
fn the_default_archive_stays_in_use_on_25() -> Result<()> {
    default_archive(25)
}

/// Makes an archive in a run without the agent.
fn made(program: &Program, option: &str, file: &Path) -> Result<PathBuf> {
    let mut java = program.java();
    java.arg(format!("{option}={}", file.display()));
    let ran: Ran = process::finish(java.args(&program.jvm).args(&program.main))?.into();
    ensure!(
        file.is_file(),
        "JDK {} did not write the archive {}: {ran}",
        program.jdk.feature,
        file.display()
    );
    Ok(file.to_owned())
}

/// Uses a dynamic archive that was made without the agent.
#[test]
fn a_dynamic_archive_stays_in_use_on_17() -> Result<()> {
    let program = archived(17)?;
    let file = program.folder().join("dynamic.jsa");
    let archive = made(&program, "-XX:ArchiveClassesAtExit", &file)?;
    let option = format!("-XX:SharedArchiveFile={}", archive.display());
    let (_, sources) = same(&program, &[&option])?;
    ensure!(
        sources.shared.contains("Archived$Aside"),
        "the class Archived$Aside should come from the dynamic archive; classes not from an archive: {:?}",
        sources.other
    );
    same(&program, &[&option, "-Xshare:on"]).map(drop)
}

/// Uses an AOT cache that was made without the agent. With `AOTMode=on`, the JVM does not start without the cache.
#[test]
fn an_aot_cache_stays_in_use_on_25() -> Result<()> {
    let program = archived(25)?;
    let file = program.folder().join("archived.aot");
    let cache = made(&program, "-XX:AOTCacheOutput", &file)?;
    let option = format!("-XX:AOTCache={}", cache.display());
    for mode in ["-XX:AOTMode=auto", "-XX:AOTMode=on"] {
        let (_, sources) = same(&program, &[&option, mode])?;
        ensure!(
            sources.shared.contains("Archived$Aside"),
            "the class Archived$Aside should come from the AOT cache; classes not from it: {:?}",
            sources.other
        );
    }
    Ok(())
}
