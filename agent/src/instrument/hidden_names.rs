//! Names of hidden classes.
//!
//! The JVM appends an address to the name that is in the bytes of a hidden class: after a dot, or with JDK 11 an
//! address or a number after a slash. The address differs in every run.

/// The name in the bytes of a hidden class, from the internal name that the JVM gives it; `None` for another class.
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

/// The internal name of any class, without the address of a hidden class.
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
