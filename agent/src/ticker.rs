//! Tells the tracker the time, about every millisecond.
//!
//! A thread of the agent's own, of the kind JVM TI has for that: a daemon that
//! `Thread.getAllStackTraces` and thread counts leave out. It sleeps outside
//! the VM. Late ticks cost precision, not correctness.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::agent::{Agent, Tracker};
use crate::ffi::jni::Jni;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Starts the thread. Without it the tracker times as well as it can.
pub(crate) fn start(agent: &'static Agent, jni: Jni<'_>, tracker: &Tracker) {
    let _ = jni.framed(|| {
        let thread = tracker.ticker(jni).ok()?;
        agent.jvmti.run_agent_thread(thread, run).ok()
    });
}

/// The program has ended.
pub(crate) fn stop() {
    STOPPED.store(true, Ordering::Relaxed);
}

fn run(agent: &'static Agent, jni: Jni<'_>) {
    let Some(tracker) = agent.tracker.get() else {
        return;
    };
    let mut seed = u64::from(std::process::id()) << 1 | 1;
    while !STOPPED.load(Ordering::Relaxed) {
        std::thread::sleep(distance(&mut seed));
        if tracker.tick(jni).is_err() {
            return;
        }
    }
}

/// 0.5 to 1.5 ms by chance, lest ticks agree with a timer of the program's.
fn distance(seed: &mut u64) -> Duration {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    Duration::from_nanos(500_000 + (*seed >> 44))
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_are_a_millisecond_on_average() {
        let mut seed = 5;
        let distances: Vec<u128> = (0..10_000)
            .map(|_| distance(&mut seed).as_nanos())
            .collect();
        assert!(distances.iter().all(|d| (500_000..1_550_000).contains(d)));
        let mean = distances.iter().sum::<u128>() / 10_000;
        assert!((1_000_000..1_050_000).contains(&mean), "{mean}");
    }
}
