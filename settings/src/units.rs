//! Numbers of bytes with units, as users write them: `64k`, `2m`.

/// Letters of the units and their exponents of two, the smallest first.
const UNITS: &[(char, u32)] = &[('k', 10), ('m', 20), ('g', 30)];

/// Reads a number of bytes, which may end in one of the letters in `units`.
///
/// The letters are `k`, `m` and `g`, in either case: 1024, its square and its cube.
///
/// ```
/// use loadhook_settings::units::parse_bytes;
///
/// assert_eq!(parse_bytes("64k", "kmg"), Some(65_536));
/// assert_eq!(parse_bytes("2g", "km"), None);
/// ```
pub fn parse_bytes(text: &str, units: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let shift = if unit.is_empty() {
        0
    } else {
        let mut allowed = UNITS.iter().filter(|(letter, _)| units.contains(*letter));
        let is_unit = |letter: char| unit.eq_ignore_ascii_case(letter.encode_utf8(&mut [0; 4]));
        allowed.find(|(letter, _)| is_unit(*letter))?.1
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Writes a number of bytes so that [`parse_bytes`] reads the same number, with the
/// largest of the `units` that divides it.
pub fn format_bytes(bytes: u64, units: &str) -> String {
    let allowed = UNITS.iter().filter(|(letter, _)| units.contains(*letter));
    let divides = |shift: u32| bytes != 0 && bytes.trailing_zeros() >= shift;
    match allowed.rev().find(|(_, shift)| divides(*shift)) {
        Some((letter, shift)) => format!("{}{letter}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, expected, shortest) in [
            ("0", 0, "0"),
            ("17", 17, "17"),
            ("3k", 3072, "3k"),
            ("512M", 512 << 20, "512m"),
            ("2048m", 2 << 30, "2g"),
        ] {
            assert_eq!(parse_bytes(text, "kmg"), Some(expected), "{text}");
            assert_eq!(format_bytes(expected, "kmg"), shortest);
        }
        for wrong in ["", "k", "-1", "1.5g", "1kb", "99999999999g", "1 k", "1µ"] {
            assert_eq!(parse_bytes(wrong, "kmg"), None, "{wrong}");
        }
        assert_eq!(parse_bytes("1g", "km"), None);
        assert_eq!(format_bytes(2 << 30, "km"), "2048m");
    }
}
