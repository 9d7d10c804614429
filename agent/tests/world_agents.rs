//! Other agents in the same JVM as Loadhook's agent. No agent disturbs another, and the counts are
//! exact.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_testkit::{process, source};

use world::{Program, Ran, agent_library, classes, compiled, expect, read};

mod world;

const ASM: &str = "/usr/share/java/asm.jar";

/// The calls of `Work`, which are the same with any other agent.
const COUNTS: &[(&str, u64)] = &[
    ("Work.main", 1),
    ("Work.rounds", 2),
    ("Work.round", 3000),
    ("Work.branch", 3000),
    ("Work.leaf", 3000),
    ("Work.midway", 1),
    ("Work$Other.<init>", 1),
    ("Work$Other.run", 1),
];

fn work(feature: u32) -> Result<Program> {
    Program::new(feature, &classes("work")?, &["Work"])
}

/// Makes the jar of the Java agent with JDK 17's `jar`.
fn asm_agent(folder: &Path) -> Result<PathBuf> {
    ensure!(
        Path::new(ASM).is_file(),
        "{ASM} not found: install libasm-java"
    );
    let classes = compiled("asm", |javac, files| {
        javac.args(["-cp", ASM]).args(files);
        Ok(())
    })?;
    let (manifest, jar) = (folder.join("manifest"), folder.join("asm-agent.jar"));
    fs::write(
        &manifest,
        format!("Premain-Class: AsmAgent\nCan-Retransform-Classes: true\nClass-Path: file:{ASM}\n"),
    )?;
    let manifest = manifest.display().to_string();
    source::jar(&jar, &["--manifest", &manifest], &classes)?;
    Ok(jar)
}

/// Runs the program; `before` and `after` are options before and after the option of Loadhook's
/// agent.
fn run(program: &Program, before: &[String], ours: bool, after: &[String]) -> Result<Ran> {
    let ours = ours.then(|| program.agent_option()).transpose()?;
    let mut java = program.java();
    java.args(before).args(ours).args(after);
    java.args(&program.jvm).args(&program.main);
    Ok(process::finish(java.current_dir(program.folder()))?.into())
}

/// Returns the lines that the program printed, without the line in which JDK 11's flight recorder prints the process
/// id.
fn printed(ran: &Ran) -> Vec<&str> {
    let lines = ran.stdout.lines();
    lines.filter(|line| !line.starts_with("Use jcmd")).collect()
}

/// Another agent is loaded before or after Loadhook's. The program does the same as with the other agent alone, the
/// counts are exact, and Loadhook prints no message.
fn beside(program: &Program, theirs: &str, properties: &[String]) -> Result<()> {
    let theirs = [theirs.to_owned()];
    let alone = run(program, &theirs, false, properties)?;
    for (before, after) in [(&theirs[..], &[][..]), (&[], &theirs)] {
        let both = run(program, before, true, &[after, properties].concat())?;
        let what = || {
            format!(
                "JDK {}: {before:?} {after:?} {properties:?}",
                program.jdk.feature
            )
        };
        ensure!(
            alone.code == Some(3) && printed(&alone) == printed(&both) && both.code == alone.code,
            "{}: without ours {alone}\nwith ours {both}",
            what()
        );
        ensure!(!both.stderr.contains("loadhook"), "{both}");
        expect(&program.profile()?, COUNTS).with_context(what)?;
    }
    Ok(())
}

/// Checks that each method is in the profile only once: a class that is retransformed keeps its
/// ids.
fn once(profile: &Profile) -> Result<()> {
    let mut keys = BTreeSet::new();
    for method in &profile.methods {
        ensure!(
            keys.insert(method.key()),
            "this method is in the profile twice: {method:?}"
        );
    }
    Ok(())
}

/// The other agent adds a call to every method, and is loaded before or after Loadhook's. It also
/// changes methods that are running, by retransforming all loaded classes.
fn asm(feature: u32, kinds: &[(&str, Option<&str>)]) -> Result<()> {
    let options = "all=true,quiet=true,exclude=org.objectweb.**";
    let program = work(feature)?.options(options);
    let jar = asm_agent(program.folder())?;
    for (kind, midway) in kinds {
        let agent = format!("-javaagent:{}={kind}", jar.display());
        let mut properties = vec!["-Dworld.report=yes".to_owned()];
        properties.extend(midway.map(|name| format!("-Dworld.midway={name}")));
        beside(&program, &agent, &properties)?;
        once(&program.profile()?).with_context(|| format!("{kind} {midway:?}"))?;
    }
    Ok(())
}

