//! Waits of threads for each other, on a program that waits a known number of times.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{LockWait, Locks, Method, WaitKind};
use loadhook_settings::attach::DETACH;
use loadhook_settings::control::{Reply, Request, folder, socket_name};
use rustix::process::geteuid;
use tempfile::TempDir;

mod support;
use support::attach::{Running, attach, load};
use support::{Finished, Program, read};

on_jdks!(waits_are_counted: on_11 11, on_17 17, on_21 21, on_25 25);
on_jdks!(an_agent_comes_and_leaves: on_17 17, on_25 25);
on_jdks!(pauses_are_left_out: on_21 21);

/// A kind of wait, the end of the class's name, the innermost method that waits, the number of waits, and the method that
/// holds.
type Expected = (
    WaitKind,
    &'static str,
    &'static str,
    u64,
    Option<&'static str>,
);

const EXPECTED: &[Expected] = &[
    (
        WaitKind::Monitor,
        "Locks$Gate",
        "enterGate",
        3,
        Some("holdGate"),
    ),
    (
        WaitKind::Lock,
        "NonfairSync",
        "takeLock",
        4,
        Some("holdLock"),
    ),
    (
        WaitKind::Lock,
        "Semaphore$NonfairSync",
        "takePermit",
        2,
        None,
    ),
    (WaitKind::Notification, "Locks$Bell", "awaitBell", 1, None),
    (WaitKind::Park, "CountDownLatch$Sync", "awaitLatch", 1, None),
    (WaitKind::Park, "ConditionObject", "awaitCondition", 1, None),
];

const VIRTUAL: &[Expected] = &[
    (
        WaitKind::Lock,
        "$FairSync",
        "takeVirtually",
        5,
        Some("holdLock"),
    ),
    (
        WaitKind::Monitor,
        "VirtualGate",
        "enterVirtually",
        2,
        Some("holdGate"),
    ),
];

/// Time for which each wait lasts at least, in nanoseconds.
const LEAST: u64 = 20_000_000;

fn waits_are_counted(feature: u32) -> Result<()> {
    let has_virtual = feature >= 21;
    let args: &[&str] = if has_virtual { &["virtual"] } else { &[] };
    // With samples all classes of the program have probes.
    for options in [
        "timing=none,locks=true",
        "include=java.util.concurrent.**,locks=true",
    ] {
        let run = Program::new(feature, "Locks")
            .only_options(options)
            .args(args)
            .run()?;
        run.printed("done\n", 0)?;
        let locks = run.profile.locks.as_ref().context("no locks")?;
        let more = if has_virtual { VIRTUAL } else { &[] };
        for expected in EXPECTED.iter().chain(more) {
            check(&run, locks, *expected)?;
        }
        let contended = locks.waits.iter().filter(|wait| wait.kind.is_contention());
        let of_program =
            contended.filter(|wait| methods(&run, locks, wait.frame).any(is_of_program));
        let count: u64 = of_program.map(|wait| wait.count).sum();
        let all: u64 = EXPECTED[..3]
            .iter()
            .chain(more)
            .map(|expected| expected.3)
            .sum();
        ensure!(count == all, "{}: {count} {locks:?}", run.name);
    }
    Ok(())
}

fn is_of_program(method: &Method) -> bool {
    &*method.class == "Locks"
}

/// Returns the methods of a stack, the innermost first.
fn methods<'r>(
    run: &'r Finished,
    locks: &'r Locks,
    innermost: Option<u32>,
) -> impl Iterator<Item = &'r Method> {
    let frame = |at: u32| &locks.frames[at as usize];
    let frames = std::iter::successors(innermost.map(frame), move |it| it.parent.map(frame));
    frames.map(|frame| &run.profile.methods[frame.method as usize])
}

