//! Tests of the self times of adaptive timing: they are unbiased, their errors are small, and the
//! stated errors are correct.

mod support;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use loadhook_profile::analysis::{CountingCosts, figures};
use loadhook_profile::{Clock, Header, Node, Timing};
use loadhook_testkit::process;
use support::Program;

const WORKLOADS: [&str; 6] = [
    "many short calls",
    "nothing of its own",
    "a recursive walk",
    "short waits",
    "short turns",
    "calls of all lengths",
];

/// Mean distance between ticks, in nanoseconds.
const TICK: f64 = 1e6;

/// Results for one method, summed over all seeds.
#[derive(Default)]
struct Method {
    truth: f64,
    seeds: f64,
    sum: f64,
    squares: f64,
    /// Sum of the squared errors that the self times would have without ticks.
    rest_squares: f64,
    stated: f64,
    covered: f64,
}

#[test]
fn by_the_wall_clock() -> Result<()> {
    check(Clock::Wall)
}

#[test]
fn by_the_clock_of_processor_time() -> Result<()> {
    check(Clock::Cpu)
}

/// A thread works and waits in short turns, so most ticks come while it waits. The thread's CPU time must not be
/// charged to the waits.
#[test]
fn threads_that_wait_and_work_in_short_turns() -> Result<()> {
    refuse("waiting")
}

/// A thread yields its processor after short turns, and others keep it for long. The kernel counts a yield as an
/// interruption.
#[test]
fn threads_that_yield_after_short_turns() -> Result<()> {
    refuse("yielding")
}

/// Others take the processor from a thread, so most ticks come while it has none. The thread's ticks count, and its
/// times are as right as the times of a thread that runs all the time.
#[test]
fn threads_that_are_interrupted() -> Result<()> {
    let [alone, interrupted] = [
        measured(Clock::Cpu, "lengths")?,
        measured(Clock::Cpu, "interrupted")?,
    ];
    print(&alone);
    print(&interrupted);
    let whole: f64 = interrupted.values().map(|method| method.truth).sum();
    ensure!(interrupted.len() == 7, "{}", interrupted.len());
    for (((_, number), method), alone) in interrupted.iter().zip(alone.values()) {
        let bias = method.sum / method.seeds;
        let error = (method.squares / method.seeds).sqrt();
        let most = 3.0 * error / method.seeds.sqrt() + 0.01 * whole;
        ensure!(
            bias.abs() <= most,
            "method {number}: the estimates are off by {bias} ns on average, of {whole} ns in all"
        );
        let error_alone = (alone.squares / alone.seeds).sqrt();
        ensure!(
            error <= 3.0 * error_alone + TICK,
            "method {number}: the estimates have an error of {error} ns, without interruptions {error_alone}"
        );
        ensure!(
            method.covered >= 0.9 * method.seeds,
            "method {number}: 0.9 of the estimates should lie within the stated errors, but only {} do",
            method.covered
        );
    }
    Ok(())
}

/// Checks that the ticks of a thread that rarely runs when they come are not used.
fn refuse(argument: &str) -> Result<()> {
    let methods = measured(Clock::Cpu, argument)?;
    print(&methods);
    let whole: f64 = methods.values().map(|method| method.truth).sum();
    ensure!(methods.len() == 5, "{}", methods.len());
    for ((_, number), method) in &methods {
        let bias = method.sum / method.seeds;
        let error = (method.squares / method.seeds).sqrt();
        let most = 3.0 * error / method.seeds.sqrt() + 0.01 * whole;
        ensure!(
            bias.abs() <= most,
            "method {number}: the estimates are off by {bias} ns on average, of {whole} ns in all"
        );
        ensure!(
            error <= 0.06 * whole,
            "method {number}: the estimates have an error of {error} ns, of {whole} ns in all"
        );
        ensure!(
            method.covered >= 0.9 * method.seeds,
            "method {number}: 0.9 of the estimates should lie within the stated errors, but only {} do",
            method.covered
        );
    }
    Ok(())
}

/// Ticks are used if they account for most of a thread's CPU time, whatever the order of its turns.
/// In a group of threads, this is decided by the sum of their times. A thread whose ticks are
/// refused does not make the ticks of the other threads useless; a thread without room for ticks
/// does.
#[test]
fn ticks_count_for_threads_and_groups_that_mostly_accept_them() -> Result<()> {
    let program = Program::plain("Nothing")?
        .with("fake/loadhook/Clock.java")?
        .with("loadhook/RefusedTicks.java")?;
    // The milliseconds for which the ticks stand. `RefusedTicks.java` says what each thread does.
    let expected = "\
worked: 200
interrupted: 200
interrupted often: 200
yielding often: 0
interrupted after waits: 0
refused, then one accepted: 0
accepted, then refused: 0
most accepted at the end: 200
most accepted at the beginning: 200
refused for less than 30 ms: 5
cleared, then worked: 200
group: 200
group with one refused: 200
group with two refused: 0
group with more accepted: 400
group of short refused ones: 0
adopted refused: 0
adopted refused, then accepted: 200
adopted accepted, then refused: 200
no room: 0
";
    for jdk in [17, 25] {
        let output = process::output(program.java(jdk, &[])?.arg("loadhook.RefusedTicks"))?;
        ensure!(output == expected, "{jdk}: {output}");
    }
    Ok(())
}

