//! Tells the tracker the time, about every millisecond.
//!
//! The thread is none of the VM's: no list of threads has it, and it goes on
//! while the VM is stopped. The tracker reads the memory it writes. Late ticks
//! cost precision, not correctness.

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loadhook_settings::Timing;

use crate::options::Options;

/// The last tick and the one before, 0 until there is one, and the spread.
static TICKS: [AtomicI32; 3] = [const { AtomicI32::new(0) }; 3];

/// A unit of ticks is 2 to this power of nanoseconds. Ticks are even.
const SHIFT: u32 = 13;

/// Starts ticking if the tracker needs ticks and gives the memory's address,
/// else 0. `now` is what the VM's clock shows.
pub(crate) fn start(options: &Options, now: i64) -> i64 {
    if options.timing != Some(Timing::Adaptive) {
        return 0;
    }
    let began = Instant::now();
    let origin = origin(monotonic(), now);
    let ticker = thread::Builder::new()
        .name("loadhook-ticker".to_owned())
        .spawn(move || run(began, origin));
    match ticker {
        Ok(_) => TICKS.as_ptr() as i64,
        // The tracker times as well as it can.
        Err(_) => 0,
    }
}

/// What the VM's clock shows at this moment, when the system's shows `own`.
///
/// `now` is some 50 µs old, since the VM links the native method first, and a
/// tick that is early by more than the tracker's limit would be booked for calls
/// that are shorter. HotSpot's clock is the system's; a clock that counts from
/// somewhere else can only be taken as it was.
fn origin(own: i64, now: i64) -> i64 {
    const SAME: u64 = 10_000_000_000;
    match own.abs_diff(now) < SAME {
        true => own,
        false => now,
    }
}

fn monotonic() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Until the process ends.
fn run(began: Instant, origin: i64) {
    let mut seed = u64::from(std::process::id()) << 1 | 1;
    let mut distances = Distances::new();
    let mut elapsed = began.elapsed();
    let [last, before, spread] = &TICKS;
    loop {
        thread::sleep(distance(&mut seed));
        let now = began.elapsed();
        distances.add(now - elapsed);
        elapsed = now;
        spread.store(distances.spread(), Ordering::Relaxed);
        before.store(last.load(Ordering::Relaxed), Ordering::Relaxed);
        let now = origin.wrapping_add(now.as_nanos() as i64);
        last.store(tick(now), Ordering::Release);
    }
}

/// Moving means of the distances of about the last 256 ticks, in
/// milliseconds, of their squares and of their cubes.
struct Distances([f64; 3]);

impl Distances {
    /// Those of [`distance`], as long as nothing else is known.
    fn new() -> Self {
        Self([1.0, 13.0 / 12.0, 1.25])
    }

    fn add(&mut self, distance: Duration) {
        let x = distance.as_secs_f64() * 1e3;
        for (mean, power) in self.0.iter_mut().zip([x, x * x, x * x * x]) {
            *mean += (power - *mean) / 256.0;
        }
    }

    /// The standard deviation of what ticks say of a long interval, in
    /// nanoseconds: of the difference of two ages, an age being the time since
    /// the tick before a moment. A long distance has more moments in it.
    fn spread(&self) -> i32 {
        let [mean, square, cube] = self.0;
        let age = square / (2.0 * mean);
        let variance = 2.0 * (cube / (3.0 * mean) - age * age);
        (variance.max(0.0).sqrt() * 1e6) as i32
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
    use std::time::Duration;

    use super::{Distances, distance, origin, tick};

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
    fn the_spread_is_that_of_two_ages() {
        let mut seed = 5;
        let mut distances = Distances::new();
        assert!((490_000..500_000).contains(&distances.spread()));
        for _ in 0..10_000 {
            distances.add(distance(&mut seed));
        }
        let even = distances.spread();
        assert!((450_000..550_000).contains(&even), "{even}");
        // Ticks of one distance: an age is anything up to it.
        for _ in 0..10_000 {
            distances.add(Duration::from_millis(12));
        }
        let regular = distances.spread();
        let expected = 12e6 / 6_f64.sqrt();
        assert!(
            (f64::from(regular) / expected - 1.0).abs() < 0.01,
            "{regular}"
        );
        distances.add(Duration::from_secs(3600));
        assert_eq!(distances.spread(), i32::MAX);
    }

    #[test]
    fn a_late_call_does_not_shift_the_clock() {
        assert_eq!(origin(5_000_050_000, 5_000_000_000), 5_000_050_000);
        assert_eq!(origin(-5_000, 1_000_000), -5_000);
        assert_eq!(
            origin(5_000_050_000, 123_456_000_000_000),
            123_456_000_000_000
        );
    }

    #[test]
    fn ticks_wrap_around_and_are_never_0() {
        let unit = 1 << 13;
        let found = [0, 8191, 8192, -8193, (1 << 31) * unit, (1 << 32) * unit].map(tick);
        assert_eq!(found, [2, 2, 2, -2, i32::MIN, 2]);
    }
}
