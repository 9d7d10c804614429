//! How often snapshots are taken, as users write it.

use std::time::Duration;

/// What [`interval`] takes, for messages.
pub const INTERVAL: &str = "a time of at least 100ms, for example 500ms, 10s or 5m";

/// Reads a time between snapshots: a whole number with its unit, `ms`, `s` or
/// `m`, of 100 ms at least.
pub fn interval(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(millis)?;
    (millis >= 100).then(|| Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, millis) in [("100ms", 100), ("10s", 10_000), ("2m", 120_000)] {
            assert_eq!(interval(text), Some(Duration::from_millis(millis)));
        }
        for wrong in [
            "99ms",
            "1",
            "s",
            "-1s",
            "1.5s",
            "1h",
            "0m",
            "",
            "18446744073709551615m",
        ] {
            assert_eq!(interval(wrong), None, "{wrong}");
        }
    }
}
