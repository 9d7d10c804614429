//! Mutations of a method's instructions and exception table. After many of them, HotSpot still
//! accepts the class.

use super::body::Body;
use super::class::u2;
use super::code_attributes::{find, find_mut, lines};
use super::frames;
use super::instructions::{
    ALIKE, ends_block, is_branch2, shorter, starts, switch_offsets, targets,
};

/// Replaces an instruction by another that has the same effect on the types of locals and stack.
pub(super) fn alike(body: &mut Body<'_>) -> Option<()> {
    let (at, opcode) =
        body.random_instruction(|it| ALIKE.iter().any(|group| group.contains(&it)))?;
    let groups: Vec<&[u8]> = ALIKE
        .iter()
        .copied()
        .filter(|group| group.contains(&opcode))
        .collect();
    let group = *body.random.pick(&groups)?;
    let other = *body.random.pick(group)?;
    body.code_mut()?.bytes[at] = other;
    (other != opcode).then_some(())
}

/// Changes the operand of an instruction: a local variable, a number or an increment.
pub(super) fn operand(body: &mut Body<'_>) -> Option<()> {
    let has_operand =
        |it| matches!(it, 0x10 | 0x11 | 0x15..=0x19 | 0x36..=0x3a | 0x84 | 0xc4 | 0xa9);
    let (at, opcode) = body.random_instruction(has_operand)?;
    let locals = usize::from(body.code()?.max_locals);
    let local = body.random.below(locals.min(256)) as u8;
    let byte = body.random.u1();
    let wide = body.random.below(locals) as u16;
    let code = body.code_mut()?;
    match opcode {
        0x10 => code.bytes[at + 1] = byte,
        0x11 => code.bytes[at + 1 + usize::from(byte & 1)] = local,
        0x84 => {
            code.bytes[at + 1 + usize::from(byte & 1)] = if byte & 1 == 0 { local } else { byte }
        }
        0xc4 => code.bytes[at + 2..at + 4].copy_from_slice(&wide.to_be_bytes()),
        _ => code.bytes[at + 1] = local,
    }
    Some(())
}

/// Replaces a constant by one of the same kind; for a field or method, by one with the same
/// descriptor.
pub(super) fn constant(body: &mut Body<'_>) -> Option<()> {
    let (at, opcode) = body.random_instruction(
        |it| matches!(it, 0x12..=0x14 | 0xb2..=0xbb | 0xbd | 0xc0 | 0xc1 | 0xc5),
    )?;
    let code = &body.code()?.bytes;
    let old = if opcode == 0x12 {
        u16::from(*code.get(at + 1)?)
    } else {
        u2(code, at + 1)?
    };
    let tag = body.class.pool.get(usize::from(old))?.tag;
    let same_descriptor = |&it: &u16| body.class.descriptor_of(it) == body.class.descriptor_of(old);
    let mut others = body.class.constants(tag);
    if matches!(tag, 9..=11 | 17 | 18) {
        others.retain(same_descriptor);
    }
    if opcode == 0x12 {
        others.retain(|&it| it < 256);
        if body.random.one_in(3) {
            // Choose another loadable constant of one slot.
            others.extend(
                [3, 4, 7, 8]
                    .iter()
                    .flat_map(|&tag| body.class.constants(tag))
                    .filter(|&it| it < 256),
            );
        }
    }
    let new = *body.random.pick(&others)?;
    let code = body.code_mut()?;
    match opcode {
        0x12 => code.bytes[at + 1] = new as u8,
        _ => code.bytes[at + 1..at + 3].copy_from_slice(&new.to_be_bytes()),
    }
    (new != old).then_some(())
}

/// Exchanges two consecutive instructions without a jump between them.
pub(super) fn swap(body: &mut Body<'_>) -> Option<()> {
    let code = &body.code()?.bytes;
    let starts = starts(code)?;
    let targets = targets(code);
    let straight = |&i: &usize| {
        let (a, b) = (starts[i], starts[i + 1]);
        let moves = |at: usize| ends_block(code[at]) || matches!(code[at], 0xaa | 0xab);
        !moves(a) && !moves(b) && !targets.contains(&b)
    };
    let candidates: Vec<usize> = (0..starts.len().saturating_sub(1))
        .filter(straight)
        .collect();
    let end = code.len();
    let i = *body.random.pick(&candidates)?;
    let (from, middle) = (starts[i], starts[i + 1]);
    let to = starts.get(i + 2).copied().unwrap_or(end);
    body.code_mut()?.bytes[from..to].rotate_left(middle - from);
    Some(())
}

fn landing(body: &mut Body<'_>, at: usize) -> Option<i64> {
    let landings = body.landings()?;
    // Prefer jumps forward, since jumps backward often make endless loops.
    let forward: Vec<usize> = landings.iter().copied().filter(|&it| it > at).collect();
    let of = if forward.is_empty() || body.random.one_in(12) {
        landings
    } else {
        forward
    };
    Some(*body.random.pick(&of)? as i64 - at as i64)
}

