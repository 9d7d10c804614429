//! Overhead of the agent, and truth of its times. Other profilers are measured in the same run.
//!
//!     scripts/corpora.sh                          # the sources that javac compiles, the Closure compiler
//!     cargo bench -p loadhook-agent               # the cost of probes: tiny, alloc, hello, javac, sampled, virtual
//!     cargo bench -p loadhook-agent -- hello 17   # some rows, on one JDK
//!     cargo bench -p loadhook-agent -- truth      # cost and truth: fib, json, json-other,
//!                                                 # shapes, shapes-other, javac, hello, share, distance
//!     cargo bench -p loadhook-agent -- truth fib 25
//!
//! `LOADHOOK_ASYNC_PROFILER=/path/to/libasyncProfiler.so` adds async-profiler to the rows of `truth`, and
//! `LOADHOOK_BENCH_TURNS` sets the number of turns of these rows.
//!
//! The variants of a row run in turn, so that a slow phase of the machine slows down all of them. A
//! row shows the medians over the turns; for `tiny` and `alloc`, it shows the best.

mod probes;
mod support;
mod truth;

use support::Bench;

fn main() -> anyhow::Result<()> {
    let mut features = Vec::new();
    let mut rows = Vec::new();
    for argument in std::env::args().skip(1) {
        if argument.starts_with('-') {
            continue;
        }
        match argument.parse::<u32>() {
            Ok(feature) => features.push(feature),
            Err(_) => rows.push(argument),
        }
    }
    if features.is_empty() {
        features = vec![17, 25];
    }
    let wants_truth = rows.iter().any(|row| row == "truth");
    rows.retain(|row| row != "truth");
    let is_wanted = |row: &str| rows.is_empty() || rows.iter().any(|name| name == row);
    let run = if wants_truth { truth::run } else { probes::run };
    run(&Bench::new()?, &features, &is_wanted)
}
