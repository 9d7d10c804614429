//! Profilers for JVMPI, written in C to the letter of its specification (`agents`), run on the layer with a program
//! that counts for itself what it does (`java/Judged.java`). The profilers ("judges") complain about every
//! inconsistency, and their numbers must be the program's.

use std::collections::BTreeMap;
use std::process::Output;

use anyhow::{Context, Result, ensure};

mod support;
use support::{Run, library};

on_17_and_25!(callgraph toggling allocations monitors hot_lock ending rewriter dumper everything two_agents);

/// Numbers that a program or a judge printed, by name.
type Numbers = BTreeMap<String, i64>;

/// Reads lines such as `edge a > b 3` and `total threads 4`. Equal names are added.
fn numbers(text: &str) -> Result<Numbers> {
    let mut numbers = Numbers::new();
    for line in text.lines() {
        if line.starts_with("edge ") || line.starts_with("total ") {
            let (name, number) = line.rsplit_once(' ').context(line.to_owned())?;
            let number: i64 = number.parse().with_context(|| line.to_owned())?;
            *numbers.entry(name.to_owned()).or_default() += number;
        }
    }
    Ok(numbers)
}

/// Checks that the judge has no complaint, and that each of the numbers whose names begin with one of `names` is the
/// same in program and judge.
fn agree(output: &Output, names: &[&str]) -> Result<()> {
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let (program, judge) = (numbers(&stdout)?, numbers(&stderr)?);
    for name in names {
        let wanted: Vec<_> = program
            .iter()
            .filter(|(it, _)| it.starts_with(name))
            .collect();
        ensure!(
            !wanted.is_empty(),
            "the program has no number {name}: {stdout}"
        );
        for (name, wanted) in wanted {
            let found = judge.get(name).copied().unwrap_or_default();
            ensure!(
                found == *wanted,
                "{name}: {wanted} expected, {found} found\n{stderr}"
            );
        }
    }
    Ok(())
}

fn callgraph(feature: u32) -> Result<()> {
    for options in ["", "entry2", "ask"] {
        let run = Run::new(feature, "callgraph", options);
        let output = run.jvm(&["-Djudged.virtual"]).judged(1)?;
        agree(&output, &["edge ", "total threads-"]).with_context(|| options.to_owned())?;
    }
    Ok(())
}

/// Events of methods cost nothing while they are disabled, and come again when they are enabled. The judge also has no
/// complaint beside a profiler that keeps these events enabled.
fn toggling(feature: u32) -> Result<()> {
    let output = Run::new(feature, "toggling", "").judged(1)?;
    agree(&output, &["edge Judged$Worker.run"])?;
    let run = Run::new(feature, "toggling", "beside").beside("callgraph", "")?;
    run.judged(2).map(drop)
}

/// Threads that a profiler suspends at their end do end once they are resumed.
fn ending(feature: u32) -> Result<()> {
    let output = Run::new(feature, "ending", "").judged(1)?;
    agree(&output, &["total threads-worker"])
}

fn allocations(feature: u32) -> Result<()> {
    let counts = [
        "total site-",
        "total allocated-",
        "total large-arrays",
        "total arrays-",
    ];
    let output = Run::new(feature, "allocations", "").judged(1)?;
    agree(&output, &counts)?;
    agree(&output, &["total live-", "total loads-", "total unloads-"])?;
    agree(&Run::new(feature, "allocations", "ask").judged(1)?, &counts)
}

fn monitors(feature: u32) -> Result<()> {
    let run = Run::new(feature, "monitors", "");
    let marker = run.folder.path().join("dumped").display().to_string();
    let run = run.options(&format!("marker={marker}"));
    let properties = [&format!("-Djudged.marker={marker}"), "-Djudged.virtual"];
    let output = run.jvm(&properties).judged(1)?;
    agree(&output, &["total contended", "total waits", "total sleeps"])
}

/// Exits of locks that are always contended are of threads that have left them. At most one comes before a thread
/// enters after a wait. It is missing only if the JVM does not say who had the lock.
fn hot_lock(feature: u32) -> Result<()> {
    hot_locks(feature, &["1500", "1"])?;
    hot_locks(feature, &["1500", "2"])
}

