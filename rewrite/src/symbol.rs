//! What a profile shows of a class and its methods.

use crate::class::{ClassFile, Member};
use crate::code::line_table;
use crate::error::Place;
use crate::text::{Unit, next};

/// A name or descriptor in modified UTF-8 (JVMS §4.4.7); lone surrogates and
/// what is no modified UTF-8 become U+FFFD.
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

/// The same name in modified UTF-8, as class files have it.
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

/// An internal name as Java writes it: `com.example.Service`.
pub fn java_name(internal: &[u8]) -> String {
    text(internal).replace('/', ".")
}

/// The line of a method's first instruction, if its line table tells.
pub fn first_line(method: &Member<'_, '_>) -> Option<u16> {
    let entries = lines(method)?.into_iter();
    entries.min_by_key(|entry| entry.0).map(|entry| entry.1)
}

/// The line of the instruction at this offset of a method's code, if its line
/// tables tell.
pub fn line_at(method: &Member<'_, '_>, bci: u16) -> Option<u16> {
    let entries = lines(method)?.into_iter();
    let before = entries.filter(|entry| entry.0 <= bci);
    before.max_by_key(|entry| entry.0).map(|entry| entry.1)
}

/// Offsets and lines of a method's first line table.
fn lines(method: &Member<'_, '_>) -> Option<Vec<(u16, u16)>> {
    let pool = method.class().pool();
    let code = method.code().ok()??;
    let table = code.attributes().map_while(Result::ok).find(|a| {
        pool.utf8(a.name_index)
            .is_ok_and(|n| n == b"LineNumberTable")
    })?;
    let entries = line_table::entries(table.reader(Place::In("LineNumberTable"))).ok()?;
    Some(entries.collect())
}

/// The name of the source file, if the class tells.
pub fn source_file(class: &ClassFile<'_>) -> Option<String> {
    let pool = class.pool();
    let attribute = class
        .attributes()
        .map_while(Result::ok)
        .find(|a| pool.utf8(a.name_index).is_ok_and(|n| n == b"SourceFile"))?;
    let index = attribute.reader(Place::Class).u2().ok()?;
    Some(text(pool.utf8(index).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(java_name(&[b"a/", smile].concat()), "a.\u{1f600}");
        // A lone surrogate, and what is plain UTF-8.
        assert_eq!(text(&smile[..3]), "\u{fffd}");
        assert_eq!(text("\u{1f600}".as_bytes()), "\u{fffd}".repeat(4));
    }
}
