//! Names, lines and source files, as a profile shows them.

use crate::class::{ClassFile, Member};
use crate::code::{Bci, line_table};
use crate::error::Structure;

pub use crate::modified_utf8::{modified_utf8, text};

/// Returns the Java name for an internal name in modified UTF-8: `com.example.Service` for `com/example/Service`.
pub fn java_name(internal: &[u8]) -> String {
    text(internal).replace('/', ".")
}

/// Returns the line of a method's first instruction; `None` without a line table.
pub fn first_line(method: &Member<'_, '_>) -> Option<u16> {
    let entries = lines(method)?.into_iter();
    entries.min_by_key(|entry| entry.0).map(|entry| entry.1)
}

/// Returns the line of the instruction at this offset of a method's code; `None` if no entry of the line table is
/// at or before the offset.
pub fn line_at(method: &Member<'_, '_>, bci: Bci) -> Option<u16> {
    let entries = lines(method)?.into_iter();
    let before = entries.filter(|entry| entry.0 <= bci);
    before.max_by_key(|entry| entry.0).map(|entry| entry.1)
}

/// Returns the entries of a method's first line table, as offset and line.
fn lines(method: &Member<'_, '_>) -> Option<Vec<(Bci, u16)>> {
    let pool = method.class().pool();
    let code = method.code().ok()??;
    let table = code.attributes().map_while(Result::ok).find(|a| {
        pool.utf8(a.name_index)
            .is_ok_and(|n| n == b"LineNumberTable")
    })?;
    let entries = line_table::entries(table.reader(Structure::Named("LineNumberTable"))).ok()?;
    Some(entries.collect())
}

/// Returns the name of the source file; `None` without a `SourceFile` attribute (JVMS §4.7.10).
pub fn source_file(class: &ClassFile<'_>) -> Option<String> {
    let pool = class.pool();
    let attribute = class
        .attributes()
        .map_while(Result::ok)
        .find(|a| pool.utf8(a.name_index).is_ok_and(|n| n == b"SourceFile"))?;
    let index = attribute.reader(Structure::Class).cp_index().ok()?;
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