/// Runs `SelfTimes.java` with this argument, and compares self times with the true ones. The key of
/// a result is workload and method.
fn measured(clock: Clock, argument: &str) -> Result<BTreeMap<(usize, u32), Method>> {
    let program = Program::plain("Nothing")?
        .with("fake/loadhook/Clock.java")?
        .with("loadhook/SelfTimes.java")?;
    let mut java = program.java(17, &[])?;
    let output = process::output(java.args(["loadhook.SelfTimes", argument]))?;
    let header = Header {
        timing: Timing::Adaptive,
        clock,
        ..Header::default()
    };
    let counting = CountingCosts::default();
    let mut methods: BTreeMap<(usize, u32), Method> = BTreeMap::new();
    for tree in output.split("TREE ").skip(1) {
        let mut lines = tree.lines();
        let workload: usize = lines.next().context("the output has no number")?.parse()?;
        let nodes = lines.map(node).collect::<Result<Vec<_>>>()?;
        let (nodes, truths): (Vec<Node>, Vec<f64>) = nodes.into_iter().unzip();
        let rest: Vec<Node> = nodes.iter().map(without_ticks).collect();
        let rest = figures(&rest, &header, &counting);
        for (at, found) in figures(&nodes, &header, &counting).iter().enumerate() {
            let method = methods.entry((workload, nodes[at].method)).or_default();
            let error = found.self_ns - truths[at];
            method.truth = truths[at];
            method.seeds += 1.0;
            method.sum += error;
            method.squares += error * error;
            method.rest_squares += (rest[at].self_ns - truths[at]).powi(2);
            let variance = found.self_variance + found.once_variance;
            method.stated += variance;
            // Errors below a tenth of a tick do not matter, so the stated error counts as at least
            // that.
            let stated = (2.0 * variance.sqrt()).max(1e5);
            method.covered += f64::from(error.abs() <= stated);
        }
    }
    Ok(methods)
}

fn print(methods: &BTreeMap<(usize, u32), Method>) {
    for ((workload, number), method) in methods {
        println!(
            "{}, {number}: true {:.0}, bias {:.0} ± {:.0}, error {:.0}, of the rest {:.0}, stated {:.0}, {:.3} covered",
            WORKLOADS[*workload],
            method.truth,
            method.sum / method.seeds,
            (method.squares).sqrt() / method.seeds,
            (method.squares / method.seeds).sqrt(),
            (method.rest_squares / method.seeds).sqrt(),
            (method.stated / method.seeds).sqrt(),
            method.covered / method.seeds,
        );
    }
}

fn check(clock: Clock) -> Result<()> {
    let argument = match clock {
        Clock::Wall => "wall",
        Clock::Cpu => "cpu",
    };
    let methods = measured(clock, argument)?;
    print(&methods);
    ensure!(methods.len() == 16, "{}", methods.len());
    let [covered, seeds] = methods
        .values()
        .filter(|method| method.truth > 0.0)
        .fold([0.0; 2], |[covered, seeds], method| {
            [covered + method.covered, seeds + method.seeds]
        });
    ensure!(
        covered >= 0.95 * seeds,
        "0.95 of the {seeds} estimates should lie within the stated errors, but only {covered} do"
    );
    let mut wholes = [0.0; 3];
    for ((workload, _), method) in &methods {
        wholes[*workload] += method.truth;
    }
    for ((workload, number), method) in &methods {
        let name = format!("{}, {number}", WORKLOADS[*workload]);
        let bias = method.sum / method.seeds;
        let error = (method.squares / method.seeds).sqrt();
        let rest = (method.rest_squares / method.seeds).sqrt();
        // Times are never negative, so estimates near 0 have a small bias.
        let most = 3.0 * error / method.seeds.sqrt() + 0.01 * wholes[*workload];
        ensure!(
            bias.abs() <= most,
            "{name}: the estimates are off by {bias} ns on average, at most {most} expected"
        );
        ensure!(
            error <= rest + TICK,
            "{name}: the error is {error}, but the calls that are not timed explain only {rest}"
        );
        // With this number of seeds, the share of a single method may be this far below 0.95 by
        // chance. The share of all methods together may not.
        let margin = 2.0 * (0.05 * 0.95 / method.seeds).sqrt();
        ensure!(
            method.covered >= (0.95 - margin) * method.seeds,
            "{name}: too few estimates lie within the stated errors: {}",
            method.covered
        );
        // The stated error of a method without ticks is slightly more than one tick.
        let stated = (method.stated / method.seeds).sqrt();
        ensure!(
            stated <= 4.0 * error + 2.0 * TICK,
            "{name}: the real error is {error}, but the stated one {stated}"
        );
        // The driver is timed at every call, and has no time of its own. Thanks to ticks, the
        // errors of the methods that it calls do not affect its self time.
        let is_driver = *number == 1;
        ensure!(
            !is_driver || error < rest / 5.0 && error < TICK,
            "{name}: the driver's error is {error}, which is not much less than {rest}"
        );
    }
    Ok(())
}

fn without_ticks(node: &Node) -> Node {
    Node {
        ticked_ns: 0,
        ticked_variance: 0.0,
        ..*node
    }
}

/// Parses a line of `SelfTimes.java`: a node, and its true self time.
fn node(line: &str) -> Result<(Node, f64)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [
        _,
        parent,
        method,
        calls,
        timed,
        all,
        outermost,
        child,
        variance,
        ticked,
        ticks,
        truth,
    ] = words[..]
    else {
        anyhow::bail!("{line}");
    };
    let node = Node {
        parent: parent.parse::<i64>()?.try_into().ok(),
        method: method.parse()?,
        calls: calls.parse()?,
        timed: timed.parse()?,
        all_ns: all.parse()?,
        outermost_ns: outermost.parse()?,
        child_ns: child.parse()?,
        variance: variance.parse()?,
        ticked_ns: ticked.parse()?,
        ticked_variance: ticks.parse()?,
        ..Node::default()
    };
    Ok((node, truth.parse()?))
}
