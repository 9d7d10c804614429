//! Samples of threads: shares of running time, reasons of waiting, and further data about samples.
//!
//! Where a share is statistical, a test repeats the run before it fails. Times are compared with
//! the program's own measurements in the same run, so a slow machine changes both.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Engine, Node, Profile, ThreadKind, ThreadTree, Timing, Waiting};
use tempfile::TempDir;

mod support;
use support::{Finished, Program, finish, read};

on_each_jdk!(
    shares_are_those_of_the_program
    threads_have_their_own_times
    waiting_has_a_reason
    short_threads_are_one_group
    native_code_is_named
    collectors_have_their_time
    samples_and_allocations_in_snapshots
    the_end_is_not_missed
    frames_of_a_brief_program_are_named
    processor_time_only
    probes_cost_is_no_methods_time
    performance_events_count_system_calls
);
on_jdks!(virtual_threads_are_together: on_21 21, on_25 25);

/// Agent options for sampling without probes.
const SAMPLED: &str = "timing=sampled,include=none,all=false";

/// The number of attempts of a check whose result depends on chance.
const DRAWS: usize = 3;

fn program(feature: u32, args: &[&str], options: &str) -> Program {
    Program::new(feature, "SampledTime")
        .options(&format!("{SAMPLED},{options}"))
        .args(args)
}

/// Returns the program, sampled every 5 ms of processor time.
fn often(feature: u32, args: &[&str], engine: &str) -> Program {
    program(feature, args, &format!("{engine},interval=5ms"))
}

/// Runs a check until it succeeds, at most [`DRAWS`] times.
fn draw(mut check: impl FnMut() -> Result<()>) -> Result<()> {
    let mut outcome = check();
    for _ in 1..DRAWS {
        if outcome.is_ok() {
            break;
        }
        outcome = check();
    }
    outcome
}

/// Returns the numbers that the program printed, by name.
fn measured(run: &Finished) -> Result<BTreeMap<String, f64>> {
    let stdout = String::from_utf8_lossy(&run.output.stdout);
    let lines = stdout.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(name, number)| Ok((name.to_owned(), number.parse()?)))
        .collect()
}

/// Returns the time during which a method of the program was on the stack, summed over all threads.
fn inclusive(profile: &Profile, method: &str) -> u64 {
    nodes(profile, method).map(|node| node.outermost_ns).sum()
}

/// Returns the nodes of a method of the program in all threads.
fn nodes<'p>(profile: &'p Profile, name: &'p str) -> impl Iterator<Item = &'p Node> {
    let all = profile.threads.iter().flat_map(|thread| &thread.nodes);
    all.filter(move |node| {
        let method = &profile.methods[node.method as usize];
        &*method.class == "SampledTime" && &*method.name == name
    })
}

fn thread<'r>(run: &'r Finished, name: &str) -> Result<&'r ThreadTree> {
    let mut threads = run.profile.threads.iter();
    let found = threads.find(|thread| *thread.name == *name);
    found.with_context(|| {
        let names: Vec<_> = run.profile.threads.iter().map(|t| &t.name).collect();
        format!("{}: no thread {name}: {names:?}", run.name)
    })
}

/// Returns the running time of a thread.
fn running(thread: &ThreadTree) -> u64 {
    thread.nodes.iter().map(|n| n.all_ns - n.child_ns).sum()
}

/// Returns the time for which a thread waited, by reason.
fn waiting(thread: &ThreadTree) -> Waiting {
    let mut sum = Waiting::default();
    for node in &thread.nodes {
        sum.add(&node.waiting);
    }
    sum
}

/// Checks the rules that hold for every profile of samples.
fn sound(run: &Finished) -> Result<()> {
    let profile = &run.profile;
    ensure!(profile.header.timing == Timing::Sampled, "{}", run.name);
    let sampling = profile.sampling.context("the profile has no samples")?;
    let mut sampled = 0;
    for thread in &profile.threads {
        let (mut own, mut roots) = (0, 0);
        for node in &thread.nodes {
            let place = || {
                let method = &profile.methods[node.method as usize];
                format!("{}: {}: {node:?} of {method:?}", run.name, thread.name)
            };
            ensure!(node.calls == 0, "{}", place());
            ensure!(node.all_ns >= node.outermost_ns, "{}", place());
            let self_ns = node.all_ns.checked_sub(node.child_ns);
            ensure!(self_ns == Some(node.ticked_ns), "{}", place());
            own += node.ticked_ns;
            if node.parent.is_none() {
                roots += node.outermost_ns;
            }
            sampled += node.timed;
        }
        ensure!(
            own == roots,
            "{}: {}: the methods' own times sum up to {own}, the roots' times to {roots}",
            run.name,
            thread.name
        );
    }
    ensure!(
        sampled + sampling.tracker == sampling.samples,
        "{}: the trees have {sampled} samples, which disagrees with {sampling:?}",
        run.name
    );
    Ok(())
}

