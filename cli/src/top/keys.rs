//! Keys from the bytes that a terminal sends.
//!
//! crossterm's reader is not used: it waits for the rest of an escape sequence, and the screen would stand still
//! meanwhile.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const ESC: u8 = 0x1b;

/// The longest escape sequence of a key.
const LONGEST: usize = 32;

/// Bytes from the terminal that have not been taken as keys yet.
#[derive(Default)]
pub(super) struct Keys(Vec<u8>);

/// The meaning of the first bytes in [`Keys`].
#[derive(Debug, PartialEq, Eq)]
enum Begin {
    /// The number of bytes that encode a key, and the key.
    Key(usize, KeyCode, KeyModifiers),
    /// The number of bytes of an unknown key.
    Unknown(usize),
    /// More bytes may come.
    Incomplete,
}

impl Keys {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Takes the next key. If no bytes have come for some time (`is_idle`), a lone escape byte counts as the Esc key,
    /// and an unfinished sequence is dropped.
    pub(super) fn next(&mut self, is_idle: bool) -> Option<KeyEvent> {
        loop {
            let (length, key) = match begin(&self.0) {
                Begin::Key(length, code, modifiers) => {
                    (length, Some(KeyEvent::new(code, modifiers)))
                }
                Begin::Unknown(length) => (length, None),
                Begin::Incomplete if !is_idle || self.0.is_empty() => return None,
                Begin::Incomplete if self.0 == [ESC] => (1, Some(KeyCode::Esc.into())),
                Begin::Incomplete => (self.0.len(), None),
            };
            self.0.drain(..length.min(self.0.len()));
            if key.is_some() {
                return key;
            }
        }
    }
}

fn begin(bytes: &[u8]) -> Begin {
    let plain = |code| Begin::Key(1, code, KeyModifiers::NONE);
    match *bytes {
        [] | [ESC] => Begin::Incomplete,
        [ESC, b'[' | b'O', ..] => sequence(bytes),
        [ESC, ..] => plain(KeyCode::Esc),
        [b'\r' | b'\n', ..] => plain(KeyCode::Enter),
        [b'\t', ..] => plain(KeyCode::Tab),
        [0x7f | 0x08, ..] => plain(KeyCode::Backspace),
        [letter @ 1..=26, ..] => {
            let letter = KeyCode::Char(char::from(b'a' - 1 + letter));
            Begin::Key(1, letter, KeyModifiers::CONTROL)
        }
        [0 | 0x1c..=0x1f, ..] => Begin::Unknown(1),
        _ => character(bytes),
    }
}

/// Reads a character in UTF-8 from the beginning of `bytes`.
fn character(bytes: &[u8]) -> Begin {
    let first = bytes.get(..4).unwrap_or(bytes);
    let text = match str::from_utf8(first) {
        Ok(text) => text,
        Err(error) => match (error.valid_up_to(), error.error_len()) {
            (0, None) => return Begin::Incomplete,
            (0, Some(length)) => return Begin::Unknown(length),
            (valid, _) => str::from_utf8(&first[..valid]).unwrap_or_default(),
        },
    };
    match text.chars().next() {
        Some(char) => Begin::Key(char.len_utf8(), KeyCode::Char(char), KeyModifiers::NONE),
        None => Begin::Unknown(1),
    }
}

/// Reads an escape sequence from the beginning of `bytes`: after `ESC [` parameters and a last
/// byte, after `ESC O` one byte.
fn sequence(bytes: &[u8]) -> Begin {
    let rest = bytes.get(2..).unwrap_or_default();
    let Some(end) = rest.iter().position(|byte| !(0x20..0x40).contains(byte)) else {
        return if rest.len() < LONGEST {
            Begin::Incomplete
        } else {
            Begin::Unknown(bytes.len())
        };
    };
    let code = match (&rest[..end], rest[end]) {
        (_, b'A') => KeyCode::Up,
        (_, b'B') => KeyCode::Down,
        (_, b'C') => KeyCode::Right,
        (_, b'D') => KeyCode::Left,
        (_, b'H') | (b"1" | b"7", b'~') => KeyCode::Home,
        (_, b'F') | (b"4" | b"8", b'~') => KeyCode::End,
        (b"5", b'~') => KeyCode::PageUp,
        (b"6", b'~') => KeyCode::PageDown,
        // A control character begins something else.
        (_, ..0x20) => return Begin::Unknown(2 + end),
        _ => return Begin::Unknown(2 + end + 1),
    };
    Begin::Key(2 + end + 1, code, KeyModifiers::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8], is_idle: bool) -> Vec<KeyCode> {
        let mut keys = Keys::default();
        keys.add(bytes);
        std::iter::from_fn(|| keys.next(is_idle))
            .map(|key| key.code)
            .collect()
    }

    #[test]
    fn sequences_are_keys() {
        use KeyCode::{Backspace, Char, Down, End, Enter, Esc, Home, PageUp, Tab, Up};
        for (bytes, expected) in [
            (&b"q?"[..], &[Char('q'), Char('?')][..]),
            (b"\r\t\x7f", &[Enter, Tab, Backspace]),
            (b"\x1b[A\x1bOB\x1b[1;5A", &[Up, Down, Up]),
            (b"\x1b[1~\x1b[F\x1b[5~x", &[Home, End, PageUp, Char('x')]),
            ("é😀".as_bytes(), &[Char('é'), Char('😀')]),
            (b"\x1bj", &[Esc, Char('j')]),
            (b"\x1b[200~\xff\0j", &[Char('j')]),
            (b"\x1b[1\x1b[Aj", &[Up, Char('j')]),
        ] {
            assert_eq!(keys(bytes, false), expected, "{bytes:?}");
        }
        let mut control = Keys::default();
        control.add(b"\x03");
        let key = KeyEvent::new(Char('c'), KeyModifiers::CONTROL);
        assert_eq!(control.next(false), Some(key));
    }

    #[test]
    fn the_rest_of_a_sequence_is_awaited_for_some_time() {
        let mut keys = Keys::default();
        keys.add(b"\x1b[");
        assert_eq!(keys.next(false), None);
        keys.add(b"B");
        assert_eq!(keys.next(false), Some(KeyCode::Down.into()));
        keys.add(b"\x1b");
        assert_eq!(keys.next(false), None);
        assert_eq!(keys.next(true), Some(KeyCode::Esc.into()));
        for begin in [&b"\x1b["[..], b"\x1b[12", b"\xf0\x9f"] {
            keys.add(begin);
            assert_eq!((keys.next(false), keys.next(true)), (None, None));
            keys.add(b"j");
            assert_eq!(keys.next(false), Some(KeyCode::Char('j').into()));
        }
    }
}
