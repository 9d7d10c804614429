//! A heap with little room: the program goes on, or ends, as it does without the agent.

use anyhow::{Result, ensure};

mod support;
use support::{Finished, Program, finish};

on_each_jdk!(nearly_full exhausted full_inside);
on_jdks!(many_virtual_threads: on_21 21, on_25 25);

const EXIT: &str = "-XX:+ExitOnOutOfMemoryError";

/// Each of the 32,818 paths is thirteen calls; then `main`, `fill`, `work`, the initialiser, 2,001 calls of `deep`
/// and the 50 threads' own.
const CALLS: u64 = 13 * 32_818 + 4 + 2001 + 50;

/// The calls that have a place in the tree, and the others.
fn counts(run: &Finished) -> (u64, u64) {
    let profile = &run.profile;
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let counted = nodes
        .filter(|node| &*profile.methods[node.method as usize].class != "(tree full)")
        .map(|node| node.calls);
    (counted.sum(), profile.header.overflowed_calls)
}

/// Nine tenths of the heap are held, and the tree would need the rest. The JVM ends at the first
/// `OutOfMemoryError`, whoever causes it and though it be caught; so none happens. What has no node is
/// counted all the same.
fn nearly_full(feature: u32) -> Result<()> {
    for gc in ["-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseParallelGC"] {
        let program = Program::new(feature, "Memory")
            .jvm(&["-Xmx48m", EXIT, gc])
            .args(&["nearly"]);
        let plain = program.plain()?;
        ensure!(plain.status.success(), "without the agent: {plain:?}");
        let run = program.run()?;
        run.printed("2000\n", 0)?;
        let (counted, overflowed) = counts(&run);
        ensure!(
            counted + overflowed == CALLS && overflowed > 0,
            "{}: {counted} and {overflowed} calls of {CALLS}",
            run.name
        );
    }
    Ok(())
}

/// Virtual threads that live at once, and what the program takes of its heap when it has them: the paths of all would
/// leave too little.
fn many_virtual_threads(feature: u32) -> Result<()> {
    let program = Program::new(feature, "ManyVirtual")
        .options("timing=count,include=ManyVirtual::waits,include=ManyVirtual::leaf")
        .jvm(&["-Xmx128m", "-XX:+UseSerialGC"])
        .args(&["40000", "18"]);
    let plain = program.plain()?;
    ensure!(plain.status.success(), "without the agent: {plain:?}");
    let run = program.run()?;
    let (counted, overflowed) = counts(run.printed("18\n", 0)?);
    ensure!(
        counted + overflowed == 3 * 40_000 && overflowed > 0,
        "{}: {counted} and {overflowed} calls",
        run.name
    );
    Ok(())
}

/// Where a snapshot finds less than it needs, that is what is told.
fn full_inside(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.pb.gz");
    let program = Program::new(feature, "FullInside")
        .jvm(&["-Xmx48m", "--add-opens=java.base/java.lang=ALL-UNNAMED"]);
    let output = finish(&mut program.command(&file)?)?;
    ensure!(
        output.status.success()
            && output.stdout == b"works\n"
            && output.stderr == b"loadhook: no profile: the heap is full\n",
        "JDK {feature}: {output:?}"
    );
    Ok(())
}

/// The heap is full, twice. Whether there was room for a profile at the end is not asked.
fn exhausted(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (jvm, code) in [(EXIT, 3), ("-XX:-ExitOnOutOfMemoryError", 0)] {
        for gc in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
            let program = Program::new(feature, "Memory")
                .jvm(&["-Xmx48m", jvm, gc])
                .args(&["exhaust"]);
            let plain = program.plain()?;
            ensure!(
                plain.status.code() == Some(code),
                "without the agent: {plain:?}"
            );
            let file = folder.path().join("profile.pb.gz");
            let output = finish(&mut program.command(&file)?)?;
            ensure!(
                output.status == plain.status && output.stdout == plain.stdout,
                "JDK {feature} {jvm} {gc}: {plain:?} expected: {output:?}"
            );
        }
    }
    Ok(())
}