/// Agent options that select each sampling engine.
const ENGINES: [&str; 2] = ["sampler=auto", "sampler=safepoint"];

fn shares_are_those_of_the_program(feature: u32) -> Result<()> {
    for engine in ENGINES {
        draw(|| {
            let run = often(feature, &["shares", "1000"], engine).run()?;
            sound(&run)?;
            let known = measured(&run)?;
            let all: f64 = known.values().sum();
            let found: Vec<f64> = ["most", "less", "least"]
                .map(|method| inclusive(&run.profile, method) as f64)
                .to_vec();
            let sum: f64 = found.iter().sum();
            for (method, found) in ["most", "less", "least"].iter().zip(&found) {
                let (share, expected) = (found / sum, known[*method] / all);
                ensure!(
                    (share - expected).abs() < 0.12,
                    "{}: {method} should have {expected:.3} of the time, but has {share:.3}",
                    run.name
                );
            }
            // The program spends nearly all of its time in these methods.
            let ratio = sum / all;
            ensure!(
                (0.8..1.2).contains(&ratio),
                "{}: the methods should have all of the time, but have {ratio:.3} of it",
                run.name
            );
            Ok(())
        })?;
    }
    Ok(())
}

fn threads_have_their_own_times(feature: u32) -> Result<()> {
    for engine in ENGINES {
        draw(|| {
            let run = often(feature, &["threads", "1000"], engine).run()?;
            sound(&run)?;
            let (one, other) = (thread(&run, "one")?, thread(&run, "other")?);
            ensure!(one.kind == ThreadKind::Ended && one.id.is_none(), "{one:?}");
            let share = running(one) as f64 / (running(one) + running(other)) as f64;
            ensure!((share - 0.75).abs() < 0.12, "{}: {share:.3}", run.name);
            ensure!(
                inclusive(&run.profile, "one") <= running(one),
                "{}: `one` has more time in the trees than its thread ran",
                run.name
            );
            Ok(())
        })?;
    }
    Ok(())
}

