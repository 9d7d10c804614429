//! Names of files and entries as they are shown.

use std::fmt::Write;

/// A name fit to be printed: control characters, which could move a terminal's
/// cursor or look like another line, are written `\u{1b}`, bytes that are no
/// UTF-8 `\xe9`.
pub(crate) fn printable(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c.is_control() {
                true => out.extend(c.escape_default()),
                false => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("a String takes all");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn names_cannot_move_the_cursor() {
        assert_eq!(
            printable("a/é\u{1f600}$ .class".as_bytes()),
            "a/é\u{1f600}$ .class"
        );
        assert_eq!(printable(b"\x1b[2J\r\n"), "\\u{1b}[2J\\r\\n");
        assert_eq!(printable("\u{9b}2J".as_bytes()), "\\u{9b}2J");
        assert_eq!(printable(b"caf\xe9"), "caf\\xe9");
    }
}
