//! Samples a program that does things that are hard for a sampler, at the shortest intervals. The
//! program must not notice. `scripts/soak_samples.sh` does the same for hours.

use anyhow::{Context, Result, ensure};
use loadhook_profile::Engine;
use tempfile::TempDir;

mod support;
use support::{Program, finish, read};

on_each_jdk!(programs_do_not_notice the_program_keeps_its_signal);
on_jdks!(other_profilers_have_sigprof: on_25 25);

/// JVM options that change how code is compiled or how garbage is collected.
const JVMS: [&[&str]; 4] = [
    &["-XX:+UseG1GC"],
    &["-XX:+UseSerialGC", "-Xint"],
    &["-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1"],
    &["-XX:+UseSerialGC", "-Xcomp"],
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

/// The program installs its own handler for `SIGPROF`. It must get all signals that it raises, and
/// no others.
fn the_program_keeps_its_signal(feature: u32) -> Result<()> {
    for clock_source in ["timer", "perf"] {
        let mut outcome = Ok(());
        // If the sampler's thread gets no processor for a long time, it notices the handler late.
        for _ in 0..3 {
            outcome = keeps_its_signal(feature, clock_source);
            if outcome.is_ok() {
                break;
            }
        }
        outcome?;
    }
    Ok(())
}

fn keeps_its_signal(feature: u32, clock_source: &str) -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    let options = format!("timing=sampled,include=none,all=false,clock-source={clock_source}");
    let program = Program::new(feature, "SampledSignals").options(&options);
    let output = finish(&mut program.command(&file)?)?;
    let profile = read(&file)?;
    let notes = &profile.header.notes;
    let name = format!("JDK {feature}, {clock_source}: {output:?}, {notes:?}");
    ensure!(
        output.status.success() && output.stdout == b"seen 5\n",
        "{name}"
    );
    let is_async = profile
        .sampling
        .is_some_and(|sampling| sampling.engine == Engine::Async);
    // The kernel may forbid performance events; then the sampler uses another clock source.
    ensure!(is_async || clock_source == "perf", "{name}");
    let has_note = notes
        .iter()
        .any(|note| note.contains("uses SIGPROF itself"));
    let is_expected = is_async && clock_source == "perf";
    ensure!(has_note == is_expected, "{name}");
    Ok(())
}

/// JFR needs `SIGPROF` to sample processor time. The user may start JFR while the sampler runs.
fn other_profilers_have_sigprof(feature: u32) -> Result<()> {
    let folder = TempDir::new()?;
    let recording = folder.path().join("recording.jfr");
    let run = Program::new(feature, "SampledRecording")
        .options("timing=sampled,include=none,all=false,sampler=async")
        .args(&[&recording.display().to_string()])
        .run()?;
    let printed = String::from_utf8_lossy(&run.output.stdout);
    let samples: u32 = printed
        .trim()
        .parse()
        .with_context(|| printed.to_string())?;
    ensure!(samples > 0, "{}: JFR took no samples", run.name);
    let sampling = run.profile.sampling.context("the profile has no samples")?;
    ensure!(sampling.samples > 0, "{}: {sampling:?}", run.name);
    Ok(())
}
