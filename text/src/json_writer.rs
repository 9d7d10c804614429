//! Makes JSON safe for a terminal.

use std::io::{self, Write};
use std::str;

use crate::escape::acts_on_others;

/// A writer of JSON to `W`, with `\u` escapes for the characters that
/// [`printable`](crate::printable) escapes.
///
/// These characters occur only in strings. JSON has escapes for all characters in strings, so the
/// JSON means the same. Line feeds and tabs between values stay. Each write must have whole
/// characters, as the writes of `write!` and of `serde_json` do.
///
/// ```
/// use std::io::Write;
///
/// let mut out = Vec::new();
/// writeln!(loadhook_text::JsonWriter(&mut out), "[\"a\u{202e}b\"]")?;
/// assert_eq!(out, b"[\"a\\u202eb\"]\n");
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct JsonWriter<W>(pub W);

impl<W: Write> Write for JsonWriter<W> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        self.write_all(json)?;
        Ok(json.len())
    }

    fn write_all(&mut self, json: &[u8]) -> io::Result<()> {
        // `serde_json` itself escapes the control characters below U+0020. So JSON whose bytes are
        // all smaller than 0x7f needs no further escapes.
        if json.iter().all(|&byte| byte < 0x7f) {
            return self.0.write_all(json);
        }
        let mut rest = str::from_utf8(json).map_err(io::Error::other)?;
        while let Some(at) = rest.find(|char| char >= '\u{7f}' && acts_on_others(char)) {
            self.0.write_all(&rest.as_bytes()[..at])?;
            let mut after = rest[at..].chars();
            for unit in after.next().into_iter().flat_map(utf_16) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = after.as_str();
        }
        self.0.write_all(rest.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns the code units of a character in UTF-16, which JSON's escapes stand for.
fn utf_16(char: char) -> impl Iterator<Item = u16> {
    let mut units = [0; 2];
    let count = char.encode_utf16(&mut units).len();
    units.into_iter().take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str) -> String {
        let mut out = Vec::new();
        write!(JsonWriter(&mut out), "{json}").expect("writing to a Vec cannot fail");
        String::from_utf8(out).expect("the text is UTF-8")
    }

    #[test]
    fn only_characters_that_act_on_others_change() {
        let plain = "{\n\t\"é店\u{1f600}\": \"\\u001b\u{200d}\"\n}\n";
        assert_eq!(written(plain), plain);
        assert_eq!(
            written("\"é\u{7f}\u{9b}2J\u{202e}\u{e0041}\u{feff}\""),
            r#""é\u007f\u009b2J\u202e\udb40\udc41\ufeff""#
        );
    }

    #[test]
    fn half_a_character_is_an_error() {
        let written = JsonWriter(Vec::new()).write_all(&"é".as_bytes()[..1]);
        assert!(written.is_err());
    }
}
