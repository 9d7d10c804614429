//! Compares names of instructions, and texts, that two parsers return in different forms.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::mem::{Discriminant, discriminant};

/// Cache of the names of an enum's variants, in lower case. `Debug` is called once for each
/// variant.
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

/// Converts a text to modified UTF-8 (JVMS §4.4.7), the form in which Loadhook's parser returns
/// texts.
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

/// Fails with the given description unless both values are equal.
macro_rules! same {
    ($what:expr, $ours:expr, $theirs:expr) => {{
        let (ours, theirs) = ($ours, $theirs);
        anyhow::ensure!(
            ours == theirs,
            "{}: Loadhook: {:?}, the other parser: {:?}",
            $what,
            ours,
            theirs
        );
    }};
}
pub(crate) use same;

/// Fails unless Loadhook's modified UTF-8 is the same text as the other parser's.
pub(crate) fn same_text(what: &str, ours: &[u8], theirs: &str) -> anyhow::Result<()> {
    let equal = *ours == *modified_utf8(theirs);
    anyhow::ensure!(
        equal,
        "{what}: Loadhook: {}, the other parser: {theirs}",
        String::from_utf8_lossy(ours)
    );
    Ok(())
}
