//! Writes the relocated instructions of a method whose layout is known.

use crate::code::bci::Bci;
use crate::code::instructions::{Switch, i4_at};
use crate::code::layout::branch2_target;
use crate::code::relocation::{Event, EventKind, Relocation, Snippet};
use crate::error::ErrorKind;
use crate::opcode::Opcode;
use crate::outcome::Fault;

/// Returns the bytes of a snippet.
#[inline]
pub(crate) fn snippet_bytes(snippets: &[u8], snippet: Snippet) -> &[u8] {
    let start = snippet.start as usize;
    snippets
        .get(start..start + usize::from(snippet.len))
        .unwrap_or_default()
}

/// Appends the relocated `code` with its probes to `out`: the entry probe, then
/// the old instructions copied in runs from event to event.
#[inline]
pub(crate) fn write_code(
    code: &[u8],
    entry: Snippet,
    snippets: &[u8],
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let begin = out.len();
    out.extend_from_slice(snippet_bytes(snippets, entry));
    let mut copied = 0;
    for event in &relocation.events {
        let bci = event.bci.index();
        if bci > copied {
            out.extend_from_slice(code.get(copied..bci).unwrap_or_default());
            copied = bci;
        }
        debug_assert_eq!(out.len() - begin, event.position.offset() as usize);
        copied += match event.kind {
            EventKind::InsertBefore | EventKind::InsertExit | EventKind::InsertAfter => {
                out.extend_from_slice(snippet_bytes(snippets, event.snippet));
                Ok(0)
            }
            EventKind::Branch2 => write_branch2(code, event, relocation, out),
            EventKind::Widened => write_widened(code, event, relocation, out),
            EventKind::Branch4 => write_branch4(code, event, relocation, out),
            EventKind::Switch => write_switch(code, event, relocation, out),
        }
        .map_err(|kind| Fault {
            kind,
            bci: event.bci,
        })?;
    }
    out.extend_from_slice(code.get(copied..).unwrap_or_default());
    debug_assert_eq!(out.len() - begin, relocation.code_end().offset() as usize);
    Ok(())
}

/// Writes a jump that keeps its 16-bit offset. Returns the length of the old instruction, as the functions for
/// other instructions do.
#[inline]
fn write_branch2(
    code: &[u8],
    event: &Event,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<usize, ErrorKind> {
    let target = relocation.target(branch2_target(code, event.bci)?)?;
    let distance = target.jump_offset(event.position);
    // After `widen`, every 16-bit jump reaches its target.
    let Ok(offset) = i16::try_from(distance) else {
        return Err(ErrorKind::BadBytecodeOffset(distance));
    };
    let [high, low] = offset.to_be_bytes();
    out.extend_from_slice(&[opcode_at(code, event.bci), high, low]);
    Ok(3)
}

/// Writes a jump that was widened to `goto_w` or `jsr_w`. For a conditional jump, first writes the inverted
/// condition, which jumps over the `goto_w`.
fn write_widened(
    code: &[u8],
    event: &Event,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<usize, ErrorKind> {
    let target = relocation.target(branch2_target(code, event.bci)?)?;
    let opcode = opcode_at(code, event.bci);
    let mut position = event.position;
    let wide = if opcode == Opcode::Jsr.byte() {
        Opcode::JsrW
    } else {
        if let Some(inverted) = Opcode::from_byte(opcode).and_then(Opcode::inverted) {
            // The inverted jump skips its own 3 bytes and the 5 bytes of the goto_w.
            out.extend_from_slice(&[inverted.byte(), 0, 8]);
            position += 3;
        }
        Opcode::GotoW
    };
    out.push(wide.byte());
    let offset = target.jump_offset(position);
    out.extend_from_slice(&(offset as i32).to_be_bytes());
    Ok(3)
}

fn write_branch4(
    code: &[u8],
    event: &Event,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<usize, ErrorKind> {
    out.push(opcode_at(code, event.bci));
    let offset = i4_at(code, event.bci.index() + 1).unwrap_or(0);
    write_offset4(event, offset, relocation, out)?;
    Ok(5)
}

fn write_switch(
    code: &[u8],
    event: &Event,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<usize, ErrorKind> {
    let bci = event.bci.index();
    let switch = Switch::at(code, bci)?;
    out.push(opcode_at(code, event.bci));
    // Padding is zero, as JVMS §6.5.tableswitch requires. Old padding of another value is kept if
    // its length does not change.
    let old_padding = code.get(bci + 1..switch.operands_at).unwrap_or_default();
    let padding_len = usize::from(event.snippet.len);
    if old_padding.len() == padding_len {
        out.extend_from_slice(old_padding);
    } else {
        out.resize(out.len() + padding_len, 0);
    }
    write_offset4(event, switch.default, relocation, out)?;
    // Between default and the first case: low and high, or the count.
    let header = if switch.low.is_some() { 12 } else { 8 };
    let fixed = code.get(switch.operands_at + 4..switch.operands_at + header);
    out.extend_from_slice(fixed.unwrap_or_default());
    for (key, offset) in switch.cases() {
        if switch.low.is_none() {
            out.extend_from_slice(&key.to_be_bytes());
        }
        write_offset4(event, offset, relocation, out)?;
    }
    Ok(switch.byte_length())
}

/// Writes the 32-bit offset of a jump. `offset` is the old offset, counted from the instruction to which `event`
/// belongs.
fn write_offset4(
    event: &Event,
    offset: i32,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let target = relocation.target(event.bci.jump(offset)?)?;
    let new_offset = target.jump_offset(event.position);
    out.extend_from_slice(&(new_offset as i32).to_be_bytes());
    Ok(())
}

fn opcode_at(code: &[u8], bci: Bci) -> u8 {
    code.get(bci.index()).copied().unwrap_or(0)
}