/// Each nanosecond of a platform thread is counted as running, or as waiting for a known reason.
fn waiting_has_a_reason(feature: u32) -> Result<()> {
    for engine in ENGINES {
        draw(|| {
            let run = program(feature, &["states", "3000"], engine).run()?;
            sound(&run)?;
            let known = measured(&run)?;
            type Part = fn(&Waiting) -> u64;
            let parts: [(&str, Part, &str); 5] = [
                ("monitor", |waiting| waiting.monitor_ns, "enterMonitor"),
                ("waiting", |waiting| waiting.monitor_ns, "awaitSignal"),
                ("parked", |waiting| waiting.parked_ns, "park"),
                ("sleeping", |waiting| waiting.sleeping_ns, "sleep"),
                ("reading", |waiting| waiting.io_ns, "accept"),
            ];
            for (name, part, method) in parts {
                let waited = part(&waiting(thread(&run, name)?)) as f64 / known[name];
                ensure!(
                    (0.8..1.2).contains(&waited),
                    "{}: {name} {waited:.3}",
                    run.name
                );
                ensure!(
                    nodes(&run.profile, method).next().is_some(),
                    "{}: {method} is missing in the tree",
                    run.name
                );
            }
            for (name, lifetime) in &known {
                let thread = thread(&run, name)?;
                let all = running(thread) + waiting(thread).total_ns();
                let share = all as f64 / lifetime;
                ensure!(
                    (0.85..1.15).contains(&share),
                    "{}: {name} {share:.3}",
                    run.name
                );
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Threads that have ended leave only the tree of their group.
fn short_threads_are_one_group(feature: u32) -> Result<()> {
    for engine in ENGINES {
        let run = program(feature, &["short", "2000"], engine).run()?;
        sound(&run)?;
        let threads = &run.profile.threads;
        let short: Vec<_> = threads
            .iter()
            .filter(|thread| thread.name.starts_with("short"))
            .collect();
        ensure!(
            short.len() == 1 && &*short[0].name == "short-#" && short[0].kind == ThreadKind::Ended,
            "{}: {:?}",
            run.name,
            short.iter().map(|t| &t.name).collect::<Vec<_>>()
        );
        ensure!(running(short[0]) > 0, "{}", run.name);
    }
    Ok(())
}

/// Returns whether the samples of a run were taken by signals.
fn is_async(run: &Finished) -> bool {
    run.profile
        .sampling
        .is_some_and(|s| s.engine == Engine::Async)
}

fn native_code_is_named(feature: u32) -> Result<()> {
    draw(|| {
        let run = program(feature, &["native", "1500"], "").run()?;
        sound(&run)?;
        let all = running(thread(&run, "main")?) as f64;
        let share = inclusive(&run.profile, "compress") as f64 / all;
        ensure!(
            share > 0.6,
            "{}: compress should have more than 0.6 of the time, but has {share:.3}",
            run.name
        );
        if is_async(&run) {
            let native = run.profile.threads.iter().flat_map(|thread| &thread.nodes);
            let in_library = native.filter(|node| {
                let class = &run.profile.methods[node.method as usize].class;
                class.starts_with("libz")
            });
            let in_library: u64 = in_library.map(|node| node.ticked_ns).sum();
            let share = in_library as f64 / all;
            ensure!(
                share > 0.4,
                "{}: the library should have more than 0.4 of the time, but has {share:.3}",
                run.name
            );
        }
        Ok(())
    })
}

fn collectors_have_their_time(feature: u32) -> Result<()> {
    let collector = ["-XX:+UseParallelGC", "-Xmx256m"];
    let run = program(feature, &["collect", "1000"], "")
        .jvm(&collector)
        .run()?;
    sound(&run)?;
    let collected = running(thread(&run, "[GC]")?);
    ensure!(
        collected > 1_000_000,
        "{}: more than a millisecond of [GC] expected, {collected} ns found",
        run.name
    );
    let compiled = running(thread(&run, "[compiler]")?);
    ensure!(
        compiled > 1_000_000,
        "{}: more than a millisecond of [compiler] expected, {compiled} ns found",
        run.name
    );
    Ok(())
}

/// Each snapshot is a complete profile, and the last one has all data.
fn samples_and_allocations_in_snapshots(feature: u32) -> Result<()> {
    for engine in ENGINES {
        let options = format!("{engine},alloc=sampled=64k,snapshot-every=300ms");
        let folder = TempDir::new()?;
        let file = folder.path().join("profile.pb.gz");
        let mut command = program(feature, &["collect", "1000"], &options).command(&file)?;
        let output = finish(&mut command)?;
        ensure!(
            output.status.success() && output.stderr.is_empty(),
            "JDK {feature}, {options}: {output:?}"
        );
        let profile = read(&file)?;
        let name = format!("JDK {feature}, {options}");
        let run = Finished {
            output,
            profile,
            name,
        };
        sound(&run)?;
        ensure!(!run.profile.header.not_ended, "{}", run.name);
        ensure!(
            inclusive(&run.profile, "collect") > 0,
            "{}: no samples of the program: {:?}",
            run.name,
            run.profile.sampling
        );
        let allocations = run
            .profile
            .allocations
            .as_ref()
            .context("the profile has no allocations")?;
        let of_program = allocations.sites.iter().any(|site| {
            let mut frame = site.frame;
            while let Some(at) = frame.map(|at| allocations.frames[at as usize]) {
                let method = &run.profile.methods[at.method as usize];
                if &*method.class == "SampledTime" && &*method.name == "collect" {
                    return true;
                }
                frame = at.parent;
            }
            false
        });
        ensure!(
            of_program,
            "{}: no sampled allocation belongs to the program",
            run.name
        );
    }
    Ok(())
}

/// A method that runs just before `System.exit` is in the profile.
fn the_end_is_not_missed(feature: u32) -> Result<()> {
    for engine in ENGINES {
        draw(|| {
            let run = program(feature, &["exit", "500"], engine).run()?;
            sound(&run)?;
            let known: f64 = measured(&run)?.values().sum();
            let found = inclusive(&run.profile, "rounds") as f64;
            let ratio = found / known;
            ensure!((0.7..1.3).contains(&ratio), "{}: {ratio:.3}", run.name);
            Ok(())
        })?;
    }
    Ok(())
}

/// A program may end before its classes are noted. All frames of its samples have names, those of hidden classes too.
fn frames_of_a_brief_program_are_named(feature: u32) -> Result<()> {
    draw(|| {
        let run = program(feature, &["brief", "30"], "sampler=async").run()?;
        let rounds = inclusive(&run.profile, "rounds");
        ensure!(rounds > 0, "{}: no sample", run.name);
        let main = inclusive(&run.profile, "main");
        ensure!(main >= rounds, "{}: {main} of {rounds}", run.name);
        Ok(())
    })
}

fn processor_time_only(feature: u32) -> Result<()> {
    for engine in ENGINES {
        let options = format!("{engine},clock=cpu");
        let run = program(feature, &["states", "500"], &options).run()?;
        sound(&run)?;
        for thread in &run.profile.threads {
            let waited = waiting(thread).total_ns();
            ensure!(waited == 0, "{}: {}: {waited}", run.name, thread.name);
        }
        ensure!(running(thread(&run, "working")?) > 0, "{}", run.name);
    }
    Ok(())
}

/// Samples taken inside a probe are counted separately, and no method of the tracker's classes is
/// shown.
fn probes_cost_is_no_methods_time(feature: u32) -> Result<()> {
    for engine in ENGINES {
        let run = Program::new(feature, "SampledTime")
            .options(&format!("timing=sampled,{engine}"))
            .args(&["calls", "1000"])
            .run()?;
        sound(&run)?;
        let methods = run.profile.methods.iter();
        let ours: Vec<_> = methods.filter(|m| m.class.contains("$Loadhook")).collect();
        ensure!(ours.is_empty(), "{}: {ours:?}", run.name);
        if is_async(&run) {
            let sampling = run.profile.sampling.context("the profile has no samples")?;
            ensure!(sampling.tracker_ns > 0, "{}: {sampling:?}", run.name);
        }
        let calls = &run.profile.method_calls;
        let of_tiny = calls.iter().find(|calls| {
            let method = &run.profile.methods[calls.method as usize];
            &*method.name == "tiny"
        });
        let printed = measured(&run)?["calls"] as u64;
        ensure!(
            of_tiny.map(|of| of.calls) == Some(printed),
            "{}: {of_tiny:?}",
            run.name
        );
    }
    Ok(())
}

/// With performance events, the signal comes only at the end of a system call, and the event does
/// not count during the call. The time must nevertheless be right.
fn performance_events_count_system_calls(feature: u32) -> Result<()> {
    draw(|| {
        let options = "sampler=auto,clock-source=perf,interval=1ms";
        let run = program(feature, &["reads", "1000"], options).run()?;
        sound(&run)?;
        let known: f64 = measured(&run)?.values().sum();
        let found = inclusive(&run.profile, "reads") as f64;
        let ratio = found / known;
        ensure!((0.8..1.25).contains(&ratio), "{}: {ratio:.3}", run.name);
        Ok(())
    })
}

fn virtual_threads_are_together(feature: u32) -> Result<()> {
    for engine in ENGINES {
        draw(|| {
            let run = often(feature, &["virtual", "1000"], engine).run()?;
            sound(&run)?;
            let virtual_threads = thread(&run, "(virtual threads)")?;
            ensure!(virtual_threads.kind == ThreadKind::Virtual, "{}", run.name);
            let threads = run.profile.threads.iter();
            let java = threads.filter(|thread| !thread.name.starts_with('['));
            let all: u64 = java.map(running).sum();
            let share = running(virtual_threads) as f64 / all as f64;
            ensure!(share > 0.6, "{}: {share:.3}", run.name);
            if is_async(&run) {
                // Beyond its innermost frames, the stack of a thread that has waited may be cut
                // off.
                let share = inclusive(&run.profile, "work") as f64 / all as f64;
                ensure!(
                    share > 0.5,
                    "{}: `work` should have more than half of the time, but has {share:.3}",
                    run.name
                );
            }
            Ok(())
        })?;
    }
    Ok(())
}
