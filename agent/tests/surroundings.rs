//! What a program does to the JVM around it neither reaches the tracker nor is reached by it.

use anyhow::{Context, Result, ensure};

mod support;
use support::{Program, edges};

on_each_jdk!(properties traces);
// JDK 25's serial collector cannot be filled to the last by what it says is free.
on_jdks!(ends: on_11 11, on_17 17, on_21 21);

fn program(feature: u32, args: &[&str]) -> Program {
    let exclude = r"include=Surroundings,exclude=Surroundings$Mine,exclude=Surroundings$Gate";
    Program::new(feature, "Surroundings")
        .options(exclude)
        .args(args)
}

/// A program may replace the system's properties: nothing of ours calls what it put there.
fn properties(feature: u32) -> Result<()> {
    for how in ["throw", "hang"] {
        let run = program(feature, &["properties", how]).run()?;
        run.printed("done\n", 0)?;
        ensure!(
            edges(&run.profile, "Surroundings")["work > leaf"] == 100,
            "{how}"
        );
    }
    Ok(())
}

/// Paths deeper than 256 are compared with the stack, by traces that tell it only if they are whole.
fn traces(feature: u32) -> Result<()> {
    for option in [
        "-XX:-StackTraceInThrowable",
        "-XX:MaxJavaStackTraceDepth=300",
        "-Xss1m",
    ] {
        let run = program(feature, &["deep"]).jvm(&[option]).run()?;
        run.printed("done\n", 0)?.calls(
            "Surroundings",
            "
            - > main 1
            main > run 10
            run > down 10010
            down > below 10000
            down > leaf 10010
            ",
        )?;
    }
    Ok(())
}

/// Threads end while the heap is full: no call is lost, and nobody asks for memory that is not there.
fn ends(feature: u32) -> Result<()> {
    let jvm = ["-Xmx40m", "-XX:+ExitOnOutOfMemoryError", "-XX:+UseSerialGC"];
    let program = program(feature, &["ends"]).jvm(&jvm);
    let plain = program.plain()?;
    ensure!(plain.status.success(), "without the agent: {plain:?}");
    let run = program.run()?;
    run.printed("done\n", 0)?;
    let calls = edges(&run.profile, "Surroundings");
    let leaves = calls.get("work > leaf").context("no calls")?;
    ensure!(*leaves == 5000, "{}: {leaves} of 5000", run.name);
    Ok(())
}
