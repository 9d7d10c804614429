//! Mutations of debug tables, attributes, flags, versions and constants.

use super::body::Body;
use super::class::{Attribute, Class, Constant, Info, Member, u2};
use super::code_attributes::{find, find_mut, lines};

/// Moves the beginning of an entry of the LineNumberTable, usually to an instruction, or reorders entries.
pub(super) fn line_table(body: &mut Body<'_>) -> Option<()> {
    let starts = body.starts()?;
    let length = body.code()?.bytes.len();
    let to = match body.random.one_in(5) {
        true => body.random.below(length),
        false => *body.random.pick(&starts)?,
    };
    let number = body.random.u2();
    let which = body.random.below(4);
    let table = lines(find(body.class, body.code()?, b"LineNumberTable")?);
    let (a, b) = (
        2 + 4 * body.random.below(table.len()),
        2 + 4 * body.random.below(table.len()),
    );
    let info = find_mut(body.class, body.method, b"LineNumberTable")?;
    (info.len() >= 6).then_some(())?;
    match which {
        0 | 1 => info[a..a + 2].copy_from_slice(&(to as u16).to_be_bytes()),
        2 => info[a + 2..a + 4].copy_from_slice(&number.to_be_bytes()),
        _ => (0..4).for_each(|i| info.swap(a + i, b + i)),
    }
    Some(())
}

/// Moves the range of a local variable.
pub(super) fn local_table(body: &mut Body<'_>) -> Option<()> {
    let mut bounds = body.starts()?;
    let length = body.code()?.bytes.len();
    bounds.push(length);
    let bound = match body.random.one_in(6) {
        true => body.random.below(length),
        false => *body.random.pick(&bounds)?,
    };
    let which = body.random.below(4);
    let name: &[u8] = if body.random.one_in(6) {
        b"LocalVariableTypeTable"
    } else {
        b"LocalVariableTable"
    };
    let entries = (find(body.class, body.code()?, name)?.len().checked_sub(2)?) / 10;
    let at = 2 + 10 * body.random.below(entries);
    let info = find_mut(body.class, body.method, name)?;
    let (start, end) = (
        usize::from(u2(info, at)?),
        usize::from(u2(info, at)?) + usize::from(u2(info, at + 2)?),
    );
    let (start, end) = match which {
        0 | 1 => (bound, end),
        2 => (start, bound),
        _ => (bound, bound),
    };
    info[at..at + 2].copy_from_slice(&(start as u16).to_be_bytes());
    info[at + 2..at + 4].copy_from_slice(&(end.checked_sub(start)? as u16).to_be_bytes());
    Some(())
}

/// Splits a `LineNumberTable` in two.
pub(super) fn split_lines(body: &mut Body<'_>) -> Option<()> {
    let info = find(body.class, body.code()?, b"LineNumberTable")?.to_vec();
    let entries = lines(&info).len();
    (entries > 1).then_some(())?;
    let first = 1 + body.random.below(entries - 1);
    let half = |from: usize, to: usize| {
        let mut half = ((to - from) as u16).to_be_bytes().to_vec();
        half.extend_from_slice(&info[2 + 4 * from..2 + 4 * to]);
        half
    };
    let (a, b) = (half(0, first), half(first, entries));
    let names: Vec<u16> = body.code()?.attributes.iter().map(|it| it.name).collect();
    let name = names
        .into_iter()
        .find(|&it| body.class.utf8(it) == b"LineNumberTable")?;
    *find_mut(body.class, body.method, b"LineNumberTable")? = a;
    body.code_mut()?.attributes.push(Attribute {
        name,
        info: Info::Bytes(b),
    });
    Some(())
}

/// Removes an attribute of the code, the method, a field or the class.
pub(super) fn drop_attribute(body: &mut Body<'_>) -> Option<()> {
    let which = body.random.below(4);
    let random = body.random.bits() as usize;
    let list = match which {
        0 | 1 => &mut body.code_mut()?.attributes,
        2 => &mut body.class.methods.get_mut(body.method)?.attributes,
        _ => &mut body.class.attributes,
    };
    let at = random.checked_rem(list.len())?;
    matches!(list[at].info, Info::Bytes(_)).then(|| drop(list.remove(at)))
}