/// Runs the judge of hot locks. Nearly all of the waits for which the judge held the lock up have an exit.
fn hot_locks(feature: u32, arguments: &[&str]) -> Result<()> {
    let mut run = Run::new(feature, "hot_lock", "").program("JudgedHot", arguments);
    let is_virtual = arguments.contains(&"virtual");
    if is_virtual {
        run = run.virtual_threads().jvm(&[CARRIERS]);
    }
    let output = run.judged(1)?;
    agree(&output, &["total holds"])?;
    let numbers = numbers(&String::from_utf8_lossy(&output.stderr))?;
    let names = ["enters", "exits", "sure waits", "sure exits"];
    let [enters, exits, waits, sure] = names.map(|name| numbers[&format!("total {name}")]);
    // From JDK 23 on, the JVM does not always tell which virtual thread owns a monitor.
    let least = if is_virtual && feature >= 23 { 75 } else { 90 };
    ensure!(
        waits >= 500 && exits <= enters && 100 * sure >= least * waits,
        "JDK {feature}, {arguments:?}: {enters} enters, {exits} exits, {waits} sure waits, {sure} sure exits"
    );
    Ok(())
}

#[test]
fn hot_lock_on_11_and_21() -> Result<()> {
    hot_locks(11, &["1500", "1"])?;
    hot_locks(21, &["1500", "1"])
}

#[test]
fn hot_locks_of_virtual_threads() -> Result<()> {
    for feature in [21, 25] {
        hot_locks(feature, &["1500", "1", "virtual"])?;
        hot_locks(feature, &["1500", "2", "virtual"])?;
    }
    Ok(())
}

fn rewriter(feature: u32) -> Result<()> {
    for options in ["", "copies", "untouched"] {
        let output = Run::new(feature, "rewriter", options).judged(1)?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        ensure!(
            stdout.contains("text text of the rewriter, which is longer\n")
                && stdout.contains("broken ClassFormatError\n"),
            "{options}: {stdout}"
        );
    }
    Ok(())
}

/// The property that gives virtual threads enough carriers even if some are pinned to them.
const CARRIERS: &str = "-Djdk.virtualThreadScheduler.parallelism=5";

/// Runs the judge of virtual threads.
fn judged_virtual_threads(feature: u32, jvm: &[&str]) -> Result<()> {
    let run = Run::new(feature, "virtual", "").program("JudgedVirtual", &[]);
    let output = run.virtual_threads().jvm(&[CARRIERS]).jvm(jvm).judged(1)?;
    agree(&output, &["edge ", "total virtual-"])?;
    let told = String::from_utf8_lossy(&output.stdout);
    ensure!(!told.contains("WARNING"), "{told}");
    Ok(())
}

#[test]
fn virtual_threads_on_21() -> Result<()> {
    judged_virtual_threads(21, &[])
}

#[test]
fn virtual_threads_on_25() -> Result<()> {
    judged_virtual_threads(25, &["-Xcheck:jni"])
}

/// The other judges also see virtual threads as threads without a complaint.
#[test]
fn judges_see_virtual_threads() -> Result<()> {
    for judge in ["monitors", "everything"] {
        let run = Run::new(25, judge, "").virtual_threads();
        run.jvm(&["-Djudged.virtual"]).judged(1)?;
    }
    Ok(())
}

/// A JVM without virtual threads takes the option, and nothing changes.
#[test]
fn a_jvm_may_have_no_virtual_threads() -> Result<()> {
    let run = Run::new(17, "virtual", "").program("JudgedVirtual", &[]);
    run.virtual_threads().judged(1).map(drop)
}

/// Memory is bounded by the virtual threads that are alive.
#[test]
fn ended_virtual_threads_are_freed() -> Result<()> {
    let run = Run::new(25, "virtual", "many").program("JudgedVirtual", &["100000"]);
    let output = run.virtual_threads().jvm(&["-Xmx64m"]).judged(1)?;
    agree(&output, &["total virtual-"])
}

/// All profilers of a JVM see virtual threads in the same way.
#[test]
fn profilers_agree_on_virtual_threads() -> Result<()> {
    let run = Run::new(25, "virtual", "").beside("callgraph", "")?;
    let output = run.virtual_threads().ended()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success()
            && stderr.contains("give virtual=threads to all profilers or to none"),
        "{stderr}"
    );
    Ok(())
}

