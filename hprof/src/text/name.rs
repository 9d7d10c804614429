//! Writes names and serial numbers into lines.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Displays a name. Characters that would end the line or move its columns are escaped, for example as `\u{a}`.
pub(crate) struct Name<'n>(pub(crate) &'n str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(self.0))
    }
}

fn escaped(name: &str) -> Cow<'_, str> {
    if !name.contains(char::is_control) {
        return Cow::Borrowed(name);
    }
    let mut escaped = String::with_capacity(name.len() + 8);
    for char in name.chars() {
        if char.is_control() {
            escaped.extend(char.escape_unicode());
        } else {
            escaped.push(char);
        }
    }
    Cow::Owned(escaped)
}

/// Displays a thread in the middle of a line. The serial number 0 stands for an unknown thread.
pub(crate) struct ThreadNumber(pub(crate) u32);

impl Display for ThreadNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("<unknown thread>"),
            serial => write!(f, "thread {serial}"),
        }
    }
}
