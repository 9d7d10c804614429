//! Runs a thread that writes the time into memory about every millisecond. The tracker reads this memory.
//!
//! The thread is not a thread of the JVM. So it is in no list of threads, and it runs even while the JVM is stopped. If
//! ticks are late, times are less precise, but not wrong.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use loadhook_settings::Timing;

use crate::locks::lock;
use crate::options::Options;

/// The last tick, the tick before it, and the [spread](Distances::spread). All are 0 at first.
static TICKS: [AtomicI32; 3] = [const { AtomicI32::new(0) }; 3];

/// Binary logarithm of the number of nanoseconds in the unit of ticks. The value of a tick is even.
const SHIFT: u32 = 13;

/// Nanoseconds by which `System.nanoTime()` is ahead of the system's monotonic clock.
static AHEAD: AtomicI64 = AtomicI64::new(0);

/// The thread, and the flag that ends it.
static TICKER: Mutex<Option<(Arc<AtomicBool>, JoinHandle<()>)>> = Mutex::new(None);

/// Returns the address of the ticks. `now` is the present value of `System.nanoTime()`.
pub(crate) fn address(now: i64) -> i64 {
    let own = monotonic();
    AHEAD.store(origin(own, now).wrapping_sub(own), Ordering::Relaxed);
    TICKS.as_ptr() as i64
}

/// Starts the thread if the tracker needs ticks.
pub(crate) fn start(options: &Options) {
    if options.timing != Some(Timing::Adaptive) {
        return;
    }
    let (began, own) = (Instant::now(), monotonic());
    let origin = own.wrapping_add(AHEAD.load(Ordering::Relaxed));
    let ends = Arc::new(AtomicBool::new(false));
    let is_over = ends.clone();
    let ticker = thread::Builder::new()
        .name("loadhook-ticker".to_owned())
        .spawn(move || run(began, origin, &is_over));
    // If the thread cannot be started, the tracker's estimates have larger errors.
    *lock(&TICKER) = ticker.ok().map(|ticker| (ends, ticker));
}

/// Ends the thread. No ticks are written from now on.
pub(crate) fn stop() {
    let ticker = lock(&TICKER).take();
    if let Some((ends, thread)) = ticker {
        ends.store(true, Ordering::Relaxed);
        // The thread ends within a tick. A panic in it was logged.
        let _ = thread.join();
        for tick in &TICKS {
            tick.store(0, Ordering::Relaxed);
        }
    }
}

/// Returns the value of the JVM's clock at this moment. The system's clock shows `own`, and the JVM's clock showed
/// `now` a moment ago.
///
/// `now` is about 50 µs old, because the JVM has linked the native method since. If ticks were too early by more than
/// the tracker's limit, they would count for calls that are too short. HotSpot's clock is the system's clock, so
/// normally `own` is returned, which is exact. `now` is returned only if the JVM's clock has another origin.
fn origin(own: i64, now: i64) -> i64 {
    const SAME: u64 = 10_000_000_000;
    if own.abs_diff(now) < SAME { own } else { now }
}

fn monotonic() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Writes ticks until the agent leaves.
fn run(began: Instant, origin: i64, is_over: &AtomicBool) {
    let mut seed = u64::from(std::process::id()) << 1 | 1;
    let mut distances = Distances::new();
    let mut elapsed = began.elapsed();
    let [last, before, spread] = &TICKS;
    while !is_over.load(Ordering::Relaxed) {
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

/// Moving means over about the last 256 distances between ticks: of the distances in milliseconds,
/// of their squares, and of their cubes.
struct Distances([f64; 3]);

impl Distances {
    /// Makes the means for the time before any distance is measured: the expected values of what [`distance`] draws.
    fn new() -> Self {
        Self([1.0, 13.0 / 12.0, 1.25])
    }

    fn add(&mut self, distance: Duration) {
        let x = distance.as_secs_f64() * 1e3;
        for (mean, power) in self.0.iter_mut().zip([x, x * x, x * x * x]) {
            *mean += (power - *mean) / 256.0;
        }
    }

    /// Returns the standard deviation, in nanoseconds, of the error of an interval that is measured by ticks.
    ///
    /// This error is the difference of the ages of the interval's ends. The age of a moment is the time between the
    /// last tick and the moment. Long distances between ticks weigh more, because more moments fall into them.
    fn spread(&self) -> i32 {
        let [mean, square, cube] = self.0;
        let age = square / (2.0 * mean);
        let variance = 2.0 * (cube / (3.0 * mean) - age * age);
        (variance.max(0.0).sqrt() * 1e6) as i32
    }
}

/// Converts a time to a tick: the nearest multiple of two units, but never 0.
fn tick(now: i64) -> i32 {
    match (now.wrapping_add(1 << SHIFT) >> SHIFT) as i32 & !1 {
        0 => 2,
        tick => tick,
    }
}

/// Draws a distance of 0.5 to 1.5 ms, so that ticks do not run in step with a timer of the program.
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
        // With ticks at equal distances, ages are evenly distributed from 0 to this distance.
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
