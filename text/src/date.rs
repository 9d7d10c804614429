//! Dates in UTC.
//!
//! Dates come from files, so they may be any number. A number outside of the years that [`jiff`]
//! supports is written as a number.

use jiff::Timestamp;

/// Formats milliseconds since 1970 as `2026-11-22 14:34:14 UTC`.
pub fn utc(epoch_millis: u64) -> String {
    let timestamp = i64::try_from(epoch_millis)
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok());
    match timestamp {
        Some(timestamp) => timestamp.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        None => format!("{epoch_millis} ms after 1970"),
    }
}

/// Formats nanoseconds since 1970 as `2026-11-22 14:34:14.123456`, in UTC.
pub fn utc_micros(epoch_nanos: u64) -> String {
    let timestamp = i64::try_from(epoch_nanos / 1000)
        .ok()
        .and_then(|micros| Timestamp::from_microsecond(micros).ok());
    match timestamp {
        Some(timestamp) => timestamp.strftime("%Y-%m-%d %H:%M:%S.%6f").to_string(),
        None => format!("{epoch_nanos} ns after 1970"),
    }
}

/// Formats seconds since 1970 as C's `asctime` does, in UTC: `Wed Oct  7 11:38:10 1998`.
///
/// Times before 1970 become the first second of 1970.
pub fn asctime(epoch_seconds: i64) -> String {
    let epoch_seconds = epoch_seconds.max(0);
    match Timestamp::from_second(epoch_seconds) {
        Ok(timestamp) => timestamp.strftime("%a %b %e %H:%M:%S %Y").to_string(),
        Err(_) => format!("{epoch_seconds} s after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::{asctime, utc, utc_micros};

    #[test]
    fn microseconds_are_shown() {
        assert_eq!(
            utc_micros(951_782_399_123_456_789),
            "2000-02-28 23:59:59.123456"
        );
        assert_eq!(utc_micros(0), "1970-01-01 00:00:00.000000");
    }

    #[test]
    fn milliseconds_are_cut_off() {
        for (millis, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399_999, "2000-02-28 23:59:59 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (951_868_800_000, "2000-03-01 00:00:00 UTC"),
            (1_795_358_054_000, "2026-11-22 14:34:14 UTC"),
            (u64::MAX, "18446744073709551615 ms after 1970"),
        ] {
            assert_eq!(utc(millis), text);
        }
    }

    #[test]
    fn days_of_the_month_have_two_columns() {
        for (seconds, text) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            // The example in the manual of HPROF.
            (907_760_290, "Wed Oct  7 11:38:10 1998"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_798_761_599, "Thu Dec 31 23:59:59 2026"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
            (-1, "Thu Jan  1 00:00:00 1970"),
            (i64::MAX, "9223372036854775807 s after 1970"),
        ] {
            assert_eq!(asctime(seconds), text);
        }
    }
}