/// From halfway on, the other agent transforms all classes.
const LATE: (&str, Option<&str>) = ("late", Some("late"));
/// The other agent transforms classes as they are loaded, and all of them again halfway.
const AGAIN: (&str, Option<&str>) = ("retransforms", Some("again"));
const KINDS: &[(&str, Option<&str>)] = &[
    ("once", None),
    ("once", Some("again")),
    ("retransforms", None),
    AGAIN,
    LATE,
];

#[test]
fn an_asm_agent_beside_loadhook_on_11() -> Result<()> {
    asm(11, &[AGAIN])
}

#[test]
fn an_asm_agent_beside_loadhook_on_17() -> Result<()> {
    asm(17, KINDS)
}

#[test]
fn an_asm_agent_beside_loadhook_on_21() -> Result<()> {
    asm(21, &[AGAIN])
}

#[test]
fn an_asm_agent_beside_loadhook_on_25() -> Result<()> {
    asm(25, &[AGAIN, LATE])
}

/// JDK Flight Recorder changes classes of the JDK. With its method timing (JDK 25), it also changes
/// the program's classes.
fn flight_recorder(feature: u32) -> Result<()> {
    let program = work(feature)?;
    let file = program.folder().join("work.jfr");
    let mut option = format!(
        "-XX:StartFlightRecording=settings=profile,filename={}",
        file.display()
    );
    if feature >= 25 {
        option += ",method-timing=Work";
    }
    // Later JDKs have an option that keeps the process id out of the output.
    beside(&program, &option, &["-Xlog:jfr*=off".to_owned()])?;
    ensure!(
        fs::metadata(&file)?.len() > 10_000,
        "JFR wrote no recording to {}",
        file.display()
    );
    Ok(())
}

#[test]
fn a_flight_recording_on_11() -> Result<()> {
    flight_recorder(11)
}

#[test]
fn a_flight_recording_on_17() -> Result<()> {
    flight_recorder(17)
}

#[test]
fn a_flight_recording_on_25() -> Result<()> {
    flight_recorder(25)
}

/// A debugger may attach to a program with the agent. JDK 11's runtime has no debugger library.
fn debugged(feature: u32) -> Result<()> {
    let option =
        "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,quiet=y,address=127.0.0.1:0";
    beside(&work(feature)?, option, &[])
}

#[test]
fn a_debugger_beside_loadhook_on_17() -> Result<()> {
    debugged(17)
}

#[test]
fn a_debugger_beside_loadhook_on_21() -> Result<()> {
    debugged(21)
}

#[test]
fn a_debugger_beside_loadhook_on_25() -> Result<()> {
    debugged(25)
}

/// Loadhook's agent is loaded twice, from one file or from two. The first agent counts, the second
/// reports that it does not, and the program runs.
fn loaded_twice(feature: u32) -> Result<()> {
    let program = work(feature)?;
    let copy = program.folder().join("libother.so");
    fs::copy(agent_library()?, &copy)?;
    let plain = program.plain()?;
    for second in [agent_library()?, copy] {
        let other = program.folder().join("other.pb.gz");
        let mut java = program.java();
        java.arg(program.agent_option()?);
        java.arg(format!(
            "-agentpath:{}=quiet=true,file={}",
            second.display(),
            other.display()
        ));
        java.args(&program.jvm).args(&program.main);
        let ran: Ran = process::finish(&mut java)?.into();
        ensure!(
            ran.stdout == plain.stdout && ran.code == plain.code,
            "{}: {ran}",
            second.display()
        );
        ensure!(
            ran.stderr.lines().count() == 1 && ran.stderr.starts_with("loadhook: "),
            "{ran}"
        );
        ensure!(!other.exists());
        expect(&read(&program.file())?, COUNTS)?;
        fs::remove_file(program.file())?;
    }
    Ok(())
}

#[test]
fn loaded_twice_on_17() -> Result<()> {
    loaded_twice(17)
}

#[test]
fn loaded_twice_on_25() -> Result<()> {
    loaded_twice(25)
}
