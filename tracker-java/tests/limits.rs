//! Tests of the limits of nodes and heap, and of repairing paths.

mod support;

use anyhow::{Result, ensure};
use loadhook_testkit::jdk::QUICK;
use loadhook_testkit::process;
use support::profile::Profile;
use support::{ADAPTIVE, COUNT, EXACT, Program};

#[test]
fn the_overflow_keeps_counts_right() -> Result<()> {
    let program = Program::new("Wide")?;
    for jdk in [17, 25] {
        for timing in [ADAPTIVE, EXACT, COUNT] {
            for limit in [1, 2, 7, 8, 9, 50, 1000, 2000] {
                // Many short runs. The compilers have tests of their own.
                let profile = program.run(jdk, &QUICK, timing, limit)?;
                let calls = i64::try_from(profile.expected["calls"])?;
                let found = profile.all_calls();
                ensure!(
                    found == calls,
                    "{jdk} {timing} {limit}: {calls} calls expected, {found} found"
                );
                let nodes: usize = profile
                    .threads
                    .iter()
                    .map(|thread| thread.nodes.len())
                    .sum();
                ensure!(
                    nodes <= limit as usize + 1,
                    "at most {limit} nodes and the overflow node expected, {nodes} found"
                );
                let overflow = profile.method_calls("(overflow)");
                ensure!(
                    profile.header[7] == overflow,
                    "the tree has {overflow} overflowed calls, but the header says {}",
                    profile.header[7]
                );
                ensure!(
                    (limit == 2000) == (overflow == 0),
                    "calls should overflow under every limit except 2000; under {limit}, {overflow} did"
                );
                ensure!(
                    profile.depth == 0,
                    "the path should be empty at the end, but has {} entries",
                    profile.depth
                );
                profile.check_times()?;
            }
        }
    }
    Ok(())
}

/// A tree that has more than half of all allowed nodes is still merged completely when its thread
/// ends.
#[test]
fn ended_threads_keep_their_trees() -> Result<()> {
    let program = Program::new("Wide")?;
    for jdk in [17, 25] {
        for (threads, limit) in [(1, 1200), (2, 2300), (9, 10_100)] {
            let profile = program.run(jdk, &[&format!("-Dthreads={threads}")], COUNT, limit)?;
            let calls = i64::try_from(profile.expected["calls"])?;
            let found = profile.all_calls();
            ensure!(
                found == calls,
                "{jdk}: {calls} calls expected, {found} found"
            );
            let overflow = profile.method_calls("(overflow)");
            ensure!(
                overflow == 0,
                "{jdk}, {threads} threads: no overflowed calls expected, {overflow} found"
            );
        }
    }
    Ok(())
}

#[test]
fn a_nearly_full_heap() -> Result<()> {
    let program = Program::new("Wide")?;
    let plain = Program::plain("Wide")?;
    for jdk in [17, 25] {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"] {
            let jvm = ["-Xmx24m", "-XX:+ExitOnOutOfMemoryError", collector];
            let least = least_for_plain(&plain, jdk, &jvm)?;
            // Near the limit, by up to two regions of G1, chance decides which of the two programs
            // run out of heap.
            let some = if collector.ends_with("G1GC") {
                2000
            } else {
                200
            };
            for more in [some, some + 600, some + 3000] {
                let free = format!("-Dfree={}", least + more);
                let jvm = [jvm[0], jvm[1], jvm[2], &free];
                let profile = program.run(jdk, &jvm, ADAPTIVE, 1_000_000)?;
                let calls = i64::try_from(profile.expected["calls"])?;
                let found = profile.all_calls();
                ensure!(
                    found == calls,
                    "{jdk} {jvm:?}: {calls} calls expected, {found} found"
                );
            }
        }
    }
    Ok(())
}

/// Returns the least heap in kilobytes with which the program works without probes. With less, it runs out
/// of heap by itself.
fn least_for_plain(plain: &Program, jdk: u32, jvm: &[&str]) -> Result<u32> {
    for free in (1..20).rev().map(|step| 200 * step) {
        let free_option = format!("-Dfree={free}");
        let jvm = [jvm, &[&free_option]].concat();
        if (0..2).any(|_| plain.output(jdk, &jvm, ADAPTIVE, 1_000_000).is_err()) {
            return Ok(free + 200);
        }
    }
    Ok(200)
}

/// Counts are exact even if a thread is stopped in the middle of a grant, which counts some calls
/// of a node in advance.
#[test]
fn counts_are_whole_in_the_midst_of_a_grant() -> Result<()> {
    let program = Program::new("Nothing")?.with("loadhook/Torn.java")?;
    for timing in [ADAPTIVE, EXACT, COUNT] {
        let output = process::output(program.java(17, &[])?.args(["loadhook.Torn", timing]))?;
        let grants: u32 = output.trim().parse()?;
        println!("{timing}: {grants} grants");
        ensure!(
            grants > 300,
            "{timing}: more than 300 grants expected, {grants} found"
        );
    }
    Ok(())
}

/// A reader must see a path as it was at one moment, even while the path's thread changes it.
#[test]
fn times_and_frames_are_of_one_moment() -> Result<()> {
    let program = Program::new("Nothing")?.with("loadhook/Moments.java")?;
    for jdk in [17, 25] {
        let output = process::output(program.java(jdk, &[])?.arg("loadhook.Moments"))?;
        ensure!(output.trim() == "whole", "{jdk}: {output}");
    }
    Ok(())
}

#[test]
fn paths_heal() -> Result<()> {
    let program = Program::new("Nothing")?.with("loadhook/Heal.java")?;
    let mut methods: Vec<String> = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .map(String::from)
        .into();
    methods.extend((methods.len()..=90).map(|id| id.to_string()));
    for jdk in [17, 25] {
        for timing in [ADAPTIVE, EXACT, COUNT] {
            let output = process::output(program.java(jdk, &[])?.args(["loadhook.Heal", timing]))?;
            let profile = Profile::read(&output, &methods)?;
            let expected = "a 1001\n  b 3000\n    c 3000\n      d 1000\n    e 1000\n  g 100000\n    h 100000\n";
            ensure!(
                profile.tree("main") == expected,
                "{jdk} {timing}: unexpected tree:\n{}",
                profile.tree("main")
            );
            profile.check_times()?;
        }
    }
    Ok(())
}

/// Calls that wait for the agent keep none of the program's objects in memory, and no text of unlimited length.
#[test]
fn traced_calls_keep_no_values() -> Result<()> {
    let program = Program::plain("Nothing")?.with("loadhook/TracedValues.java")?;
    let jvm = ["-Xmx32m", "-XX:+UseSerialGC"];
    let output = process::output(program.java(25, &jvm)?.arg("loadhook.TracedValues"))?;
    ensure!(output.trim() == "whole", "{output}");
    Ok(())
}
