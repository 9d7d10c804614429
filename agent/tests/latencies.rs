//! Durations of calls, in programs that know them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{paths, process, source};

/// Runs `Latencies.java`.
fn run(feature: u32, jvm: &[&str], options: &str) -> Result<Profile> {
    let folder = tempfile::tempdir()?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Latencies.java");
    let classes = source::compile_once("Latencies", std::slice::from_ref(&program), |javac| {
        javac.args(["-g", "--release", "11"]).arg(&program);
        Ok(())
    })?;
    let file = folder.path().join("profile.pb.gz");
    let mut java = Jdk::find(feature)?.java();
    java.args(jvm).arg(format!(
        "-agentpath:{}=all=true,include=Latencies,{options},file={}",
        paths::agent_library()?.display(),
        file.display()
    ));
    java.arg("-cp").arg(classes).arg("Latencies");
    process::output(&mut java)?;
    Ok(pprof::read(&std::fs::read(&file)?[..])?)
}

/// Returns the numbers of calls of a method by ranges of durations. A key is the longest duration
/// of a range, in nanoseconds.
fn durations(profile: &Profile, method: &str) -> BTreeMap<u64, u64> {
    let of_method = profile.latencies.iter().filter(|range| {
        let found = &profile.methods[range.method as usize];
        &*found.name == method
    });
    of_method
        .map(|range| (range.longest_ns(), range.calls))
        .collect()
}

/// Returns the number of calls that last at least so many milliseconds.
fn at_least(durations: &BTreeMap<u64, u64>, millis: u64) -> u64 {
    durations
        .range(millis * 1_000_000..)
        .map(|(_, calls)| calls)
        .sum()
}

#[test]
fn every_call_is_in_the_range_of_its_duration() -> Result<()> {
    for (feature, jvm, options) in [
        (17, &[][..], "latencies=true"),
        (25, &["-Xint"], "latencies=true"),
        (25, &["-Dvirtual=true"], "latencies=true"),
        (17, &[], "latencies=true,timing=adaptive,budget=none"),
    ] {
        let profile = run(feature, jvm, options)?;
        let what = format!("{feature} {jvm:?} {options}");
        let slow = durations(&profile, "answer");
        let counts = [0, 1, 30].map(|millis| at_least(&slow, millis));
        // A sleep may last longer, on a busy machine.
        ensure!(
            counts[..2] == [100, 100] && (10..100).contains(&counts[2]),
            "{what}: {slow:?}"
        );
        let fast = durations(&profile, "fast");
        let most = fast.iter().max_by_key(|(_, calls)| **calls);
        let (usual, _) = most.with_context(|| format!("{what}: no durations"))?;
        ensure!(*usual < 100_000, "{what}: {fast:?}");
        if options == "latencies=true" {
            ensure!(at_least(&fast, 0) == 20_000, "{what}: {fast:?}");
        }
    }
    Ok(())
}

#[test]
fn durations_are_counted_on_request_only() -> Result<()> {
    let profile = run(17, &[], "timing=exact")?;
    ensure!(profile.latencies.is_empty(), "{:?}", profile.latencies);
    Ok(())
}
