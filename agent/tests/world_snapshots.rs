//! `snapshot-every`: complete profiles are written while the program runs. If the JVM is killed,
//! the last profile remains.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use loadhook_testkit::paths;
use loadhook_testkit::process::{self, PATIENCE};
use world::{Program, Ran, calls, classes, expect, read};

mod world;

fn beats(feature: u32, arguments: &[&str], timing: &str) -> Result<Program> {
    let mut main = vec!["Beats"];
    main.extend(arguments);
    let options = format!("all=true,quiet=true,timing={timing},snapshot-every=100ms");
    Ok(Program::new(feature, &classes("beats")?, &main)?.options(&options))
}

fn start(program: &Program) -> Result<Child> {
    let mut command = program.command(true)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command.stderr(Stdio::piped()).spawn()?)
}

/// Reads the given number of different snapshots while the program runs. Each must be complete, and
/// no count may be less than in the previous one.
fn follow(program: &Program, snapshots: usize) -> Result<BTreeMap<String, u64>> {
    let begun = Instant::now();
    let mut last = (0, BTreeMap::new());
    let mut seen = 0;
    while seen < snapshots {
        ensure!(
            begun.elapsed() < PATIENCE,
            "too few snapshots in the given time: {seen}"
        );
        sleep(Duration::from_millis(10));
        if !program.file().exists() {
            continue;
        }
        let profile = read(&program.file())?;
        if profile.header.duration_ns == last.0 {
            continue;
        }
        ensure!(
            profile.header.duration_ns > last.0,
            "a snapshot is older than the one before"
        );
        let now = calls(&profile);
        // Method 0 is the tracker's own, by which it measures the cost of a probe.
        ensure!(!now.contains_key("Beats.<init>"), "{now:#?}");
        for (method, before) in &last.1 {
            let found = now.get(method).copied().unwrap_or(0);
            ensure!(
                found >= *before,
                "snapshot {seen} has {found} calls of {method}, the one before had {before}"
            );
        }
        last = (profile.header.duration_ns, now);
        seen += 1;
    }
    Ok(last.1)
}

/// Checks that the profile is the only file in the program's folder.
fn only_the_profile(program: &Program) -> Result<()> {
    let names = paths::names(program.folder())?;
    ensure!(names == ["profile.pb.gz"], "{names:?}");
    Ok(())
}

fn killed(feature: u32, timing: &str) -> Result<()> {
    let program = beats(feature, &[], timing)?;
    let mut child = start(&program)?;
    let followed = follow(&program, 30);
    child.kill()?;
    child.wait()?;
    let followed = followed.with_context(|| format!("JDK {feature}, {timing}"))?;
    let left = program.profile()?;
    ensure!(left.header.not_ended, "{:?}", left.header);
    let left = calls(&left);
    for method in ["Beats.beat", "Beats.bar", "Beats.shortLived"] {
        let (before, after) = (followed.get(method), left.get(method));
        ensure!(
            before.is_some() && after >= before,
            "{method}: {before:?} calls in one snapshot, but {after:?} in a later one"
        );
    }
    Ok(())
}

#[test]
fn kill_leaves_the_last_snapshot_on_17() -> Result<()> {
    killed(17, "adaptive")?;
    killed(17, "count")
}

#[test]
fn kill_leaves_the_last_snapshot_on_25() -> Result<()> {
    killed(25, "adaptive")?;
    killed(25, "count")
}

/// The last profile is written after all snapshots and has all calls. No temporary file is left.
fn ends(feature: u32) -> Result<()> {
    let rounds = 300;
    let program = beats(feature, &[&rounds.to_string()], "adaptive")?;
    let profile = program.unchanged()?;
    ensure!(!profile.header.not_ended, "{:?}", profile.header);
    let bars = rounds + 4 * rounds;
    expect(
        &profile,
        &[
            ("Beats.beat", 1000 * bars),
            ("Beats.bar", bars),
            ("Beats.shortLived", rounds),
            ("Beats.main", 1),
        ],
    )
    .with_context(|| format!("JDK {feature}"))?;
    only_the_profile(&program)
}

#[test]
fn the_end_has_all_calls_on_17() -> Result<()> {
    ends(17)
}

#[test]
fn the_end_has_all_calls_on_25() -> Result<()> {
    ends(25)
}

/// Programs end while a snapshot is taken, or before the first snapshot.
fn exits(feature: u32) -> Result<()> {
    for snapshots in [0, 1, 3] {
        let program = beats(feature, &[], "adaptive")?;
        let mut child = start(&program)?;
        let followed = follow(&program, snapshots);
        drop(child.stdin.take());
        let ran: Ran = process::end(child)?.into();
        followed?;
        ensure!(ran.code == Some(9) && ran.stdout == "ready\n", "{ran}");
        ensure!(!ran.stderr.contains("loadhook"), "{ran}");
        ensure!(calls(&program.profile()?).contains_key("Beats.beat"));
        only_the_profile(&program)?;
    }
    Ok(())
}

#[test]
fn an_exit_does_not_wait_on_17() -> Result<()> {
    exits(17)
}

#[test]
fn an_exit_does_not_wait_on_25() -> Result<()> {
    exits(25)
}

/// A long interval does not delay the end of the JVM.
#[test]
fn a_sleeping_thread_holds_nothing_up() -> Result<()> {
    let program =
        beats(17, &["1"], "count")?.options("all=true,quiet=true,snapshot-every=307445734561825m");
    let profile = program.unchanged()?;
    expect(&profile, &[("Beats.beat", 5000)])
}

/// If the file cannot be written, the agent prints one message. It writes the file as soon as that
/// is possible.
#[test]
fn a_snapshot_is_tried_again() -> Result<()> {
    let program = beats(17, &[], "count")?;
    // The link leads to nothing until the folder exists. The agent cannot make this folder.
    let [folder, link] = ["later", "link"].map(|name| program.folder().join(name));
    symlink(&folder, &link)?;
    let mut command = program.java();
    let file = link.join("profile");
    let options = "all=true,quiet=true,snapshot-every=100ms";
    command.arg(world::agent_option(options, &file)?);
    command.args(&program.jvm).args(&program.main);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    // Some snapshots fail meanwhile. On a slow machine it may be that none is tried.
    sleep(Duration::from_secs(1));
    fs::create_dir(&folder)?;
    let begun = Instant::now();
    while !file.exists() && begun.elapsed() < PATIENCE {
        sleep(Duration::from_millis(10));
    }
    let written = read(&file);
    drop(child.stdin.take());
    let ran: Ran = process::end(child)?.into();
    written?;
    ensure!(ran.code == Some(9), "{ran}");
    let told = ran
        .stderr
        .lines()
        .filter(|line| line.contains("no snapshot"));
    ensure!(told.count() <= 1, "{ran}");
    read(&file).map(drop)
}
