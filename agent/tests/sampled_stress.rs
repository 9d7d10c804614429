//! The sampler under a program that does what is hard for it, at the shortest intervals. The program must not notice.

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

mod support;
use support::{Program, finish, read};

on_each_jdk!(programs_do_not_notice the_program_keeps_its_signal);

/// Options of the JVM that change how code is made or how garbage is collected.
const JVMS: [&[&str]; 4] = [
    &["-XX:+UseG1GC"],
    &["-XX:+UseSerialGC", "-Xint"],
    &["-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1"],
    &["-XX:+UseSerialGC", "-Xcomp"],
];

/// Collectors that move objects while the program runs.
const CONCURRENT: [&[&str]; 2] = [
    &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
    &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
];

/// Runs the program for some time, sampled at an interval.
fn runs(feature: u32, jvm: &[&str], interval: &str, millis: u32) -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    let name = format!("JDK {feature}, {jvm:?}, {interval}");
    let options =
        format!("timing=sampled,include=none,all=false,sampler=async,interval={interval}");
    let program = Program::new(feature, "SampledStress")
        .options(&options)
        .jvm(&["-Xmx256m"])
        .jvm(jvm)
        .args(&[&millis.to_string()]);
    let output = finish(&mut program.command(&file)?).with_context(|| name.clone())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && printed == "all held\n",
        "{name}: {output:?}"
    );
    ensure!(file.is_file(), "{name}: no profile: {output:?}");
    Ok(())
}

fn programs_do_not_notice(feature: u32) -> Result<()> {
    for jvm in JVMS {
        runs(feature, jvm, "100us", 700)?;
    }
    Ok(())
}

/// The program takes `SIGPROF`, and gets the signals that it raises and no others.
fn the_program_keeps_its_signal(feature: u32) -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    let mut outcome = Ok(());
    // A sampler's thread that gets no processor for long gives the signal up late.
    for _ in 0..3 {
        let program = Program::new(feature, "SampledSignals")
            .options("timing=sampled,include=none,all=false,sampler=async");
        let output = finish(&mut program.command(&file)?)?;
        ensure!(output.status.success(), "JDK {feature}: {output:?}");
        let notes = read(&file)?.header.notes;
        outcome = if output.stdout == b"seen 5\n"
            && notes
                .iter()
                .any(|note| note.contains("uses SIGPROF itself"))
        {
            return Ok(());
        } else {
            Err(anyhow::anyhow!("JDK {feature}: {output:?}, {notes:?}"))
        };
    }
    outcome
}

/// The same for much longer, for changes of the sampler:
/// `cargo test -p loadhook-agent --test sampled_stress -- --ignored`.
#[test]
#[ignore = "takes half an hour"]
fn programs_do_not_notice_for_long() -> Result<()> {
    for feature in [11, 17, 21, 25] {
        for jvm in JVMS.iter().chain(&CONCURRENT) {
            if !has_option(feature, jvm)? {
                continue;
            }
            runs(feature, jvm, "50us", 60_000)?;
        }
    }
    Ok(())
}

/// Returns whether the JVM has a collector. Not every build of a JDK has all.
fn has_option(feature: u32, jvm: &[&str]) -> Result<bool> {
    let mut java = loadhook_testkit::jdk::Jdk::find(feature)?.java();
    Ok(finish(java.args(jvm).arg("-version"))?.status.success())
}
