//! Finds the attributes of a method's code by name.

use super::class::{Class, Code, Info, u2};

/// Returns the content of the attribute of `code` that has this name.
pub(super) fn find<'c>(class: &Class, code: &'c Code, name: &[u8]) -> Option<&'c [u8]> {
    code.attributes.iter().find_map(|it| match &it.info {
        Info::Bytes(bytes) if class.utf8(it.name) == name => Some(&bytes[..]),
        _ => None,
    })
}

/// Returns the content of the attribute of a method's code that has this name, for changing.
pub(super) fn find_mut<'c>(
    class: &'c mut Class,
    method: usize,
    name: &[u8],
) -> Option<&'c mut Vec<u8>> {
    let code = class.methods.get(method)?.code()?;
    let at = code
        .attributes
        .iter()
        .position(|it| class.utf8(it.name) == name)?;
    match &mut class
        .methods
        .get_mut(method)?
        .code_mut()?
        .attributes
        .get_mut(at)?
        .info
    {
        Info::Bytes(bytes) => Some(bytes),
        Info::Code(_) => None,
    }
}

/// Returns the entries of a `LineNumberTable`.
pub(super) fn lines(info: &[u8]) -> Vec<(u16, u16)> {
    let entry = |at| Some((u2(info, at)?, u2(info, at + 2)?));
    (2..info.len()).step_by(4).filter_map(entry).collect()
}
