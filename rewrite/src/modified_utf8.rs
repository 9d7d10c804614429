//! Modified UTF-8 (JVMS §4.4.7), the form of every string in a class file:
//! decoded, encoded, and printed safely.

use std::fmt::{self, Write};

/// Maximum number of characters that [`short`] prints. Without this limit, the text of a class of 200 KB could
/// have gigabytes if the class refers to one long constant very often.
const LONGEST: usize = 500;

/// Decodes modified UTF-8 (JVMS §4.4.7). A lone surrogate, and each byte that
/// is not modified UTF-8, becomes U+FFFD.
pub fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((unit, behind)) = next(rest) {
        text.push(match unit {
            Unit::Char(c) => c,
            Unit::Surrogate(_) | Unit::Byte(_) => char::REPLACEMENT_CHARACTER,
        });
        rest = behind;
    }
    text
}

/// Encodes `text` in modified UTF-8, the form of strings in class files.
pub fn modified_utf8(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => bytes.extend([0xc0, 0x80]),
            '\u{10000}'.. => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let six = |shift: u32| (*unit >> shift) as u8 & 0x3f | 0x80;
                    bytes.extend([(*unit >> 12) as u8 | 0xe0, six(6), six(0)]);
                }
            }
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

/// Prints modified UTF-8 (JVMS §4.4.7) as text on one line, safe for a terminal.
///
/// Control characters, invisible formatting characters, lone surrogates and
/// the backslash are escaped as in Java source. Bytes that are not modified
/// UTF-8 are written `\x80`. A blank at either end is also escaped, so that an editor cannot remove
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Display<'a> {
    bytes: &'a [u8],
    quote: bool,
    longest: usize,
}

/// Returns all of `bytes` as printable text.
pub fn display(bytes: &[u8]) -> Display<'_> {
    Display {
        bytes,
        quote: false,
        longest: usize::MAX,
    }
}

/// Returns `bytes` as printable text of at most 500 characters. A longer string is cut, and followed by its
/// length in bytes and a hash of the whole string.
pub(crate) fn short(bytes: &[u8]) -> Display<'_> {
    Display {
        longest: LONGEST,
        ..display(bytes)
    }
}

/// Does the same as [`short`], and adds double quotes.
pub(crate) fn quoted(bytes: &[u8]) -> Display<'_> {
    Display {
        quote: true,
        ..short(bytes)
    }
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quote {
            f.write_char('"')?;
        }
        let mut rest = self.bytes;
        let mut written = 0;
        while let Some((unit, behind)) = next(rest) {
            if written == self.longest {
                let (len, hash) = (self.bytes.len(), fnv_1a(self.bytes));
                write!(f, "… ({len} bytes, FNV-1a {hash:016x})")?;
                break;
            }
            let at_an_end = written == 0 || behind.is_empty();
            match unit {
                Unit::Char('"') if self.quote => f.write_str("\\\"")?,
                Unit::Char('\\') => f.write_str("\\\\")?,
                Unit::Char(' ') if at_an_end && !self.quote => f.write_str("\\u0020")?,
                Unit::Char(c) if is_printable(c) => f.write_char(c)?,
                Unit::Char(c) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        write!(f, "\\u{unit:04x}")?;
                    }
                }
                Unit::Surrogate(unit) => write!(f, "\\u{unit:04x}")?,
                Unit::Byte(byte) => write!(f, "\\x{byte:02x}")?,
            }
            written += 1;
            rest = behind;
        }
        if self.quote {
            f.write_char('"')?;
        }
        Ok(())
    }
}

fn is_printable(c: char) -> bool {
    // Unicode category Cc, then the formatting characters that are invisible
    // or change the direction of text.
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        )
        && !matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        && !matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

enum Unit {
    Char(char),
    /// One half of a surrogate pair without the other half.
    Surrogate(u16),
    /// A byte that is not the beginning of valid modified UTF-8.
    Byte(u8),
}

/// Returns the first character of `bytes`, and the bytes after it.
fn next(bytes: &[u8]) -> Option<(Unit, &[u8])> {
    let (&first, behind) = bytes.split_first()?;
    let Some((unit, len)) = code_unit(bytes) else {
        return Some((Unit::Byte(first), behind));
    };
    let behind = bytes.get(len..).unwrap_or_default();
    if let Some(c) = char::from_u32(u32::from(unit)) {
        return Some((Unit::Char(c), behind));
    }
    let pair = code_unit(behind).and_then(|(low, len)| {
        let c = char::decode_utf16([unit, low]).next()?.ok()?;
        Some((Unit::Char(c), behind.get(len..)?))
    });
    Some(pair.unwrap_or((Unit::Surrogate(unit), behind)))
}

