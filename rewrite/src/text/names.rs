//! Modified UTF-8 and access flags, as text.

use std::fmt::{self, Write};

/// Where a string printed beside an index is cut: without a bound, a class of
/// 200 KB that names one long constant often enough has gigabytes of text.
const LONGEST: usize = 500;

/// Modified UTF-8 (JVMS §4.4.7) as text, on one line and without surprises
/// for a terminal.
///
/// Control and invisible formatting characters, lone surrogates and the
/// backslash are escaped as in Java source; bytes that are no modified UTF-8
/// are written `\x80`. Blanks at both ends are escaped too, so that an editor
/// cannot lose them.
#[derive(Clone, Copy, Debug)]
pub struct Display<'a> {
    bytes: &'a [u8],
    quote: bool,
    longest: usize,
}

/// All of `bytes` as text.
pub fn display(bytes: &[u8]) -> Display<'_> {
    Display {
        bytes,
        quote: false,
        longest: usize::MAX,
    }
}

/// `bytes` as text; of very long ones the beginning, length and a hash.
pub(super) fn short(bytes: &[u8]) -> Display<'_> {
    Display {
        longest: LONGEST,
        ..display(bytes)
    }
}

/// As [`short`], between double quotes.
pub(super) fn quoted(bytes: &[u8]) -> Display<'_> {
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
    // Cc, then the formatting characters that hide or turn text around.
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        )
        && !matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        && !matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// What modified UTF-8 is made of.
pub(crate) enum Unit {
    Char(char),
    Surrogate(u16),
    Byte(u8),
}

/// The first character of `bytes`, and what follows it.
pub(crate) fn next(bytes: &[u8]) -> Option<(Unit, &[u8])> {
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

/// The UTF-16 code unit that `bytes` begins with, and how many bytes it has.
fn code_unit(bytes: &[u8]) -> Option<(u16, usize)> {
    let low = |byte: u8| (byte & 0xc0 == 0x80).then_some(u16::from(byte & 0x3f));
    match *bytes {
        [a @ 0x01..=0x7f, ..] => Some((u16::from(a), 1)),
        [a @ 0xc0..=0xdf, b, ..] => {
            let unit = u16::from(a & 0x1f) << 6 | low(b)?;
            // Only NUL is written longer than it need be.
            (unit >= 0x80 || unit == 0).then_some((unit, 2))
        }
        [a @ 0xe0..=0xef, b, c, ..] => {
            let unit = u16::from(a & 0x0f) << 12 | low(b)? << 6 | low(c)?;
            (unit >= 0x800).then_some((unit, 3))
        }
        _ => None,
    }
}

/// A hash that tells whether two long values differ (FNV-1a, 64 bits).
pub fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Access flags: the number, then the words of the specification.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    flags: u16,
    words: &'static [(u16, &'static str)],
}