/// Adds an unknown attribute to the code.
pub(super) fn unknown_attribute(body: &mut Body<'_>) -> Option<()> {
    let name = add_utf8(body.class, b"of.no.Spec")?;
    body.code_mut()?.attributes.push(Attribute {
        name,
        info: Info::Bytes(vec![0, 1]),
    });
    Some(())
}

/// Changes a flag of the method.
pub(super) fn method_flags(body: &mut Body<'_>) -> Option<()> {
    // public, private, protected, final, synchronized, bridge, varargs, strict, synthetic, and
    // 0x8000, which has no meaning.
    let flag = *body.random.pick(&[
        0x0001, 0x0002, 0x0004, 0x0010, 0x0020, 0x0020, 0x0020, 0x0040, 0x0080, 0x0800, 0x1000,
        0x8000,
    ])?;
    let method = body.class.methods.get_mut(body.method)?;
    method.access ^= flag;
    if flag & 7 != 0 {
        method.access &= !7 | flag;
    }
    Some(())
}

/// Changes a flag of the class.
pub(super) fn class_flags(body: &mut Body<'_>) -> Option<()> {
    body.class.access ^= *body
        .random
        .pick(&[0x0001, 0x0010, 0x0020, 0x0020, 0x1000, 0x4000, 0x8000])?;
    Some(())
}

/// Changes the version. The JVM reads no frames below version 50. The mutation then removes the
/// frames, or leaves them in the class as stale frames.
pub(super) fn version(body: &mut Body<'_>) -> Option<()> {
    let newest = body.class.major.max(52);
    let old = body.random.one_in(2);
    let major = if old {
        45 + body.random.below(5) as u16
    } else {
        50 + body.random.below(usize::from(newest) - 49) as u16
    };
    body.class.major = major;
    body.class.minor = if major == 45 { 3 } else { 0 };
    if old && !body.random.one_in(4) {
        drop_frames(body.class);
    }
    Some(())
}

/// Removes every `StackMapTable`.
pub fn drop_frames(class: &mut Class) {
    let names: Vec<u16> = class
        .constants(1)
        .into_iter()
        .filter(|&it| class.utf8(it) == b"StackMapTable")
        .collect();
    for code in class.methods.iter_mut().filter_map(Member::code_mut) {
        code.attributes.retain(|it| !names.contains(&it.name));
    }
}

/// Changes the value of a constant that is a number or a string.
pub(super) fn value(body: &mut Body<'_>) -> Option<()> {
    let numbers: Vec<u16> = [3, 4, 5, 6, 8]
        .iter()
        .flat_map(|&tag| body.class.constants(tag))
        .collect();
    let chosen = usize::from(*body.random.pick(&numbers)?);
    let constant = &body.class.pool[chosen];
    let chosen = if constant.tag == 8 {
        usize::from(constant.index(0))
    } else {
        chosen
    };
    let text = usize::from(constant.tag == 8) * 2;
    let byte = body.random.u1();
    let at = body.random.bits() as usize;
    let bytes = &mut body.class.pool.get_mut(chosen)?.bytes;
    let at = text + at.checked_rem(bytes.len().checked_sub(text)?)?;
    bytes[at] = if text == 0 { byte } else { b'a' + byte % 26 };
    Some(())
}

/// Adds a `Utf8` constant.
fn add_utf8(class: &mut Class, text: &[u8]) -> Option<u16> {
    let index = u16::try_from(class.pool.len())
        .ok()
        .filter(|&it| it < u16::MAX)?;
    let mut bytes = (text.len() as u16).to_be_bytes().to_vec();
    bytes.extend_from_slice(text);
    class.pool.push(Constant { tag: 1, bytes });
    Some(index)
}

// The following mutations make classes that no JVM accepts; they test parsers.

/// Changes two bytes of any attribute.
pub(super) fn attribute_bytes(body: &mut Body<'_>) -> Option<()> {
    let value = body.random.u2();
    let at = body.random.bits() as usize;
    let of_code = !body.random.one_in(4);
    let chosen = body.random.bits() as usize;
    let list = if of_code {
        &mut body.code_mut()?.attributes
    } else {
        any_attributes(body.class, chosen)?
    };
    let chosen = chosen.checked_rem(list.len())?;
    let Info::Bytes(bytes) = &mut list[chosen].info else {
        return None;
    };
    let at = at.checked_rem(bytes.len())?;
    bytes[at] = value as u8;
    if let Some(next) = bytes.get_mut(at + 1).filter(|_| value > 255) {
        *next = (value >> 8) as u8;
    }
    Some(())
}

