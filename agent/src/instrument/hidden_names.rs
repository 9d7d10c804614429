//! Names of hidden classes.
//!
//! The JVM makes the name of a hidden class from the name in the class's bytes, and appends a dot and an address. JDK
//! 11 appends a slash and an address or a number. The address differs in every run.

/// Converts the internal name that the JVM gave a hidden class to the name in the class's bytes. Returns `None` for a
/// class that is not hidden.
pub(crate) fn plain_name(name: &[u8]) -> Option<&[u8]> {
    let separator = name.iter().rposition(|byte| matches!(byte, b'.' | b'/'));
    match separator.map(|at| name.split_at(at)) {
        Some((class, [_, b'0', b'x', ..])) => Some(class),
        Some((class, [b'/', first, rest @ ..]))
            if first.is_ascii_digit() && rest.iter().all(u8::is_ascii_digit) =>
        {
            Some(class)
        }
        _ => None,
    }
}

/// Returns the internal name of a class, without the address if the class is hidden.
pub(crate) fn without_address(name: &[u8]) -> &[u8] {
    plain_name(name).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_no_part_of_a_name() {
        for (name, plain) in [
            ("a/B.0x00007f00", "a/B"),
            ("a/B/0x00000001", "a/B"),
            ("a/B/2047526627", "a/B"),
            ("a/B", "a/B"),
            ("B", "B"),
            ("a/0xy/B", "a/0xy/B"),
        ] {
            assert_eq!(without_address(name.as_bytes()), plain.as_bytes());
        }
    }
}