impl Flags {
    /// Of a class (JVMS table 4.1-B).
    pub(super) const CLASS: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0010, "ACC_FINAL"),
        (0x0020, "ACC_SUPER"),
        (0x0200, "ACC_INTERFACE"),
        (0x0400, "ACC_ABSTRACT"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x2000, "ACC_ANNOTATION"),
        (0x4000, "ACC_ENUM"),
        (0x8000, "ACC_MODULE"),
    ];
    /// Of a field (JVMS table 4.5-A).
    pub(super) const FIELD: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0002, "ACC_PRIVATE"),
        (0x0004, "ACC_PROTECTED"),
        (0x0008, "ACC_STATIC"),
        (0x0010, "ACC_FINAL"),
        (0x0040, "ACC_VOLATILE"),
        (0x0080, "ACC_TRANSIENT"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x4000, "ACC_ENUM"),
    ];
    /// Of a method (JVMS table 4.6-A).
    pub(super) const METHOD: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0002, "ACC_PRIVATE"),
        (0x0004, "ACC_PROTECTED"),
        (0x0008, "ACC_STATIC"),
        (0x0010, "ACC_FINAL"),
        (0x0020, "ACC_SYNCHRONIZED"),
        (0x0040, "ACC_BRIDGE"),
        (0x0080, "ACC_VARARGS"),
        (0x0100, "ACC_NATIVE"),
        (0x0400, "ACC_ABSTRACT"),
        (0x0800, "ACC_STRICT"),
        (0x1000, "ACC_SYNTHETIC"),
    ];
    /// Of an inner class (JVMS table 4.7.6-A).
    pub(super) const INNER_CLASS: &'static [(u16, &'static str)] = &[
        (0x0001, "ACC_PUBLIC"),
        (0x0002, "ACC_PRIVATE"),
        (0x0004, "ACC_PROTECTED"),
        (0x0008, "ACC_STATIC"),
        (0x0010, "ACC_FINAL"),
        (0x0200, "ACC_INTERFACE"),
        (0x0400, "ACC_ABSTRACT"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x2000, "ACC_ANNOTATION"),
        (0x4000, "ACC_ENUM"),
    ];
    /// Of a parameter, a module, an `exports` or an `opens` (JVMS §4.7.24,
    /// §4.7.25).
    pub(super) const MANDATED: &'static [(u16, &'static str)] = &[
        (0x0010, "ACC_FINAL"),
        (0x0020, "ACC_OPEN"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x8000, "ACC_MANDATED"),
    ];
    /// Of a `requires` (JVMS §4.7.25).
    pub(super) const REQUIRES: &'static [(u16, &'static str)] = &[
        (0x0020, "ACC_TRANSITIVE"),
        (0x0040, "ACC_STATIC_PHASE"),
        (0x1000, "ACC_SYNTHETIC"),
        (0x8000, "ACC_MANDATED"),
    ];

    pub(super) fn new(flags: u16, words: &'static [(u16, &'static str)]) -> Self {
        Flags { flags, words }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.flags)?;
        let mut rest = self.flags;
        for &(flag, word) in self.words {
            if self.flags & flag != 0 {
                write!(f, " {word}")?;
                rest &= !flag;
            }
        }
        match rest {
            0 => Ok(()),
            unknown => write!(f, " 0x{unknown:04x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        display(bytes).to_string()
    }

    #[test]
    fn decodes_modified_utf8() {
        assert_eq!(text("Größe 値".as_bytes()), "Größe 値");
        // NUL, and U+1F600 as a surrogate pair (CESU-8).
        assert_eq!(text(b"a\xc0\x80b"), "a\\u0000b");
        assert_eq!(text(b"\xed\xa0\xbd\xed\xb8\x80"), "\u{1f600}");
    }

    #[test]
    fn escapes_what_would_not_show() {
        assert_eq!(text(b"a\nb\\n\x1b[0m"), "a\\u000ab\\\\n\\u001b[0m");
        assert_eq!(text("\u{202e}".as_bytes()), "\\u202e");
        assert_eq!(text(b" a b "), "\\u0020a b\\u0020");
        assert_eq!(quoted(b" \"").to_string(), "\" \\\"\"");
        // Lone surrogates, both halves in the wrong order among them.
        assert_eq!(text(b"\xed\xa0\xbd!"), "\\ud83d!");
        assert_eq!(text(b"\xed\xb8\x80\xed\xa0\xbd"), "\\ude00\\ud83d");
    }

    #[test]
    fn shows_bytes_that_are_no_modified_utf8() {
        assert_eq!(text(b"\x00"), "\\x00");
        assert_eq!(text(b"\xf0\x9f\x98\x80"), "\\xf0\\x9f\\x98\\x80");
        assert_eq!(text(b"a\xc3"), "a\\xc3");
        assert_eq!(text(b"\xe2\x82"), "\\xe2\\x82");
        // Longer than need be.
        assert_eq!(text(b"\xc1\x81"), "\\xc1\\x81");
        assert_eq!(text(b"\xe0\x80\x80"), "\\xe0\\x80\\x80");
    }

    #[test]
    fn cuts_long_values_but_tells_them_apart() {
        let (a, b) = ([b'a'; 600], [b'a'; 601]);
        let long = short(&a).to_string();
        assert!(long.len() < 550 && long.contains("(600 bytes, FNV-1a "));
        assert_ne!(long, short(&b).to_string());
        assert_eq!(short(&a[..500]).to_string(), "a".repeat(500));
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn flags_have_words() {
        assert_eq!(
            Flags::new(0x0031, Flags::CLASS).to_string(),
            "0x0031 ACC_PUBLIC ACC_FINAL ACC_SUPER"
        );
        assert_eq!(
            Flags::new(0x8002, Flags::METHOD).to_string(),
            "0x8002 ACC_PRIVATE 0x8000"
        );
    }
}
