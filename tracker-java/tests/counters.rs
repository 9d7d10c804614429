//! Tests that probes which only count are exact: in all threads, at the end of the stack, with a
//! full heap, and for every id.

mod support;

use anyhow::{Result, ensure};
use loadhook_testkit::process;
use support::profile::Profile;
use support::{COUNT, Program, SAMPLED};

fn check(profile: &Profile, expected: &[(&str, i64)], what: &str) -> Result<()> {
    for (method, calls) in expected {
        let found = profile.counted.get(*method).copied().unwrap_or(0);
        ensure!(
            found == *calls,
            "{what}: {calls} calls of {method} expected, {found} found"
        );
    }
    ensure!(
        profile.header[7] == 0,
        "{what}: no lost calls expected, {} found",
        profile.header[7]
    );
    ensure!(profile.all_calls() == 0, "{what}: no call tree expected");
    Ok(())
}

#[test]
fn up_to_64_threads() -> Result<()> {
    let program = Program::counted("Threads64")?;
    let expected = [
        ("Odd.run", 127),
        ("Threads64.work", 127),
        ("Threads64.outer", 127_000),
        ("Threads64.inner", 190_500),
        ("Odd.<init>", 127),
        ("Threads64.main", 1),
    ];
    for jdk in [11, 17, 21, 25] {
        for timing in [SAMPLED, COUNT] {
            let profile = program.run(jdk, &[], timing, 1_000_000)?;
            check(&profile, &expected, &format!("{jdk} {timing}"))?;
        }
    }
    Ok(())
}

/// Without an agent, the tracker cannot find out on which carrier a virtual thread runs.
#[test]
fn virtual_threads_without_carrier() -> Result<()> {
    let program = Program::counted("Virtual")?;
    for jdk in [21, 25] {
        let profile = program.run(jdk, &["-Xmx1g", "-Dsequence=100000"], SAMPLED, 1_000_000)?;
        let expected = [
            ("Virtual.one", 100_000),
            ("Virtual.two", 100_000),
            ("Virtual.three", 200_000),
            ("Virtual.brief", 100_000),
            ("Virtual.leaf", 100_000),
        ];
        check(&profile, &expected, &jdk.to_string())?;
    }
    Ok(())
}

#[test]
fn caught_stack_overflows() -> Result<()> {
    let program = Program::counted("StackOverflow")?;
    for jdk in [11, 17, 25] {
        for jvm in [&["-Xint"][..], &["-XX:TieredStopAtLevel=1"], &[]] {
            let profile = program.run(jdk, jvm, SAMPLED, 1_000_000)?;
            let counted = |method: &str| profile.counted.get(method).copied().unwrap_or(0);
            let recursions = counted("StackOverflow.recurse") + counted("StackOverflow.wider");
            let caught = counted("StackOverflow.after") - 200;
            let leaves = counted("StackOverflow.leaf");
            let pairs = [
                ("recursions", recursions),
                ("leaves", leaves),
                ("caught", caught),
            ];
            for (name, calls) in pairs {
                let own = i64::try_from(profile.expected[name])?;
                ensure!(
                    calls == own,
                    "{jdk} {jvm:?}: {calls} calls of {name} expected, {own} found"
                );
            }
            check(
                &profile,
                &[("StackOverflow.attempt", 200)],
                &format!("{jdk} {jvm:?}"),
            )?;
        }
    }
    Ok(())
}

/// Several threads call methods with ids of up to a million.
#[test]
fn many_ids() -> Result<()> {
    ids(&["-Xmx64m"], &[])
}

/// Methods beyond the expected ones are counted, too.
#[test]
fn many_ids_where_few_are_expected() -> Result<()> {
    ids(&["-Xmx64m"], &["few"])
}

#[test]
fn a_full_heap() -> Result<()> {
    ids(&["-Xmx32m", "-XX:+UseSerialGC"], &["full"])
}

fn ids(jvm: &[&str], arguments: &[&str]) -> Result<()> {
    let program = Program::plain("Nothing")?.with("loadhook/ManyIds.java")?;
    let names: Vec<String> = (0..=1 << 20).map(|id| format!("{id}")).collect();
    for jdk in [11, 17, 25] {
        let mut java = program.java(jdk, jvm)?;
        java.arg("loadhook.ManyIds").args(arguments);
        let profile = Profile::read(&process::output(&mut java)?, &names)?;
        let expected: Vec<(&str, i64)> = profile
            .expected
            .iter()
            .map(|(id, calls)| (id.as_str(), *calls as i64))
            .collect();
        ensure!(expected.len() == 15, "{expected:?}");
        check(&profile, &expected, &format!("{jdk} {jvm:?}"))?;
    }
    Ok(())
}

/// Calls that the tracker itself causes are not counted.
#[test]
fn slow_code_of_the_tracker_does_not_count() -> Result<()> {
    prints("Inside", "80")
}

/// Only timed calls count for the mean time of a call.
#[test]
fn calls_without_times_are_left_out_of_sums() -> Result<()> {
    prints("Untimed", "timed")
}

/// Calls are counted by their durations, also where a bucket has room for no more.
#[test]
fn full_buckets_are_continued() -> Result<()> {
    prints("Durations", "counted")
}

fn prints(class: &str, expected: &str) -> Result<()> {
    let program = Program::plain("Nothing")?.with(&format!("loadhook/{class}.java"))?;
    for jdk in [17, 25] {
        let mut java = program.java(jdk, &[])?;
        let output = process::output(java.arg(format!("loadhook.{class}")))?;
        ensure!(output.trim() == expected, "{jdk}: {output}");
    }
    Ok(())
}
