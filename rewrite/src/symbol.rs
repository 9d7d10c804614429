//! What a profile shows of a class and its methods.

use crate::class::{ClassFile, Member};
use crate::code::line_table;
use crate::error::Place;

/// A name or descriptor; what is no UTF-8 in it becomes U+FFFD.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An internal name as Java writes it: `com.example.Service`.
pub fn java_name(internal: &[u8]) -> String {
    text(internal).replace('/', ".")
}

/// The line of a method's first instruction, if its line table tells.
pub fn first_line(method: &Member<'_, '_>) -> Option<u16> {
    let pool = method.class().pool();
    let code = method.code().ok()??;
    let table = code.attributes().map_while(Result::ok).find(|a| {
        pool.utf8(a.name_index)
            .is_ok_and(|n| n == b"LineNumberTable")
    })?;
    let entries = line_table::entries(table.reader(Place::In("LineNumberTable"))).ok()?;
    entries.min_by_key(|entry| entry.0).map(|entry| entry.1)
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
