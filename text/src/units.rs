//! Numbers with their units.

/// The text for an unknown number.
pub const UNKNOWN: &str = "–";

/// A unit of time or size. A column has one unit, so that its numbers can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The unit's name: `ms`, `MB`.
    pub name: &'static str,
    size: f64,
    decimals: usize,
}

/// The dimension of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
}

const fn unit(name: &'static str, size: f64, decimals: usize) -> Unit {
    Unit {
        name,
        size,
        decimals,
    }
}

const TIMES: [Unit; 4] = [
    unit("ns", 1.0, 0),
    unit("µs", 1e3, 1),
    unit("ms", 1e6, 2),
    unit("s", 1e9, 3),
];

const BYTES: [Unit; 4] = [
    unit("bytes", 1.0, 0),
    unit("KB", 1024.0, 1),
    unit("MB", 1_048_576.0, 2),
    unit("GB", 1_073_741_824.0, 3),
];

impl Unit {
    /// Returns the largest unit in which the column's largest number is at least ten.
    pub fn for_largest(largest: f64, quantity: Quantity) -> Unit {
        let units = match quantity {
            Quantity::Time => &TIMES,
            Quantity::Bytes => &BYTES,
        };
        let fits = |unit: &&Unit| largest >= 10.0 * unit.size;
        *units.iter().rev().find(fits).unwrap_or(&units[0])
    }

    /// Formats nanoseconds or bytes in this unit, without the unit's name.
    pub fn number(&self, value: f64) -> String {
        decimal(value / self.size, self.decimals)
    }
}

/// Formats nanoseconds in a suitable unit, with three digits: `1.23 µs`, `456 ns`.
pub fn time(ns: f64) -> String {
    let fits = |unit: &&Unit| ns >= 0.9995 * unit.size;
    let unit = TIMES.iter().rev().find(fits).unwrap_or(&TIMES[0]);
    let value = ns / unit.size;
    let decimals = match value {
        0.0 => 0,
        _ if unit.decimals == 0 && value >= 9.95 => 0,
        _ if unit.decimals == 0 => 1,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{} {}", decimal(value, decimals), unit.name)
}

/// Formats a number with this many decimals, and its digits in groups of three: `1234.5` with one
/// decimal is `1,234.5`.
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let end = text.find('.').unwrap_or(text.len());
    let mut grouped = String::with_capacity(text.len() + end / 3);
    for (at, digit) in text.char_indices() {
        let group = at > 0 && at < end && (end - at).is_multiple_of(3);
        if group && digit.is_ascii_digit() && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a count with its digits in groups of three: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns the noun after a number: `one` after 1, `several` after every other number.
pub fn noun<'n>(number: u64, one: &'n str, several: &'n str) -> &'n str {
    if number == 1 { one } else { several }
}

/// Formats a number with its noun: `1 class`, `1,234 classes`.
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(number), noun(number, one, several))
}

/// Formats bytes in a suitable unit, which is a power of 1024: `12.4 MB`.
pub fn bytes(value: u64) -> String {
    let mut rest = value as f64;
    for unit in ["bytes", "KB", "MB", "GB"] {
        if rest < 1023.5 || unit == "GB" {
            let decimals = usize::from(unit != "bytes" && rest < 99.95);
            let unit = if value == 1 { "byte" } else { unit };
            return format!("{} {unit}", decimal(rest, decimals));
        }
        rest /= 1024.0;
    }
    unreachable!("the last unit takes every number");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let cases = [
            (0.0, "0 ns"),
            (4.56, "4.6 ns"),
            (456.4, "456 ns"),
            (999.9, "1.00 µs"),
            (1_234.0, "1.23 µs"),
            (12_345.0, "12.3 µs"),
            (123_456.0, "123 µs"),
            (9_996_000.0, "10.0 ms"),
            (7_200e9, "7,200 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn columns_share_a_unit() {
        let time = |largest| Unit::for_largest(largest, Quantity::Time);
        assert_eq!(time(0.0).name, "ns");
        assert_eq!(time(9_999.0).name, "ns");
        assert_eq!(time(10_000.0).name, "µs");
        let megabytes = Unit::for_largest(1e8, Quantity::Bytes);
        assert_eq!((megabytes.name, &*megabytes.number(1e8)), ("MB", "95.37"));
        let unit = time(9e9);
        assert_eq!(unit.number(9e9), "9,000.00");
        assert_eq!(unit.number(12_000.0), "0.01");
    }

    #[test]
    fn digits_are_grouped_in_threes() {
        assert_eq!(count(0), "0");
        assert_eq!(count(123), "123");
        assert_eq!(count(1_234), "1,234");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(decimal(-123.0, 0), "-123");
        assert_eq!(decimal(-1234.5, 1), "-1,234.5");
    }

    #[test]
    fn only_one_has_the_singular() {
        let nouns = [0, 1, 2].map(|number| noun(number, "class", "classes"));
        assert_eq!(nouns, ["classes", "class", "classes"]);
        assert_eq!(counted(1, "class", "classes"), "1 class");
        assert_eq!(counted(1_234, "class", "classes"), "1,234 classes");
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(4096), "4.0 KB");
        assert_eq!(bytes(1 << 40), "1,024 GB");
    }
}
