//! Runs one program on JVMs with different collectors, compilers and checks.

use anyhow::{Result, ensure};

mod support;
use support::{Program, edges};

on_each_jdk!(settings);

const SETTINGS: &[&[&str]] = &[
    &["-Xcheck:jni", "-XX:+UseSerialGC"],
    &["-Xverify:all", "-XX:+UseParallelGC"],
    &["-Xint", "-XX:+UseG1GC"],
    &["-XX:TieredStopAtLevel=1", "-Xmn2m", "-XX:+UseG1GC"],
    &["-XX:-TieredCompilation", "-Xverify:all", "-Xcheck:jni"],
    &["-Xcomp", "-XX:+UseSerialGC"],
];

/// The JVM prints the same text with and without the agent, including warnings of its checks, and
/// the profile has the same calls.
fn settings(feature: u32) -> Result<()> {
    let zgc: &[&str] = match feature {
        // ZGC is experimental before JDK 15.
        11 => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
        _ => &["-XX:+UseZGC"],
    };
    for &jvm in SETTINGS.iter().chain([&zgc]) {
        let program = Program::new(feature, "RandomCalls")
            .options("include=RandomCalls$Methods*")
            .jvm(jvm)
            .args(&["7", "3", "3000"]);
        let plain = program.plain()?;
        let run = program.run()?;
        ensure!(
            run.output == plain,
            "{}: {plain:?} expected: {:?}",
            run.name,
            run.output
        );
        let printed = String::from_utf8_lossy(&plain.stdout);
        let counted = support::counted(&printed)?;
        run.same_calls(&counted, &edges(&run.profile, "RandomCalls"))?
            .sound(3)?;
    }
    Ok(())
}