/// Returns the UTF-16 code unit with which `bytes` begins, and its length in bytes.
fn code_unit(bytes: &[u8]) -> Option<(u16, usize)> {
    let low = |byte: u8| (byte & 0xc0 == 0x80).then_some(u16::from(byte & 0x3f));
    match *bytes {
        [a @ 0x01..=0x7f, ..] => Some((u16::from(a), 1)),
        [a @ 0xc0..=0xdf, b, ..] => {
            let unit = u16::from(a & 0x1f) << 6 | low(b)?;
            // Only NUL may have a longer form than necessary.
            (unit >= 0x80 || unit == 0).then_some((unit, 2))
        }
        [a @ 0xe0..=0xef, b, c, ..] => {
            let unit = u16::from(a & 0x0f) << 12 | low(b)? << 6 | low(c)?;
            (unit >= 0x800).then_some((unit, 3))
        }
        _ => None,
    }
}

/// Returns the 64-bit FNV-1a hash of `bytes`. It is printed instead of a long value, so that different values can
/// be told apart.
pub fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        display(bytes).to_string()
    }

    #[test]
    fn decodes_modified_utf8() {
        assert_eq!(shown("Größe 値".as_bytes()), "Größe 値");
        // NUL, and U+1F600 as a surrogate pair (CESU-8).
        assert_eq!(shown(b"a\xc0\x80b"), "a\\u0000b");
        assert_eq!(shown(b"\xed\xa0\xbd\xed\xb8\x80"), "\u{1f600}");
    }

    #[test]
    fn escapes_invisible_characters() {
        assert_eq!(shown(b"a\nb\\n\x1b[0m"), "a\\u000ab\\\\n\\u001b[0m");
        assert_eq!(shown("\u{202e}".as_bytes()), "\\u202e");
        assert_eq!(shown(b" a b "), "\\u0020a b\\u0020");
        assert_eq!(quoted(b" \"").to_string(), "\" \\\"\"");
        // Lone surrogates, both halves in the wrong order among them.
        assert_eq!(shown(b"\xed\xa0\xbd!"), "\\ud83d!");
        assert_eq!(shown(b"\xed\xb8\x80\xed\xa0\xbd"), "\\ude00\\ud83d");
    }

    #[test]
    fn shows_bytes_that_are_no_modified_utf8() {
        assert_eq!(shown(b"\x00"), "\\x00");
        assert_eq!(shown(b"\xf0\x9f\x98\x80"), "\\xf0\\x9f\\x98\\x80");
        assert_eq!(shown(b"a\xc3"), "a\\xc3");
        assert_eq!(shown(b"\xe2\x82"), "\\xe2\\x82");
        // Forms that are longer than necessary.
        assert_eq!(shown(b"\xc1\x81"), "\\xc1\\x81");
        assert_eq!(shown(b"\xe0\x80\x80"), "\\xe0\\x80\\x80");
    }

    #[test]
    fn cuts_long_values_but_keeps_them_distinct() {
        let (a, b) = ([b'a'; 600], [b'a'; 601]);
        let long = short(&a).to_string();
        assert!(long.len() < 550 && long.contains("(600 bytes, FNV-1a "));
        assert_ne!(long, short(&b).to_string());
        assert_eq!(short(&a[..500]).to_string(), "a".repeat(500));
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn names_beyond_the_first_plane_are_read_and_written() {
        let smile: &[u8] = b"\xed\xa0\xbd\xed\xb8\x80";
        for (modified, plain) in [
            (b"Main$1".as_slice(), "Main$1"),
            ("Größe/値".as_bytes(), "Größe/値"),
            (b"a\xc0\x80b", "a\0b"),
            (smile, "\u{1f600}"),
            (b"\xed\xaf\xbf\xed\xbf\xbf", "\u{10ffff}"),
            (b"\xef\xbf\xbf", "\u{ffff}"),
        ] {
            assert_eq!(text(modified), plain);
            assert_eq!(modified_utf8(plain), modified);
        }
        // A lone surrogate, and plain UTF-8 of four bytes.
        assert_eq!(text(&smile[..3]), "\u{fffd}");
        assert_eq!(text("\u{1f600}".as_bytes()), "\u{fffd}".repeat(4));
    }
}
