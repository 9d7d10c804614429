//! Limits of nodes and heap, and repairs of paths.

mod support;

use anyhow::{Result, ensure};
use loadhook_testkit::process;
use support::profile::Profile;
use support::{ADAPTIVE, COUNT, EXACT, Program};

#[test]
fn the_overflow_keeps_counts_right() -> Result<()> {
    let program = Program::new("Wide")?;
    for jdk in [17, 25] {
        for timing in [ADAPTIVE, EXACT, COUNT] {
            for limit in [1, 2, 7, 8, 9, 50, 1000, 2000] {
                let profile = program.run(jdk, &[], timing, limit)?;
                let calls = i64::try_from(profile.expected["calls"])?;
                let found = profile.all_calls();
                ensure!(
                    found == calls,
                    "{jdk} {timing} {limit}: {found} calls instead of {calls}"
                );
                let nodes: usize = profile
                    .threads
                    .iter()
                    .map(|thread| thread.nodes.len())
                    .sum();
                ensure!(
                    nodes <= limit as usize + 1,
                    "{nodes} nodes, {limit} allowed"
                );
                let overflow = profile.method_calls("(overflow)");
                ensure!(
                    profile.header[7] == overflow,
                    "{overflow} overflowed, header {}",
                    profile.header[7]
                );
                ensure!(
                    (limit == 2000) == (overflow == 0),
                    "{limit}: {overflow} overflowed"
                );
                ensure!(profile.depth == 0, "depth {}", profile.depth);
                profile.check_times()?;
            }
        }
    }
    Ok(())
}

/// A tree with more than half the nodes of the limit is merged completely when its thread ends.
#[test]
fn ended_threads_keep_their_trees() -> Result<()> {
    let program = Program::new("Wide")?;
    for jdk in [17, 25] {
        for (threads, limit) in [(1, 1200), (2, 2300), (9, 10_100)] {
            let profile = program.run(jdk, &[&format!("-Dthreads={threads}")], COUNT, limit)?;
            let calls = i64::try_from(profile.expected["calls"])?;
            let found = profile.all_calls();
            ensure!(found == calls, "{jdk}: {found} calls instead of {calls}");
            let overflow = profile.method_calls("(overflow)");
            ensure!(overflow == 0, "{jdk} {threads}: {overflow} overflowed");
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
            // Within two regions of G1's limit, chance decides which of the two programs run out of
            // heap.
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
                    "{jdk} {jvm:?}: {found} calls instead of {calls}"
                );
            }
        }
    }
    Ok(())
}

/// Finds how many kilobytes of heap the program needs without probes; with less it runs out of heap by itself.
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

/// Counts are exact, wherever a thread is stopped while a snapshot reads its tree.
#[test]
fn counts_are_whole_in_the_midst_of_a_grant() -> Result<()> {
    let program = Program::new("Nothing")?.with("loadhook/Torn.java")?;
    for timing in [ADAPTIVE, EXACT, COUNT] {
        let output = process::output(program.java(17, &[])?.args(["loadhook.Torn", timing]))?;
        let grants: u32 = output.trim().parse()?;
        println!("{timing}: {grants} grants");
        ensure!(grants > 300, "{timing}: {grants} grants");
    }
    Ok(())
}

/// A path is read at one moment while its thread changes it.
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
                "{jdk} {timing}\n{}",
                profile.tree("main")
            );
            profile.check_times()?;
        }
    }
    Ok(())
}