fn check(run: &Finished, locks: &Locks, expected: Expected) -> Result<()> {
    let (kind, class, method, count, holder) = expected;
    let at = |frame| methods(run, locks, frame).find(|method| is_of_program(method));
    let is_it = |wait: &&LockWait| {
        let waits_at = at(wait.frame).is_some_and(|it| &*it.name == method);
        wait.kind == kind && wait.class.ends_with(class) && waits_at
    };
    let found: Vec<&LockWait> = locks.waits.iter().filter(is_it).collect();
    let number: u64 = found.iter().map(|wait| wait.count).sum();
    ensure!(
        number == count,
        "{}: {expected:?} {number} {locks:?}",
        run.name
    );
    let longest = run.profile.header.duration_ns;
    for wait in &found {
        let times = LEAST * wait.count..=longest * wait.count;
        ensure!(times.contains(&wait.ns), "{}: {wait:?}", run.name);
        // On a slow machine, the agent does not ask for every holder. The main thread lets go only when all other
        // threads wait.
        let Some((holder, held)) = holder.zip(wait.holder.as_ref()) else {
            continue;
        };
        let mut stack = methods(run, locks, held.frame);
        ensure!(
            &*held.thread == "main" && stack.any(|method| &*method.name == holder),
            "{}: {wait:?}",
            run.name
        );
    }
    let is_first = method == "enterGate";
    let is_held = found.iter().any(|wait| wait.holder.is_some());
    ensure!(is_held || !is_first, "{}: no holder", run.name);
    Ok(())
}

/// Threads park while the agent is being attached, when the JVM does not find the agent's functions yet, and after the
/// agent has left.
fn an_agent_comes_and_leaves(feature: u32) -> Result<()> {
    let mut program = Running::start(feature, "Contended", &["-Xcheck:jni"])?;
    program.answer()?;
    for _ in 0..2 {
        let folder = TempDir::new()?;
        let answer = attach(&program, "timing=none,locks=true", &folder)?;
        ensure!(program.order("work")? == "done", "a thread has ended");
        ensure!(load(&program.child, DETACH)? == 0, "{:?}", answer.lines()?);
        let profile = read(&answer.wait_until_left()?)?;
        let locks = profile.locks.context("no locks")?;
        for kind in [WaitKind::Monitor, WaitKind::Lock] {
            let is_there = locks.waits.iter().any(|wait| wait.kind == kind);
            ensure!(is_there, "{kind:?}: {locks:?}");
        }
        ensure!(program.order("work")? == "done", "a thread has ended");
    }
    program.end()
}

/// Sends an order to the agent.
fn order(program: &Running, request: &Request) -> Result<Reply> {
    let socket = folder(geteuid().as_raw()).join(socket_name(program.child.id()));
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{request}")?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply)?;
    reply.parse().context(reply)
}

/// Returns the numbers so far: waits for monitors, waits for locks, and calls.
fn numbers(program: &Running, folder: &TempDir) -> Result<[u64; 3]> {
    let file = folder.path().join("snapshot");
    let reply = order(program, &Request::Snapshot(file.display().to_string()))?;
    ensure!(reply == Reply::Done, "{reply}");
    let profile = read(&file)?;
    let locks = profile.locks.as_ref().context("no locks")?;
    let count = |kind| {
        let waits = locks.waits.iter().filter(|wait| wait.kind == kind);
        waits.map(|wait| wait.count).sum()
    };
    Ok([
        count(WaitKind::Monitor),
        count(WaitKind::Lock),
        profile.calls(),
    ])
}

fn pauses_are_left_out(feature: u32) -> Result<()> {
    /// Number of threads of the program. Each may be waiting when the pause begins.
    const THREADS: u64 = 4;
    let mut program = Running::start(feature, "Contended", &["-Xcheck:jni"])?;
    program.answer()?;
    let folder = TempDir::new()?;
    let options = "include=Contended::nap,timing=count,locks=true,control=true";
    let answer = attach(&program, options, &folder)?;
    program.order("work")?;
    let reply = order(&program, &Request::Pause)?;
    ensure!(matches!(reply, Reply::Changed(_)), "{reply}");
    let before = numbers(&program, &folder)?;
    program.order("work")?;
    let after = numbers(&program, &folder)?;
    let reply = order(&program, &Request::Resume)?;
    ensure!(matches!(reply, Reply::Changed(_)), "{reply}");
    program.order("work")?;
    let resumed = numbers(&program, &folder)?;
    for at in 0..before.len() {
        let is_paused = after[at] <= before[at] + THREADS;
        let goes_on = before[at] > 0 && resumed[at] > after[at] + THREADS;
        ensure!(is_paused && goes_on, "{before:?} {after:?} {resumed:?}");
    }
    ensure!(load(&program.child, DETACH)? == 0, "{:?}", answer.lines()?);
    answer.wait_until_left()?;
    program.end()
}
