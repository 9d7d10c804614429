//! Checks a rewritten class: it can be read completely, and only its code
//! differs.

use loadhook_rewrite::class::{Attribute, Attributes, Member};
use loadhook_rewrite::{ClassFile, Options, Outcome, Rewriter};

use super::module;

/// Returns the first fault of `after`, which was made from `before`; `None` if there is no fault.
pub(super) fn fault(before: Option<&[u8]>, after: &[u8]) -> Option<String> {
    check(before, after).err()
}

fn check(before: Option<&[u8]>, after: &[u8]) -> Result<(), String> {
    let class = ClassFile::parse(after).map_err(|error| error.to_string())?;
    if let Some(before) = before {
        let original = ClassFile::parse(before)
            .map_err(|error| format!("the input is not a class: {error}"))?;
        compare(&original, &class)?;
    }
    let known = |before| unreadable(before).map_or(Vec::new(), |methods| methods);
    let mut left = unreadable(after)?;
    if !left.is_empty() {
        let known = before.map_or(Vec::new(), known);
        left.retain(|(method, _)| known.iter().all(|(other, _)| method != other));
    }
    match left.first() {
        Some((method, reason)) => Err(format!("method {method}: {reason}")),
        None => Ok(()),
    }
}

/// Reads and writes code and tables of every method. Returns each method for which that fails, with the fault.
fn unreadable(bytes: &[u8]) -> Result<Vec<(u16, String)>, String> {
    let mut rewriter = Rewriter::new(Options::default());
    let copy = rewriter.copy(bytes, |len| Some(vec![0; len]));
    match copy.map_err(|error| error.to_string())? {
        Outcome::Rewritten(copy) if copy != bytes => {
            return Err("its code cannot be read again".to_owned());
        }
        _ => {}
    }
    let left = &rewriter.report().left_alone;
    let named = left
        .iter()
        .map(|left| (left.method, left.reason.to_string()));
    Ok(named.collect())
}

/// Compares everything but code. Old constants keep their indexes, so bytes that
/// refer to them are equal.
fn compare(before: &ClassFile<'_>, after: &ClassFile<'_>) -> Result<(), String> {
    let (old, new) = (before.bytes(), after.bytes());
    let (pool, new_pool) = (before.pool(), after.pool());
    let constants = 10..pool.end();
    if old[..8] != new[..8] || new.get(constants.clone()) != Some(&old[constants]) {
        return Err("its version or constants changed".to_owned());
    }
    let head = 8 + 2 * before.interfaces().len();
    let behind = |bytes: &[u8], end: usize| bytes.get(end..end + head).map(<[u8]>::to_vec);
    if behind(old, pool.end()) != behind(new, new_pool.end()) {
        return Err("its flags, name or supertypes changed".to_owned());
    }
    let same_fields = same_members(before.fields(), after.fields());
    if !same_fields || !same_members(before.methods(), after.methods()) {
        return Err("its fields or methods changed".to_owned());
    }
    if before.name() == b"module-info" {
        return module::compare(before, after);
    }
    if !same_attributes(before.attributes(), after.attributes(), |_| false) {
        return Err("its attributes changed".to_owned());
    }
    Ok(())
}

fn same_members<'c, 'a: 'c, 'd, 'b: 'd>(
    before: impl ExactSizeIterator<Item = Member<'c, 'a>>,
    after: impl ExactSizeIterator<Item = Member<'d, 'b>>,
) -> bool {
    before.len() == after.len()
        && before.zip(after).all(|(a, b)| {
            let pool = a.class().pool();
            let is_code = |attribute: &Attribute<'_>| {
                pool.utf8(attribute.name_index)
                    .is_ok_and(|name| name == b"Code")
            };
            a.access_flags() == b.access_flags()
                && (a.name(), a.descriptor()) == (b.name(), b.descriptor())
                && same_attributes(a.attributes(), b.attributes(), is_code)
        })
}

fn same_attributes(
    before: Attributes<'_>,
    after: Attributes<'_>,
    may_differ: impl Fn(&Attribute<'_>) -> bool,
) -> bool {
    before.count_left() == after.count_left()
        && before.zip(after).all(|pair| match pair {
            (Ok(a), Ok(b)) => a.name_index == b.name_index && (a.info == b.info || may_differ(&a)),
            _ => false,
        })
}
