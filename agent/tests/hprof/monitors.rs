//! The tables of monitors.

use anyhow::{Context, Result, bail, ensure};
use loadhook_hprof::StackFrame;
use loadhook_hprof::contents::{Contents, Section};
use loadhook_hprof::text::{CostKind, Frame};
use loadhook_settings::attach::DETACH;

use super::{command_of, contents, costs, run_in, text};
use crate::support::agent;
use crate::support::attach::{Running, load};
use crate::{on_each_jdk, on_jdks};

/// Returns the number of waits for the monitors or locks of a class at a method.
pub(super) fn contended(
    contents: &Contents,
    kind: CostKind,
    class: &str,
    method: &str,
) -> Result<i64> {
    let (total, rows) = costs(contents, kind)?;
    let mut rows = rows.iter().filter(|row| row.name == class);
    let (Some(row), None) = (rows.next(), rows.next()) else {
        bail!("{contents:?}");
    };
    let frame = contents.traces[&row.trace].frames.first();
    let frame = frame.context("the trace is empty")?;
    ensure!(
        // Some JDKs have no lines in classes of their own.
        frame.method == method && (frame.line > 0 || frame.class.starts_with("java.")) && total > 0,
        "{frame:?}, {total}"
    );
    Ok(row.count)
}

fn monitors_have_their_threads(feature: u32) -> Result<()> {
    let run = |options: &str| -> Result<Vec<u8>> {
        let folder = tempfile::tempdir()?;
        let command = command_of("HprofMonitors", feature, folder.path(), options)?;
        Ok(run_in(&folder, command, options)?.0)
    };
    let file = run("monitor=y,cutoff=0")?;
    let whole = contents(&file)?;
    ensure!(contended(&whole, CostKind::Monitors, "HprofMonitors$Gate", "enter")? == 3);
    ensure!(whole.monitor_events >= 2, "{}", whole.monitor_events);
    let dump = whole.sections.iter().find_map(|section| match section {
        Section::Monitors(dump) => Some(dump),
        _ => None,
    });
    let dump = dump.context("no MONITOR DUMP")?;
    let name = |serial: &u32| whole.threads[serial].name.as_str();
    let circles = dump.deadlocks();
    let [circle] = &circles[..] else {
        bail!("{circles:?}");
    };
    let mut names: Vec<&str> = circle.iter().map(name).collect();
    names.sort_unstable();
    ensure!(names == ["takes-left", "takes-right"], "{names:?}");
    let left = dump
        .monitors
        .iter()
        .find(|monitor| monitor.class == "LHprofMonitors$Left;");
    let owner = left.and_then(|monitor| monitor.owner).context("no owner")?;
    ensure!((name(&owner.thread), owner.entries) == ("takes-left", 1));
    let is_blocked = |thread: u32| {
        let mut states = dump.threads.iter();
        states.any(|state| state.thread == thread && state.status == "MW")
    };
    ensure!(circle.iter().all(|thread| is_blocked(*thread)), "{dump:?}");
    for thread in whole.threads.values() {
        let name = &thread.name;
        ensure!(
            !name.starts_with("takes-") || !thread.has_ended,
            "{thread:?}"
        );
        ensure!(
            !name.starts_with("waits-") || thread.has_ended,
            "{thread:?}"
        );
    }
    let text = text(&file);
    for part in [
        "\nDeadlock: each of these threads waits for the next one: takes-",
        "\nWAIT: MONITOR LHprofMonitors$Bell;, timeout=20, thread ",
        "\nWAITED: MONITOR LHprofMonitors$Bell;, time_waited=",
        "\nSLEEP: timeout=20, thread ",
        // The JVM's thread for references waits there.
        "\tjava.lang.ref.Reference.waitForReferencePendingList(Reference.java:Native method)\n",
    ] {
        ensure!(text.contains(part), "{part}");
    }
    let file = run("monitor=y,cutoff=0,format=b,thread=y")?;
    let whole = contents(&file)?;
    let (_, rows) = costs(&whole, CostKind::Monitors)?;
    let gates = rows.iter().filter(|row| row.name == "HprofMonitors$Gate");
    let thread = |trace: u32| {
        whole.traces[&trace]
            .thread
            .map(|thread| &whole.threads[&thread])
    };
    let mut names: Vec<&str> = gates
        .filter_map(|row| Some(thread(row.trace)?.name.as_str()))
        .collect();
    names.sort_unstable();
    ensure!(names == ["waits-0", "waits-1", "waits-2"], "{names:?}");
    let mut frames = whole.traces.values().flat_map(|trace| &trace.frames);
    let is_native = |frame: &Frame| {
        frame.method == "waitForReferencePendingList" && frame.line == StackFrame::NATIVE_METHOD
    };
    ensure!(frames.any(is_native), "{:?}", whole.traces);
    let is_dump = |section: &Section| matches!(section, Section::Monitors(dump) if dump.deadlocks().len() == 1);
    ensure!(whole.sections.iter().any(is_dump), "{whole:?}");
    Ok(())
}