fn dumper(feature: u32) -> Result<()> {
    let output = Run::new(feature, "dumper", "late").judged(1)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let dumps = numbers(&stderr)?.remove("total late-dumps");
    ensure!(dumps == Some(1), "{dumps:?} dumps: {stderr}");
    Run::new(feature, "dumper", "").judged(1).map(drop)
}

fn everything(feature: u32) -> Result<()> {
    Run::new(feature, "everything", "").judged(1)?;
    let output = Run::new(feature, "everything", "instructions").judged(1)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    // A thousand calls of a method with four instructions, which have the offsets of the class file despite the probes.
    let found = numbers(&stderr)?.remove("total leaf-instructions");
    ensure!(found == Some(4000), "{found:?} instructions: {stderr}");
    let branches = ["total branches-", "total table-", "total lookup-"];
    agree(&output, &branches)
}

/// Checks that each of two profilers has its own events, ids and storage.
fn two_agents(feature: u32) -> Result<()> {
    let run = Run::new(feature, "callgraph", "").beside("allocations", "")?;
    let output = run.judged(2)?;
    agree(
        &output,
        &[
            "edge ",
            "total threads-",
            "total site-Judged.",
            "total large-",
        ],
    )
}

/// Calls that the specification forbids or leaves open do not change the program.
#[test]
fn misbehaviour_does_not_change_the_program() -> Result<()> {
    let modes = [
        "silent",
        "collecting",
        "locked",
        "recursive",
        "blocked",
        "withheld",
        "dumping",
        "late",
        "muted",
        "throwing",
    ];
    for mode in modes {
        let output = Run::new(17, "misbehaved", mode).ended()?;
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        ensure!(
            output.status.success() && stdout.contains("total collections 3\n"),
            "{mode}: {}\n{stdout}{stderr}",
            output.status
        );
        ensure!(
            ["silent", "muted"].contains(&mode)
                || stderr.contains("verdict of misbehaved: 0 complaints"),
            "{mode}: {stderr}"
        );
    }
    Ok(())
}

/// A profiler may end the program with a code of its own.
#[test]
fn profilers_end_the_program() -> Result<()> {
    for (mode, code) in [("leaving", 7), ("freeing", 9), ("helping", 5)] {
        let output = Run::new(17, "misbehaved", mode).ended()?;
        ensure!(output.status.code() == Some(code), "{mode}: {output:?}");
    }
    Ok(())
}

/// An exception that a profiler leaves pending in the entry of a method is thrown by this method, as by any native code
/// that the method calls.
#[test]
fn a_pending_exception_is_the_methods() -> Result<()> {
    let output = Run::new(17, "misbehaved", "faulty").ended()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let parts = [
        "IllegalStateException: left by the judge",
        "at Judged.calls(Judged.java",
    ];
    ensure!(
        output.status.code() == Some(1) && parts.iter().all(|part| stderr.contains(part)),
        "{output:?}"
    );
    Ok(())
}

/// The report of a crash names the profiler's library, not the layer.
#[test]
fn a_crash_is_the_profilers() -> Result<()> {
    for feature in [17, 25] {
        let output = Run::new(feature, "misbehaved", "crashing").ended()?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let mut lines = stdout.lines();
        let frame = lines
            .find(|line| line.contains("Problematic frame"))
            .and_then(|_| lines.next());
        ensure!(
            !output.status.success() && frame.is_some_and(|it| it.contains("[misbehaved.so+")),
            "JDK {feature}: {output:?}"
        );
    }
    Ok(())
}

/// If JVM_OnLoad fails, the message names the profiler's library.
#[test]
fn a_refusal_is_told() -> Result<()> {
    for mode in ["refuse", "odd"] {
        let output = Run::new(17, "misbehaved", mode).ended()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            stderr.contains("misbehaved.so") && stderr.contains("JVM_OnLoad"),
            "{mode}: {output:?}"
        );
    }
    Ok(())
}

/// The C header has the numbers and layouts by which old profilers were compiled.
#[test]
fn the_header_has_the_old_layouts() -> Result<()> {
    library("layout").map(drop)
}