/// Makes a jump lead to another instruction.
pub(super) fn retarget(body: &mut Body<'_>) -> Option<()> {
    let (at, _) = body.random_instruction(is_branch2)?;
    let offset = i16::try_from(landing(body, at)?).ok()?;
    body.code_mut()?.bytes[at + 1..at + 3].copy_from_slice(&offset.to_be_bytes());
    Some(())
}

/// Changes the target or the key of a switch's case.
pub(super) fn switch(body: &mut Body<'_>) -> Option<()> {
    let (at, opcode) = body.random_instruction(|it| matches!(it, 0xaa | 0xab))?;
    let places = switch_offsets(&body.code()?.bytes, at);
    let place = *body.random.pick(&places)?;
    if opcode == 0xaa && body.random.one_in(4) {
        let low = (at + 4) & !3;
        let shift = body.random.below(5) as u8;
        let code = body.code_mut()?;
        code.bytes[low + 7] = code.bytes[low + 7].wrapping_add(shift);
        code.bytes[low + 11] = code.bytes[low + 11].wrapping_add(shift);
        return Some(());
    }
    let offset = landing(body, at)? as i32;
    body.code_mut()?.bytes[place..place + 4].copy_from_slice(&offset.to_be_bytes());
    Some(())
}

/// Replaces an instruction by a shorter one and `nop`s.
pub(super) fn shorten(body: &mut Body<'_>) -> Option<()> {
    let (at, opcode) = body.random_instruction(|it| !shorter(it).is_empty())?;
    let length = body.length_at(at)?;
    let by = *body.random.pick(shorter(opcode))?;
    let place = body.code_mut()?.bytes.get_mut(at..at + length)?;
    place.fill(0);
    place[..by.len()].copy_from_slice(by);
    Some(())
}

/// Returns the ranges of the method's statements, according to its line table.
fn statements(body: &Body<'_>) -> Option<Vec<(usize, usize)>> {
    let code = body.code()?;
    let mut bounds: Vec<usize> = lines(find(body.class, code, b"LineNumberTable")?)
        .iter()
        .map(|it| usize::from(it.0))
        .collect();
    bounds.push(code.bytes.len());
    bounds.sort_unstable();
    bounds.dedup();
    Some(
        bounds
            .windows(2)
            .map(|it| (it[0], it[1]))
            .filter(|it| it.1 <= code.bytes.len())
            .collect(),
    )
}

/// Replaces a statement by `nop`s, usually except for its last instruction, since this may be a
/// return.
pub(super) fn drop_statement(body: &mut Body<'_>) -> Option<()> {
    let statements = statements(body)?;
    let &(from, mut to) = body.random.pick(&statements)?;
    let last = body.starts()?.into_iter().rfind(|&it| it < to)?;
    if ends_block(body.code()?.bytes[last]) && !body.random.one_in(8) {
        to = last;
    }
    (from < to).then_some(())?;
    body.code_mut()?.bytes[from..to].fill(0);
    Some(())
}

/// Copies a statement over another one that is at least as long.
pub(super) fn copy_statement(body: &mut Body<'_>) -> Option<()> {
    let statements = statements(body)?;
    let &(from, end) = body.random.pick(&statements)?;
    let longer: Vec<_> = statements
        .iter()
        .filter(|it| it.1 - it.0 >= end - from && it.0 != from)
        .copied()
        .collect();
    let &(to, to_end) = body.random.pick(&longer)?;
    let code = body.code_mut()?;
    let statement = code.bytes[from..end].to_vec();
    let place = &mut code.bytes[to..to_end];
    place.fill(0);
    place[..end - from].copy_from_slice(&statement);
    Some(())
}

/// Replaces a statement by an instruction that leaves the method: a return of the method's type, or
/// an exception.
pub(super) fn exit_early(body: &mut Body<'_>) -> Option<()> {
    let statements = statements(body)?;
    let descriptor = body
        .class
        .utf8(body.class.methods.get(body.method)?.descriptor)
        .to_vec();
    let close = descriptor.iter().position(|&it| it == b')')?;
    let by: &[u8] = match (body.random.one_in(4), descriptor.get(close + 1)?) {
        (true, _) => &[0x01, 0xbf],
        (_, b'V') => &[0xb1],
        (_, b'J') => &[0x0a, 0xad],
        (_, b'F') => &[0x0c, 0xae],
        (_, b'D') => &[0x0f, 0xaf],
        (_, b'L' | b'[') => &[0x01, 0xb0],
        _ => &[0x05, 0xac],
    };
    let fitting: Vec<_> = statements
        .iter()
        .filter(|it| it.1 - it.0 >= by.len())
        .copied()
        .collect();
    let &(from, to) = body.random.pick(&fitting)?;
    let major = body.class.major;
    let place = &mut body.code_mut()?.bytes[from..to];
    let at = place.len() - by.len();
    // If the JVM reads frames, code after an exit must not be unreachable without a frame. So the
    // exit becomes the last instruction of the statement.
    let at = if major < 50 { 0 } else { at };
    place.fill(0);
    place[at..at + by.len()].copy_from_slice(by);
    Some(())
}

