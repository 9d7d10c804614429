//! Writing relocated instructions.

use crate::code::instructions::{Switch, i4_at};
use crate::code::layout::branch2_target;
use crate::code::relocation::{Event, EventKind, Relocation, Snippet};
use crate::code::{Bci, NewBci};
use crate::error::ErrorKind;
use crate::opcode::Opcode;
use crate::outcome::Fault;

/// The bytes of a snippet.
#[inline]
pub(crate) fn snippet_bytes(snippets: &[u8], snippet: Snippet) -> &[u8] {
    let start = snippet.start as usize;
    snippets
        .get(start..start + usize::from(snippet.len))
        .unwrap_or_default()
}

/// Appends the relocated `code` with its probes to `out`.
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
        let bci = usize::from(event.bci);
        if bci > copied {
            out.extend_from_slice(code.get(copied..bci).unwrap_or_default());
            copied = bci;
        }
        debug_assert_eq!(out.len() - begin, event.position as usize);
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
        .map_err(|kind| Fault { kind, bci })?;
    }
    out.extend_from_slice(code.get(copied..).unwrap_or_default());
    debug_assert_eq!(out.len() - begin, relocation.new_length() as usize);
    Ok(())
}

#[inline]
fn write_branch2(
    code: &[u8],
    event: &Event,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<usize, ErrorKind> {
    let NewBci(target) = relocation.target(branch2_target(code, event.bci)?)?;
    let offset = i64::from(target) - i64::from(event.position);
    // `widen` left no jump that does not reach.
    let Ok(offset) = i16::try_from(offset) else {
        return Err(ErrorKind::BadBytecodeOffset(offset));
    };
    let [high, low] = offset.to_be_bytes();
    out.extend_from_slice(&[opcode_at(code, event.bci), high, low]);
    Ok(3)
}

fn write_widened(
    code: &[u8],
    event: &Event,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<usize, ErrorKind> {
    let NewBci(target) = relocation.target(branch2_target(code, event.bci)?)?;
    let opcode = opcode_at(code, event.bci);
    let mut position = i64::from(event.position);
    let wide = if opcode == Opcode::Jsr.byte() {
        Opcode::JsrW
    } else {
        if let Some(inverted) = Opcode::from_byte(opcode).and_then(Opcode::inverted) {
            // Over itself and the goto_w.
            out.extend_from_slice(&[inverted.byte(), 0, 8]);
            position += 3;
        }
        Opcode::GotoW
    };
    out.push(wide.byte());
    let offset = i64::from(target) - position;
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
    let offset = i4_at(code, usize::from(event.bci) + 1).unwrap_or(0);
    write_offset4(event, offset, relocation, out)?;
    Ok(5)
}

fn write_switch(
    code: &[u8],
    event: &Event,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<usize, ErrorKind> {
    let bci = usize::from(event.bci);
    let switch = Switch::at(code, bci)?;
    out.push(opcode_at(code, event.bci));
    // Zero, as JVMS asks, but for code that was moved by a multiple of four
    // and did not keep to it.
    let padding = code.get(bci + 1..switch.operands_at).unwrap_or_default();
    match padding.len() == usize::from(event.snippet.len) {
        true => out.extend_from_slice(padding),
        false => out.resize(out.len() + usize::from(event.snippet.len), 0),
    }
    write_offset4(event, switch.default, relocation, out)?;
    // What lies between default and the first case: low and high, or count.
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

/// A 32-bit jump offset, from the event's instruction.
fn write_offset4(
    event: &Event,
    offset: i32,
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let target = i64::from(event.bci) + i64::from(offset);
    let bci = u16::try_from(target).map_err(|_| ErrorKind::BadBytecodeOffset(target))?;
    let NewBci(target) = relocation.target(Bci(bci))?;
    let offset = i64::from(target) - i64::from(event.position);
    out.extend_from_slice(&(offset as i32).to_be_bytes());
    Ok(())
}

fn opcode_at(code: &[u8], bci: u16) -> u8 {
    code.get(usize::from(bci)).copied().unwrap_or(0)
}
