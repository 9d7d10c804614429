//! Escapes untrusted names, so that they are safe for a terminal.
//!
//! A class file, an archive or a thread can be named with an escape sequence that clears the
//! screen, with a line feed that looks like a second line of a report, or with a character that
//! reverses the direction of the text after it, so that `nur.efaS` reads as `Safe.run`.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes control characters and characters of direction, as `\n` or `\u{1b}`.
///
/// A backslash is not escaped, so the result is for reading, not for parsing.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(acts_on_others) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    push_printable(&mut escaped, text);
    Cow::Owned(escaped)
}

/// Does the same as [`printable`] for a name that may not be UTF-8. Invalid bytes are written as
/// `\xe9`.
pub fn printable_bytes(name: &[u8]) -> String {
    let mut escaped = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        push_printable(&mut escaped, chunk.valid());
        for byte in chunk.invalid() {
            write!(escaped, "\\x{byte:02x}").expect("writing to a String cannot fail");
        }
    }
    escaped
}

fn push_printable(escaped: &mut String, text: &str) {
    for char in text.chars() {
        if acts_on_others(char) {
            escaped.extend(char.escape_default());
        } else {
            escaped.push(char);
        }
    }
}

/// Returns whether a character is invisible and changes how other characters are shown. These are
/// Unicode's control characters, its marks, embeddings and isolates of direction, separators of
/// lines and paragraphs, spaces and joins without width, the byte order mark, anchors of
/// annotations, and tags.
///
/// Joiners of letters (U+200C, U+200D) and combining marks are not escaped, since words of many
/// scripts need them.
pub(crate) fn acts_on_others(char: char) -> bool {
    let is_invisible = matches!(
        char,
        '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    is_invisible || char.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("注文 é\\n"), "注文 é\\n");
        assert_eq!(
            printable("a\u{1b}[2Jb\nc\r\t\u{7f}\u{9b}é"),
            r"a\u{1b}[2Jb\nc\r\t\u{7f}\u{9b}é"
        );
    }

    #[test]
    fn characters_of_direction_are_escaped() {
        // A terminal would show "b.Safe.run".
        assert_eq!(printable("\u{202e}nur.efaS.b"), r"\u{202e}nur.efaS.b");
        for acts in
            "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202d}\u{2066}\u{2069}\u{feff}"
                .chars()
        {
            let text = format!("a{acts}b");
            let expected = format!("a{}b", acts.escape_unicode());
            assert_eq!(printable(&text), expected);
            assert_eq!(printable_bytes(text.as_bytes()), expected);
        }
        assert_eq!(printable("a\u{200d}b\u{301}"), "a\u{200d}b\u{301}");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for invisible in "\u{200b}\u{2060}\u{feff}\u{fff9}\u{e0001}\u{e007f}".chars() {
            let expected = format!("a{}b", invisible.escape_unicode());
            assert_eq!(printable(&format!("a{invisible}b")), expected);
        }
        assert_eq!(printable("a\u{200c}b\u{e0100}"), "a\u{200c}b\u{e0100}");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_escaped() {
        let plain = "a/é\u{1f600}$ .class";
        assert_eq!(printable_bytes(plain.as_bytes()), plain);
        assert_eq!(printable_bytes(b"\x1b[2J\r\n"), "\\u{1b}[2J\\r\\n");
        assert_eq!(printable_bytes("\u{9b}2J".as_bytes()), "\\u{9b}2J");
        assert_eq!(printable_bytes(b"caf\xe9"), "caf\\xe9");
    }
}