/// Changes a range or handler in the exception table.
pub(super) fn handler_range(body: &mut Body<'_>) -> Option<()> {
    let starts = body.starts()?;
    let landings = body.landings().unwrap_or_default();
    let count = body.code()?.handlers.len();
    let chosen = body.random.below(count);
    let which = body.random.below(5);
    let end = body.code()?.bytes.len();
    let mut bounds = starts;
    bounds.push(end);
    let handlers: Vec<u16> = body.code()?.handlers.iter().map(|it| it[2]).collect();
    let bound = *body.random.pick(&bounds)? as u16;
    let handler = match body.random.one_in(2) {
        true => *body.random.pick(&handlers)?,
        false => *body.random.pick(&landings)? as u16,
    };
    let entry = body.code_mut()?.handlers.get_mut(chosen)?;
    match which {
        0 | 1 if bound < entry[1] => entry[0] = bound,
        2 | 3 if bound > entry[0] => entry[1] = bound,
        4 if usize::from(handler) < end => entry[2] = handler,
        _ => return None,
    }
    Some(())
}

/// Duplicates, removes or reorders entries of the exception table, or changes their catch types.
pub(super) fn handlers(body: &mut Body<'_>) -> Option<()> {
    let classes = body.class.constants(7);
    let class = *body.random.pick(&classes)?;
    let count = body.code()?.handlers.len();
    let (a, b) = (body.random.below(count), body.random.below(count));
    let which = body.random.below(6);
    let table = &mut body.code_mut()?.handlers;
    let entry = *table.get(a)?;
    match which {
        0 => table.insert(b, entry),
        1 => drop(table.remove(a)),
        2 => table.swap(a, b),
        3 => table[a][3] = 0,
        4 => table[a][3] = class,
        // Split the range in two.
        _ => {
            let starts = body.starts()?;
            let inside: Vec<usize> = starts
                .into_iter()
                .filter(|it| (usize::from(entry[0]) + 1..usize::from(entry[1])).contains(it))
                .collect();
            let middle = *body.random.pick(&inside)? as u16;
            let table = &mut body.code_mut()?.handlers;
            table[a][1] = middle;
            table.insert(a + 1, [middle, entry[1], entry[2], entry[3]]);
        }
    }
    Some(())
}

/// Adds an entry that catches all exceptions. Its handler is the handler of another entry, or an
/// offset with a frame.
pub(super) fn add_handler(body: &mut Body<'_>) -> Option<()> {
    let starts = body.starts()?;
    let landings = body.landings()?;
    let (a, b) = (*body.random.pick(&starts)?, *body.random.pick(&starts)?);
    let handler = *body.random.pick(&landings)? as u16;
    (a != b).then_some(())?;
    let entry = [a.min(b) as u16, a.max(b) as u16, handler, 0];
    body.code_mut()?.handlers.push(entry);
    Some(())
}

/// Increases `max_stack` or `max_locals`.
pub(super) fn maxima(body: &mut Body<'_>) -> Option<()> {
    let more = *body
        .random
        .pick(&[1, 2, 3, 7, 100, 248, 252, 255, 256, 300])?;
    let stack = body.random.one_in(2);
    let code = body.code_mut()?;
    let place = if stack {
        &mut code.max_stack
    } else {
        &mut code.max_locals
    };
    *place = place.checked_add(more)?;
    Some(())
}

/// Changes the forms of frames, or removes a frame that no jump needs.
pub(super) fn frame_forms(body: &mut Body<'_>) -> Option<()> {
    let old = frames::parse(find(body.class, body.code()?, b"StackMapTable")?)?;
    let targets = targets(&body.code()?.bytes);
    let mut new = old.clone();
    let chosen = body.random.below(new.len());
    match body.random.below(3) {
        0 => new.iter_mut().for_each(|it| it.extended = true),
        1 => new.get_mut(chosen)?.extended ^= true,
        _ => {
            let at = new.get(chosen)?.at;
            (!targets.contains(&at)).then_some(())?;
            new.remove(chosen);
        }
    }
    let written = frames::write(&new)?;
    let place = find_mut(body.class, body.method, b"StackMapTable")?;
    *place = written;
    (new != old).then_some(())
}

/// Changes a byte of the code.
pub(super) fn byte(body: &mut Body<'_>) -> Option<()> {
    let byte = body.random.u1();
    let length = body.code()?.bytes.len();
    let at = body.random.below(length);
    *body.code_mut()?.bytes.get_mut(at)? = byte;
    Some(())
}
