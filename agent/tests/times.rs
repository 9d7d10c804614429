//! Compares times measured in real JVMs with the program's own measurements.

use anyhow::{Context, Result, ensure};
use loadhook_profile::Profile;
use loadhook_profile::analysis::{CountingCosts, figures};
use loadhook_profile::format::pprof;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{paths, process};

mod support;
use support::{Program, compiled};

/// Runs `Times.java`. Returns the number that it printed, and the profile.
fn run(feature: u32, options: &str) -> Result<(f64, Profile)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.pb.gz");
    let mut java = Jdk::find(feature)?.java();
    java.arg(format!(
        "-agentpath:{}=all=true,include=Times,{options},file={}",
        paths::agent_library()?.display(),
        file.display()
    ));
    java.arg("-cp").arg(compiled()?).arg("Times");
    let output = process::output(&mut java)?;
    let twin = output.lines().find_map(|line| line.strip_prefix("twin "));
    let twin = twin
        .context("no time of the uninstrumented twin")?
        .trim()
        .parse()?;
    Ok((twin, pprof::read(&std::fs::read(&file)?[..])?))
}

/// Returns the total time of a method and its standard error, in nanoseconds.
fn total(profile: &Profile, method: &str) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    let counting = CountingCosts::of(profile);
    for thread in &profile.threads {
        for (node, figure) in
            thread
                .nodes
                .iter()
                .zip(figures(&thread.nodes, &profile.header, &counting))
        {
            if &*profile.methods[node.method as usize].name == method {
                sum.0 += figure.total_ns;
                sum.1 += figure.total_variance;
            }
        }
    }
    (sum.0, sum.1.sqrt())
}

/// A method sleeps in twenty of its calls, and one call in 128 is timed. Ticks of the sampler show
/// the sleeps, whichever calls are timed. One run of three must show them, because ticks are late
/// on a busy machine.
#[test]
fn pauses_in_short_calls_are_seen() -> Result<()> {
    for feature in [17, 25] {
        let mut unseen = Vec::new();
        loop {
            let (_, profile) = run(feature, "timing=adaptive,budget=none")?;
            let (time, error) = total(&profile, "pausing");
            println!("{feature}: {time:.0} ns ± {error:.0}");
            let (least, most) = (time - 3.0 * error, time + 3.0 * error);
            let is_right = most >= 400e6 && least <= profile.header.duration_ns as f64;
            if is_right && error <= 0.5 * time {
                break;
            }
            unseen.push(format!("{time} ± {error}"));
            ensure!(unseen.len() < 3, "{feature}: {unseen:?}");
        }
    }
    Ok(())
}

/// A caller whose calls are all timed makes 60,000 calls of some 10 µs, which have estimated times.
/// Even before times are adjusted, the callees must not take longer than the caller. Each call is
/// shorter than the least time for which ticks count.
#[test]
fn estimates_fit_into_a_caller_that_is_timed() -> Result<()> {
    for feature in [17, 25] {
        let (_, profile) = run(feature, "timing=adaptive,budget=none")?;
        let of = |name: &'static str| {
            let profile = &profile;
            let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
            nodes.filter(move |node| &*profile.methods[node.method as usize].name == name)
        };
        ensure!(of("longWork").all(|node| node.timed == node.calls));
        ensure!(
            of("longer").any(|node| node.timed < node.calls),
            "no node has an estimated time"
        );
        let time: u64 = of("longWork").map(|node| node.all_ns).sum();
        let callees: u64 = of("longWork").map(|node| node.child_ns).sum();
        let error = of("longer").map(|node| node.variance).sum::<f64>().sqrt();
        println!("{feature}: {callees} ns ± {error:.0} of {time}");
        ensure!(
            callees as f64 <= 1.1 * time as f64 + 4.0 * error,
            "JDK {feature}: the callees have {callees} ns ± {error:.0}, but their caller only {time}"
        );
    }
    Ok(())
}

/// The CPU clock does not advance while a method sleeps.
#[test]
fn sleep_takes_no_processor_time() -> Result<()> {
    let (_, profile) = run(17, "timing=exact,clock=cpu")?;
    let (time, _) = total(&profile, "pausing");
    println!("{time:.0} ns");
    // If the sleeps were counted, the time would be at least 400 ms.
    ensure!(time < 400e6, "{time}");
    let notes = &profile.header.notes;
    ensure!(
        notes.is_empty(),
        "a note mentions virtual threads, but this JDK has none: {notes:?}"
    );
    Ok(())
}

/// Each thread mostly has no processor, because other threads have it. The ticks nevertheless stand for all of the
/// processor time, and each method has the share of the ticks that it has of the time that the program measures. Both
/// times contain the cost of the probes.
#[test]
fn threads_that_are_mostly_interrupted_have_true_ticks() -> Result<()> {
    let run = Program::new(17, "Crowded")
        .options("timing=adaptive,clock=cpu,include=Crowded")
        .run()?;
    let mut ticks = [0.0; 3];
    for node in run.profile.threads.iter().flat_map(|thread| &thread.nodes) {
        let method = match &*run.profile.methods[node.method as usize].name {
            "brief" | "round" => 0,
            "middling" => 1,
            "lengthy" => 2,
            _ => continue,
        };
        ticks[method] += node.ticked_ns as f64;
    }
    let printed = String::from_utf8_lossy(&run.output.stdout);
    let micros: Vec<f64> = printed.lines().map(str::parse).collect::<Result<_, _>>()?;
    println!("ticks {ticks:?} ns, measured {micros:?} µs");
    ensure!(micros.len() == 3, "{printed}");
    let sums: [f64; 2] = [ticks.iter().sum(), micros.iter().sum()];
    let share = sums[0] / (1000.0 * sums[1]);
    ensure!(
        (0.8..1.2).contains(&share),
        "ticks stand for {share} of the time"
    );
    for (ticks, micros) in ticks.into_iter().zip(micros) {
        let [found, expected] = [ticks / sums[0], micros / sums[1]];
        ensure!((found - expected).abs() < 0.1, "{found}, {expected}");
    }
    Ok(())
}

/// Compares the time of a method that calls small methods 20,000 times with the time of the same
/// methods without probes, in the same run. The two must differ by less than 20 % in three runs of
/// twenty. Most runs may fail, because other processes may slow down one of the two: with four
/// other processes on two processors, half of the runs do.
#[test]
fn an_outer_operation_takes_what_it_takes_unobserved() -> Result<()> {
    let mut ratios: Vec<f64> = Vec::new();
    while ratios.len() < 20 {
        let (twin, profile) = run(17, "timing=adaptive,budget=none")?;
        let (time, error) = total(&profile, "compiledWork");
        println!(
            "{time:.0} ns ± {error:.0}, unobserved {twin:.0}, {:?}",
            profile.header.probe
        );
        ratios.push(time / twin);
        let good = ratios.iter().filter(|ratio| (0.8..=1.2).contains(*ratio));
        if good.count() == 3 {
            return Ok(());
        }
    }
    anyhow::bail!("reported times differ too much from unobserved ones; ratios: {ratios:?}")
}
