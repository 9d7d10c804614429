//! Durations of the calls of traced methods in the replies of an agent.

use serde_json::{Map, Value, json};

/// The durations of a traced method's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The method, as `com.example.Service::handle`.
    pub method: String,
    /// Number of calls.
    pub calls: u64,
    /// Durations in nanoseconds that 50 %, 90 %, 99 % and 99.9 % of the calls do not exceed, then the longest duration.
    pub percentiles: [u64; 5],
}

/// The names of [`Latency::percentiles`].
const NAMES: [&str; 5] = ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"];

/// The shares of calls that [`Latency::percentiles`] stand for, in thousandths.
const SHARES: [u64; 5] = [500, 900, 990, 999, 1000];

impl Latency {
    /// Computes the percentiles of a method's calls. `counts` has the durations of the calls, the
    /// shortest first, each with its number of calls.
    pub fn of(method: String, counts: &[(u64, u64)]) -> Latency {
        let calls: u64 = counts.iter().map(|(_, calls)| calls).sum();
        let percentiles = SHARES.map(|share| {
            let mut left = (u128::from(calls) * u128::from(share)).div_ceil(1000);
            for (duration, calls) in counts {
                left = left.saturating_sub(u128::from(*calls));
                if left == 0 {
                    return *duration;
                }
            }
            0
        });
        Latency {
            method,
            calls,
            percentiles,
        }
    }

    /// Returns the JSON object.
    pub fn json(&self) -> Value {
        let mut object = json!({"method": self.method, "calls": self.calls});
        for (name, value) in NAMES.iter().zip(self.percentiles) {
            object[*name] = value.into();
        }
        object
    }

    pub(super) fn read(object: &Map<String, Value>) -> Option<Latency> {
        let number = |field: &str| object.get(field)?.as_u64();
        let mut percentiles = [0; 5];
        for (name, value) in NAMES.iter().zip(&mut percentiles) {
            *value = number(name)?;
        }
        Some(Latency {
            method: object.get("method")?.as_str()?.to_owned(),
            calls: number("calls")?,
            percentiles,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_counts() {
        let of = |counts: &[(u64, u64)]| Latency::of(String::new(), counts);
        assert_eq!(of(&[]).percentiles, [0; 5]);
        assert_eq!(of(&[(7, 1)]).percentiles, [7; 5]);
        let many = of(&[(1, 500), (2, 400), (3, 90), (4, 9), (5, 1)]);
        assert_eq!((many.calls, many.percentiles), (1000, [1, 2, 3, 4, 5]));
        assert_eq!(of(&[(1, 1), (9, 1)]).percentiles, [1, 9, 9, 9, 9]);
    }
}