fn any_attributes(class: &mut Class, chosen: usize) -> Option<&mut Vec<Attribute>> {
    let members = class.fields.iter_mut().chain(&mut class.methods);
    let mut lists: Vec<_> = members
        .map(|it| &mut it.attributes)
        .chain([&mut class.attributes])
        .collect();
    let at = chosen.checked_rem(lists.len())?;
    Some(lists.swap_remove(at))
}

/// Duplicates, moves, shortens or renames an attribute.
pub(super) fn attributes(body: &mut Body<'_>) -> Option<()> {
    let chosen = body.random.bits() as usize;
    let from = body.random.one_in(2);
    let attribute = {
        let list = if from {
            &body.code()?.attributes
        } else {
            &body.class.attributes
        };
        list.get(chosen.checked_rem(list.len())?)?.clone()
    };
    let names = body.class.constants(1);
    let name = *body.random.pick(&names)?;
    match body.random.below(4) {
        0 => body.code_mut()?.attributes.push(attribute),
        1 => any_attributes(body.class, chosen)?.push(attribute),
        2 => {
            let list = &mut body.code_mut()?.attributes;
            let at = chosen.checked_rem(list.len())?;
            if let Info::Bytes(bytes) = &mut list[at].info {
                bytes.pop();
            }
        }
        _ => {
            let list = &mut body.code_mut()?.attributes;
            let at = chosen.checked_rem(list.len())?;
            list[at].name = name;
        }
    }
    Some(())
}

/// Changes an index, the tag or the text of a constant.
pub(super) fn pool(body: &mut Body<'_>) -> Option<()> {
    let count = body.class.pool.len();
    let at = body.random.below(count);
    let index = match body.random.one_in(3) {
        true => body.random.u2(),
        false => body.random.below(count) as u16,
    };
    let byte = body.random.u1();
    let which = body.random.below(4);
    let within = body.random.bits() as usize;
    let constant = body.class.pool.get_mut(at).filter(|it| it.tag != 0)?;
    match which {
        0 | 1 if constant.tag != 1 => {
            let at = within.checked_rem(constant.bytes.len() - 1)?;
            constant.bytes[at..at + 2].copy_from_slice(&index.to_be_bytes());
        }
        2 if constant.tag == 1 => {
            let at = 2 + within.checked_rem(constant.bytes.len() - 2)?;
            constant.bytes[at] = byte;
        }
        _ => {
            let tags: &[u8] = match constant.bytes.len() {
                2 => &[7, 8, 16, 19, 20],
                4 => &[3, 4, 9, 10, 11, 12, 17, 18],
                8 => &[5, 6],
                _ => return None,
            };
            constant.tag = *body.random.pick(tags)?;
        }
    }
    Some(())
}

/// Changes a name, descriptor, flags, or supertypes.
pub(super) fn header(body: &mut Body<'_>) -> Option<()> {
    let (index, flags) = (
        body.random.below(body.class.pool.len()) as u16,
        body.random.u2(),
    );
    let which = body.random.below(9);
    let class = &mut *body.class;
    let method = class.methods.get_mut(body.method)?;
    match which {
        0 => method.name = index,
        1 => method.descriptor = index,
        2 => method.access = flags,
        3 => class.access = flags,
        4 => class.this_class = index,
        5 => class.super_class = index,
        6 => class.interfaces.push(index),
        7 => class.major = flags,
        _ => {
            let again = method.clone();
            class.methods.push(again);
        }
    }
    Some(())
}

/// Sets numbers of the code to values that no compiler would write.
pub(super) fn code_numbers(body: &mut Body<'_>) -> Option<()> {
    let (value, other) = (body.random.u2(), body.random.u2());
    let which = body.random.below(5);
    let chosen = body.random.bits() as usize;
    let code = body.code_mut()?;
    match which {
        0 => code.max_stack = value,
        1 => code.max_locals = value,
        2 => code
            .bytes
            .truncate(usize::from(value) % (code.bytes.len() + 1)),
        3 => code.handlers.push([value, other, value ^ 3, 0]),
        _ => {
            let at = chosen.checked_rem(code.handlers.len())?;
            code.handlers[at][usize::from(other % 4)] = value;
        }
    }
    Some(())
}
