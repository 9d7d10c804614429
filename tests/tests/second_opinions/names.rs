//! Names of instructions and text, as the parsers write them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::mem::{Discriminant, discriminant};

/// The names of an enum's variants, without case, asked of `Debug` once each.
#[derive(Debug)]
pub(crate) struct Variants<T>(HashMap<Discriminant<T>, String>);

impl<T> Default for Variants<T> {
    fn default() -> Self {
        Variants(HashMap::new())
    }
}

impl<T: Debug> Variants<T> {
    pub(crate) fn name(&mut self, of: &T) -> &str {
        self.0.entry(discriminant(of)).or_insert_with(|| {
            let text = format!("{of:?}");
            let name = text
                .split(|it: char| !it.is_alphanumeric())
                .next()
                .unwrap_or_default();
            name.to_lowercase()
        })
    }
}

/// Text as modified UTF-8 (JVMS §4.4.7), which is what we keep.
pub(crate) fn modified_utf8(text: &str) -> Cow<'_, [u8]> {
    if text.bytes().all(|it| (1..0x80).contains(&it)) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut out = Vec::new();
    for unit in text.encode_utf16() {
        match unit {
            1..0x80 => out.push(unit as u8),
            0..0x800 => out.extend([0xC0 | (unit >> 6) as u8, 0x80 | (unit & 0x3F) as u8]),
            _ => out.extend([
                0xE0 | (unit >> 12) as u8,
                0x80 | (unit >> 6 & 0x3F) as u8,
                0x80 | (unit & 0x3F) as u8,
            ]),
        }
    }
    Cow::Owned(out)
}

/// Fails unless both are equal.
macro_rules! same {
    ($what:expr, $ours:expr, $theirs:expr) => {{
        let (ours, theirs) = ($ours, $theirs);
        anyhow::ensure!(
            ours == theirs,
            "{}: we say {:?}, they {:?}",
            $what,
            ours,
            theirs
        );
    }};
}
pub(crate) use same;

/// Fails unless our modified UTF-8 is their text.
pub(crate) fn same_text(what: &str, ours: &[u8], theirs: &str) -> anyhow::Result<()> {
    let equal = *ours == *modified_utf8(theirs);
    anyhow::ensure!(
        equal,
        "{what}: we say {}, they {theirs}",
        String::from_utf8_lossy(ours)
    );
    Ok(())
}
