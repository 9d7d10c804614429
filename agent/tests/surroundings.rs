//! Programs that change the JVM around them: the changes do not affect the tracker, and the tracker does not affect them.

use anyhow::{Context, Result, ensure};

mod support;
use support::{Program, edges};

on_each_jdk!(properties traces);
// Not on JDK 25: the heap of its serial collector cannot be filled to the last byte that it reports
// as free.
on_jdks!(ends: on_11 11, on_17 17, on_21 21);

fn program(feature: u32, args: &[&str]) -> Program {
    let exclude = r"include=Surroundings,exclude=Surroundings$Mine,exclude=Surroundings$Gate";
    Program::new(feature, "Surroundings")
        .options(exclude)
        .args(args)
}

/// A program may replace the system properties by an object of its own. The agent must call no
/// method of this object.
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

/// The tracker checks paths deeper than 256 against a stack trace, if the trace is complete. JVM
/// options may switch stack traces off or limit their depth.
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

/// Threads end while the heap is full. No call is lost, and the agent causes no `OutOfMemoryError`.
fn ends(feature: u32) -> Result<()> {
    let jvm = ["-Xmx40m", "-XX:+ExitOnOutOfMemoryError", "-XX:+UseSerialGC"];
    let program = program(feature, &["ends"]).jvm(&jvm);
    let plain = program.plain()?;
    ensure!(
        plain.status.success(),
        "the program fails without the agent: {plain:?}"
    );
    let run = program.run()?;
    run.printed("done\n", 0)?;
    let calls = edges(&run.profile, "Surroundings");
    let leaves = calls
        .get("work > leaf")
        .context("the profile has no such call")?;
    ensure!(
        *leaves == 5000,
        "{}: 5000 calls of leaf expected, {leaves} found",
        run.name
    );
    Ok(())
}
