//! Tells the tracker the time, about every millisecond.
//!
//! The thread is none of the VM's: no list of threads has it, and it goes on
//! while the VM is stopped. The tracker reads the memory it writes. Late ticks
//! cost precision, not correctness.

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::options::{Clock, Options, Timing};

/// The last tick and the one before; 0 until there is one.
static TICKS: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];

/// A unit of ticks is 2 to this power of nanoseconds. Ticks are even.
const SHIFT: u32 = 13;

/// Starts ticking if the tracker needs ticks and gives the memory's address,
/// else 0. `now` is what the VM's clock shows.
pub(crate) fn start(options: &Options, now: i64) -> i64 {
    if options.timing != Timing::Adaptive || options.clock != Clock::Wall {
        return 0;
    }
    let began = Instant::now();
    let ticker = thread::Builder::new()
        .name("loadhook-ticker".to_owned())
        .spawn(move || run(began, now));
    match ticker {
        Ok(_) => TICKS.as_ptr() as i64,
        // The tracker times as well as it can.
        Err(_) => 0,
    }
}

/// Until the process ends.
fn run(began: Instant, origin: i64) {
    let mut seed = u64::from(std::process::id()) << 1 | 1;
    let [last, before] = &TICKS;
    loop {
        thread::sleep(distance(&mut seed));
        let now = origin.wrapping_add(began.elapsed().as_nanos() as i64);
        before.store(last.load(Ordering::Relaxed), Ordering::Relaxed);
        last.store(tick(now), Ordering::Release);
    }
}

/// The nearest two units, but 0.
fn tick(now: i64) -> i32 {
    match (now.wrapping_add(1 << SHIFT) >> SHIFT) as i32 & !1 {
        0 => 2,
        tick => tick,
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
    use super::{distance, tick};

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

    #[test]
    fn ticks_wrap_around_and_are_never_0() {
        let unit = 1 << 13;
        let found = [0, 8191, 8192, -8193, (1 << 31) * unit, (1 << 32) * unit].map(tick);
        assert_eq!(found, [2, 2, 2, -2, i32::MIN, 2]);
    }
}
