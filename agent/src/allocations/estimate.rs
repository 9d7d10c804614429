//! Estimates of the objects and bytes that samples stand for.

use loadhook_profile::Amount;

/// The number of objects and bytes that samples stand for, with their variances.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    pub(super) objects: f64,
    pub(super) bytes: f64,
    pub(super) objects_variance: f64,
    pub(super) bytes_variance: f64,
}

impl Estimate {
    /// Returns the estimate for exact numbers, without variance, for use when every object is recorded.
    pub(super) fn exactly(objects: u64, bytes: u64) -> Self {
        Estimate {
            objects: objects as f64,
            bytes: bytes as f64,
            ..Estimate::default()
        }
    }

    /// Returns the estimate from one sampled object of `size` bytes.
    ///
    /// The JVM draws the distance to the next sample from an exponential distribution of mean `interval`. So an object
    /// is sampled with the probability p = 1 − exp(−size/interval), and a sampled object stands for 1/p objects (the
    /// estimator of Horvitz and Thompson).
    pub(super) fn of(size: u64, interval: i32) -> Self {
        let size = size as f64;
        let probability = -(-size / f64::from(interval)).exp_m1();
        let weight = 1.0 / probability;
        let variance = (1.0 - probability) * weight * weight;
        Estimate {
            objects: weight,
            bytes: weight * size,
            objects_variance: variance,
            bytes_variance: variance * size * size,
        }
    }

    /// Returns the estimate on JDK 11 from one sampled object of `size` bytes, after a sampled object of `previous`
    /// bytes.
    ///
    /// After a sample, JDK 11 draws the distance in bytes to the next sample, and subtracts the size of the object that
    /// was just sampled. A distance that is smaller than this size should be drawn again, but JDK 11 uses it without
    /// subtracting. So the next sample comes too soon on average. A factor corrects the estimate. The estimate is exact
    /// if all objects since the previous sample have the same size.
    pub(super) fn following(previous: u64, size: u64, interval: i32) -> Self {
        let interval_bytes = f64::from(interval);
        let beyond = (-(previous as f64) / interval_bytes).exp();
        let objects = previous.div_ceil(size.max(1)) as f64;
        let one = size as f64 / interval_bytes;
        let factor = 1.0 + beyond - (-objects * one).exp() + objects * (-one).exp_m1() * beyond;
        let Estimate {
            objects,
            bytes,
            objects_variance,
            bytes_variance,
        } = Estimate::of(size, interval);
        Estimate {
            objects: factor * objects,
            bytes: factor * bytes,
            objects_variance: factor * factor * objects_variance,
            bytes_variance: factor * factor * bytes_variance,
        }
    }

    pub(super) fn add(&mut self, other: Estimate) {
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.objects_variance += other.objects_variance;
        self.bytes_variance += other.bytes_variance;
    }

    pub(super) fn amount(self) -> Amount {
        Amount {
            objects: self.objects,
            bytes: Some(self.bytes),
            objects_variance: self.objects_variance,
            bytes_variance: self.bytes_variance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a function that draws random distances, the same in every run of the tests.
    fn distances(interval: i32) -> impl FnMut() -> f64 {
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let uniform = ((random >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            -uniform.ln() * f64::from(interval)
        }
    }

    const INTERVAL: i32 = 1000;
    const OBJECTS: u32 = 500;
    const RUNS: u32 = 400;

    /// Calls `run` `RUNS` times. Each call estimates the number of `OBJECTS` objects of `size` bytes. Returns the mean
    /// error, the mean squared error, and the mean of the variances that the estimates state.
    fn errors(size: u64, mut run: impl FnMut() -> Estimate) -> (f64, f64, f64) {
        let (mut sum, mut squares, mut variance) = (0.0, 0.0, 0.0);
        for _ in 0..RUNS {
            let estimate = run();
            let error = estimate.objects - f64::from(OBJECTS);
            sum += error;
            squares += error * error;
            variance += estimate.objects_variance;
            assert!((estimate.bytes - estimate.objects * size as f64).abs() < 1e-3);
        }
        let runs = f64::from(RUNS);
        (sum / runs, squares / runs, variance / runs)
    }

    #[test]
    fn estimates_are_unbiased() {
        let mut distance = distances(INTERVAL);
        for size in [16, 400, 1000, 5000] {
            let (error, squares, variance) = errors(size, || {
                let mut estimate = Estimate::default();
                let mut left = distance();
                for _ in 0..OBJECTS {
                    left -= size as f64;
                    if left < 0.0 {
                        estimate.add(Estimate::of(size, INTERVAL));
                        left = distance();
                    }
                }
                estimate
            });
            let expected = (squares / f64::from(RUNS)).sqrt();
            assert!(error.abs() < 3.0 * expected, "{size}: {error}");
            let ratio = variance / squares;
            assert!(
                size == 5000 || (0.8..1.25).contains(&ratio),
                "{size}: {ratio}"
            );
        }
    }

    /// Takes samples in the way in which JDK 11 takes them.
    #[test]
    fn samples_that_come_too_soon_count_less() {
        let mut distance = distances(INTERVAL);
        for size in [16, 64, 400, 1000, 2000, 5000] {
            let (error, squares, _) = errors(size, || {
                let mut estimate = Estimate::default();
                let (mut left, mut previous) = (distance(), 0);
                for _ in 0..OBJECTS {
                    left -= size as f64;
                    if left < 0.0 {
                        estimate.add(Estimate::following(previous, size, INTERVAL));
                        previous = size;
                        left = distance();
                        if left > size as f64 {
                            left -= size as f64;
                        }
                    }
                }
                estimate
            });
            let expected = (squares / f64::from(RUNS)).sqrt();
            assert!(error.abs() < 3.0 * expected, "{size}: {error} {expected}");
        }
    }
}
