//! A debugger, `Thread.suspend` or `Thread.stop` stops threads inside the tracker. The program must
//! continue without these threads, and end.

use std::panic::resume_unwind;
use std::thread;

use anyhow::{Result, ensure};

mod support;
use support::{Finished, Program, edges, finish};

on_each_jdk!(the_program_ends counting_goes_on_afterwards an_abandoned_lock_is_released);
on_jdks!(really_suspended really_stopped suspended_recording: on_11 11, on_17 17);

fn program(feature: u32, mode: &str) -> Program {
    Program::new(feature, "Suspended")
        .options("include=Suspended::works*,include=Suspended::leaf")
        .jvm(&["--add-opens=java.base/java.lang=ALL-UNNAMED"])
        .args(&[mode])
}

/// Checks that the program ends with this exit code and all of its output, that the agent prints
/// one message, and that there is no profile.
fn ends(feature: u32, mode: &str, code: i32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.pb.gz");
    let output = finish(&mut program(feature, mode).command(&file)?)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let line = "loadhook: no profile: a thread holds the tracker's lock; if a debugger has suspended the thread, resume it\n";
    ensure!(
        output.stdout == b"works\n" && output.status.code() == Some(code) && stderr == line,
        "JDK {feature}, {mode}: {output:?}"
    );
    ensure!(
        !file.exists(),
        "a profile was written, although it cannot be complete"
    );
    Ok(())
}

/// At the end, the agent waits ten seconds for the lock. Both programs run at the same time to save
/// time.
fn the_program_ends(feature: u32) -> Result<()> {
    thread::scope(|scope| {
        let exits = scope.spawn(|| ends(feature, "exit", 7));
        ends(feature, "return", 0)?;
        exits.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn really_suspended(feature: u32) -> Result<()> {
    ends(feature, "suspend", 0)
}

/// Checks the number of calls that could not be counted.
fn has_lost_calls(run: &Finished, expected: u64) -> Result<()> {
    let lost = run.profile.header.overflowed_calls;
    ensure!(
        lost == expected,
        "{}: {expected} lost calls expected, {lost} found",
        run.name
    );
    Ok(())
}

/// A note says how many calls of the suspended thread were not counted. Later calls are counted.
fn counting_goes_on_afterwards(feature: u32) -> Result<()> {
    let run = program(feature, "give").run()?;
    let calls = "
        - > works 2
        - > leaf 2";
    run.printed("works\n", 0)?.calls("Suspended", calls)?;
    has_lost_calls(&run, 1)
}

/// An exception, as from `Thread.stop`, stops a thread after it took the lock and before it noted
/// this. The lock must be released.
fn an_abandoned_lock_is_released(feature: u32) -> Result<()> {
    let run = program(feature, "left").run()?;
    let calls = "
        - > works 1
        - > leaf 3";
    run.printed("works\n", 0)?.calls("Suspended", calls)?;
    has_lost_calls(&run, 0)
}

/// `Thread.stop` really stops threads inside the tracker. Interpreted code checks for this at each
/// jump and return.
fn really_stopped(feature: u32) -> Result<()> {
    let run = Program::new(feature, "StoppedInside")
        .options("include=StoppedInside::works,include=StoppedInside::leaf")
        .jvm(&["-Xint"])
        .run()?;
    // The JVM prints a message about a thread that is stopped twice, so only standard output is
    // checked.
    ensure!(run.output.stdout == b"works\n", "{}", run.name);
    let calls = edges(&run.profile, "StoppedInside");
    let lost = run.profile.header.overflowed_calls;
    ensure!(
        lost == 0 && calls["- > works"] == 2 && calls["works > leaf"] == 2,
        "{}: two calls each of works and leaf and no lost call expected, but {lost} calls lost: {calls:?}",
        run.name
    );
    ensure!(calls["- > leaf"] >= 1000, "{}: {calls:?}", run.name);
    Ok(())
}

/// Threads are suspended for ever while they record an object. Other threads can still allocate, and
/// liveness scans still work.
fn suspended_recording(feature: u32) -> Result<()> {
    let run = Program::new(feature, "SuspendedRecording")
        .options("alloc=live=exact,snapshot-every=100ms")
        .run()?;
    let allocations = run.printed("works\n", 0)?.profile.allocations.as_ref();
    let shorts = allocations.map(|all| {
        let sites = all
            .sites
            .iter()
            .filter(|site| &*site.type_name == "short[]");
        sites.map(|site| site.allocated.objects).sum::<f64>()
    });
    ensure!(shorts >= Some(19_000.0), "{}: {shorts:?}", run.name);
    Ok(())
}