on_jdks!(monitors_have_their_threads: on_17 17, on_25 25);

/// Locks of `java.util.concurrent` are in a table of their own, without latches and conditions. The table includes
/// virtual threads.
fn parks_are_counted(feature: u32) -> Result<()> {
    const LOCKS: &str = "java.util.concurrent.locks.ReentrantLock";
    const PERMITS: &str = "java.util.concurrent.Semaphore$NonfairSync";
    let has_virtual = feature >= 21;
    for options in ["monitor=y,cutoff=0", "monitor=y,cutoff=0,format=b"] {
        let folder = tempfile::tempdir()?;
        let mut command = command_of("Locks", feature, folder.path(), options)?;
        if has_virtual {
            command.arg("virtual");
        }
        let whole = contents(&run_in(&folder, command, options)?.0)?;
        let parks = |class: &str, method| contended(&whole, CostKind::Parks, class, method);
        ensure!(parks(&format!("{LOCKS}$NonfairSync"), "takeLock")? == 4);
        ensure!(parks(PERMITS, "acquire")? == 2);
        let (_, rows) = costs(&whole, CostKind::Parks)?;
        ensure!(rows.len() == if has_virtual { 3 } else { 2 }, "{rows:?}");
        let monitors = |class, method| contended(&whole, CostKind::Monitors, class, method);
        ensure!(monitors("Locks$Gate", "enterGate")? == 3);
        if has_virtual {
            ensure!(parks(&format!("{LOCKS}$FairSync"), "takeVirtually")? == 5);
            ensure!(monitors("Locks$VirtualGate", "enterVirtually")? == 2);
        }
    }
    Ok(())
}

on_jdks!(parks_are_counted: parks_11 11, parks_17 17, parks_21 21, parks_25 25);

/// The function that replaces the JVM's for `Thread.sleep` stays when the agent leaves, and then only sleeps.
fn a_program_sleeps_when_the_agent_has_left(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("java.hprof.txt");
    let option = format!(
        "-agentpath:{}=hprof:monitor=y,file={}",
        agent()?.display(),
        file.display()
    );
    let mut program = Running::start(feature, "Attached", &["-Xcheck:jni", &option])?;
    program.answer()?;
    program.order("sleep 3")?;
    ensure!(load(&program.child, DETACH)? == 0);
    let before = std::fs::read(&file)?;
    contents(&before)?;
    let text = text(&before);
    let sleeps = text
        .lines()
        .filter(|line| line.starts_with("SLEEP: timeout=1, thread "));
    ensure!(sleeps.count() == 3, "{text}");
    program.order("sleep 3")?;
    program.end()?;
    ensure!(std::fs::read(&file)? == before);
    Ok(())
}

on_each_jdk!(a_program_sleeps_when_the_agent_has_left);

/// An event of a monitor calls no class loader of the program, which may wait for another monitor. The test runs on JDK
/// 21, because no thread of that JDK waits for a monitor before `main`.
#[test]
fn events_of_monitors_load_no_classes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let command = command_of("HprofLoader", 21, folder.path(), "monitor=y,cutoff=0")?;
    let (file, _) = run_in(&folder, command, "monitor=y,cutoff=0")?;
    ensure!(
        contended(
            &contents(&file)?,
            CostKind::Monitors,
            "java.lang.Object",
            "run"
        )? == 1
    );
    Ok(())
}
