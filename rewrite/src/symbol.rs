//! What a profile shows of a class and its methods.

use crate::class::{ClassFile, Member};
use crate::code::{Bci, line_table};
use crate::error::Place;

pub use crate::modified_utf8::{modified_utf8, text};

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
pub fn line_at(method: &Member<'_, '_>, bci: Bci) -> Option<u16> {
    let entries = lines(method)?.into_iter();
    let before = entries.filter(|entry| entry.0 <= bci);
    before.max_by_key(|entry| entry.0).map(|entry| entry.1)
}

/// Offsets and lines of a method's first line table.
fn lines(method: &Member<'_, '_>) -> Option<Vec<(Bci, u16)>> {
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
    let index = attribute.reader(Place::Class).cp_index().ok()?;
    Some(text(pool.utf8(index).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_names_have_dots() {
        assert_eq!(java_name(b"a/\xed\xa0\xbd\xed\xb8\x80"), "a.\u{1f600}");
    }
}
