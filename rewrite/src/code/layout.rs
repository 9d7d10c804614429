//! Placing probes among the instructions: one pass over the code, then, only
//! where 16-bit jumps no longer reach, rounds of widening.

use crate::code::instructions::{length_at, switch_padding, u2_at};
use crate::code::relocation::{Event, EventKind, Relocation, Snippet};
use crate::code::{Bci, MAX_CODE_LENGTH, NewBci};
use crate::error::ErrorKind;
use crate::opcode::{Class, Opcode, SHAPES};
use crate::outcome::{Fault, Reason, Refusal};

/// The probes of one method that do not depend on the instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MethodProbes {
    /// At the very beginning, once an invocation.
    pub(crate) entry: Snippet,
    /// Before every return.
    pub(crate) exit: Option<Snippet>,
    /// At the beginning of every handler.
    pub(crate) caught: Option<Snippet>,
    /// In the added handlers.
    pub(crate) thrown: Snippet,
    /// Behind the calls of a constructor that initialise `this`.
    pub(crate) constructed: Snippet,
    /// Whether [`Sites`] is to be asked.
    pub(crate) sites: bool,
}

/// Makes the probes of allocating instructions.
pub(crate) trait Sites {
    /// The probe behind the `new` at `bci`.
    fn new_object(&mut self, bci: u16) -> Result<Snippet, Refusal>;

    /// The probes before and behind the array creation at `bci`.
    fn new_array(&mut self, bci: u16) -> Result<(Snippet, Snippet), Refusal>;
}

/// A jump of 16 bits reaches this far; code that is shorter needs no look.
const REACH: u32 = i16::MAX as u32;

/// What widening adds: `goto`→`goto_w`, and `if`→inverted `if` over `goto_w`.
const WIDENED_JUMP: i32 = 2;
const WIDENED_IF: i32 = 5;

/// Fills `relocation` for `code` with `probes`. `handlers` are the beginnings
/// of its exception handlers, sorted; `calls` those that initialise `this`, and
/// the probes before them.
#[inline]
pub(crate) fn lay_out(
    code: &[u8],
    probes: &MethodProbes,
    handlers: &[u16],
    calls: &[(u16, Snippet)],
    sites: &mut impl Sites,
    relocation: &mut Relocation,
) -> Result<(), Refusal> {
    let mut position = u32::from(probes.entry.len);
    relocation.reset(code.len(), position);
    let Relocation { map, events, .. } = relocation;
    let mut handlers = handlers.iter().map(|&bci| usize::from(bci));
    let mut next_handler = handlers.next().unwrap_or(usize::MAX);
    let mut calls = calls.iter();
    let mut next_call = calls
        .clone()
        .next()
        .map_or(usize::MAX, |call| call.0.into());
    let mut bci = 0;
    while let Some(&opcode) = code.get(bci) {
        let shape = SHAPES[opcode as usize];
        if let Some(slot) = map.get_mut(bci) {
            *slot = position;
        }
        if shape.class == Class::Plain && bci != next_handler && bci != next_call {
            bci += shape.length as usize;
            position += u32::from(shape.length);
            continue;
        }
        if bci == next_handler {
            next_handler = handlers.next().unwrap_or(usize::MAX);
            if let Some(snippet) = probes.caught {
                insert(events, bci, EventKind::InsertBefore, snippet, &mut position);
            }
        }
        let mut length = u32::from(shape.length);
        let mut behind = None;
        if bci == next_call {
            if let Some(&(_, snippet)) = calls.next() {
                insert(events, bci, EventKind::InsertBefore, snippet, &mut position);
            }
            behind = Some(probes.constructed);
            next_call = calls
                .clone()
                .next()
                .map_or(usize::MAX, |call| call.0.into());
        }
        match shape.class {
            Class::Plain => {}
            Class::Return => {
                if let Some(snippet) = probes.exit {
                    insert(events, bci, EventKind::InsertExit, snippet, &mut position);
                }
            }
            Class::Branch2 => note(events, bci, EventKind::Branch2, 0, position),
            Class::Branch4 => note(events, bci, EventKind::Branch4, 0, position),
            Class::Switch => {
                let old = length_at(code, bci).map_err(|kind| Fault { kind, bci })?;
                let padding = switch_padding(position);
                note(events, bci, EventKind::Switch, padding as u16, position);
                let next = bci + old;
                position += old as u32 - switch_padding(bci as u32) + padding;
                bci = next;
                continue;
            }
            Class::Wide => {
                length = length_at(code, bci).map_err(|kind| Fault { kind, bci })? as u32;
            }
            Class::New => {
                if probes.sites {
                    too_large(position)?;
                    behind = Some(sites.new_object(bci as u16)?);
                }
            }
            Class::Array | Class::MultiArray => {
                if probes.sites && bci + length as usize <= code.len() {
                    too_large(position)?;
                    let (before, after) = sites.new_array(bci as u16)?;
                    insert(events, bci, EventKind::InsertBefore, before, &mut position);
                    behind = Some(after);
                }
            }
            Class::Invalid => {
                let kind = ErrorKind::BadOpcode(opcode);
                return Err(Fault { kind, bci }.into());
            }
        }
        bci += length as usize;
        position += length;
        if let Some(snippet) = behind {
            insert(events, bci, EventKind::InsertAfter, snippet, &mut position);
        }
    }
    if bci != code.len() {
        let kind = ErrorKind::UnexpectedEof {
            needed: bci - code.len(),
            left: 0,
        };
        return Err(Fault {
            kind,
            bci: code.len(),
        }
        .into());
    }
    relocation.place_end(position);
    if position > REACH {
        widen(code, relocation)?;
    }
    Ok(())
}

#[inline]
fn insert(
    events: &mut Vec<Event>,
    bci: usize,
    kind: EventKind,
    snippet: Snippet,
    position: &mut u32,
) {
    if snippet.len != 0 {
        events.push(Event {
            bci: bci as u16,
            kind,
            snippet,
            position: *position,
        });
        *position += u32::from(snippet.len);
    }
}

#[inline]
fn note(events: &mut Vec<Event>, bci: usize, kind: EventKind, len: u16, position: u32) {
    events.push(Event {
        bci: bci as u16,
        kind,
        snippet: Snippet { start: 0, len },
        position,
    });
}

/// Where the 16-bit jump at `bci` leads.
#[inline]
pub(crate) fn branch2_target(code: &[u8], bci: u16) -> Result<Bci, ErrorKind> {
    let offset = u2_at(code, usize::from(bci) + 1).unwrap_or(0) as i16;
    let target = i64::from(bci) + i64::from(offset);
    u16::try_from(target)
        .map(Bci)
        .map_err(|_| ErrorKind::BadBytecodeOffset(target))
}

/// How much longer the 16-bit jump with this opcode becomes when widened.
pub(crate) fn widened_by(opcode: u8) -> i32 {
    if opcode == Opcode::Goto.byte() || opcode == Opcode::Jsr.byte() {
        WIDENED_JUMP
    } else {
        WIDENED_IF
    }
}

/// Widens the jumps that do not reach until all do. Widening moves others
/// apart, never together but for switch padding, and is not undone. Each round
/// may push one more over the limit, so after some rounds those near it are
/// widened too.
fn widen(code: &[u8], relocation: &mut Relocation) -> Result<(), Refusal> {
    for round in 0u32.. {
        let margin = match round.checked_sub(EXACT_ROUNDS) {
            None => 0,
            Some(round) => 1i64 << round.min(15),
        };
        let mut all_reach = true;
        for event in &relocation.events {
            if event.kind == EventKind::Branch2 {
                let offset = offset_of(code, event, relocation)?;
                all_reach &= i16::try_from(offset).is_ok();
            }
        }
        if all_reach {
            break;
        }
        for i in 0..relocation.events.len() {
            let event = relocation.events[i];
            if event.kind == EventKind::Branch2 {
                let offset = offset_of(code, &event, relocation)?;
                if !(-0x8000 + margin..=0x7fff - margin).contains(&offset) {
                    // `snippet.len` 0 tells `move_apart` that it is new.
                    relocation.events[i].kind = EventKind::Widened;
                }
            }
        }
        move_apart(code, relocation);
        too_large(relocation.new_length())?;
    }
    Ok(())
}

/// How far a 16-bit jump has to reach in the rewritten code.
fn offset_of(code: &[u8], event: &Event, relocation: &Relocation) -> Result<i64, Fault> {
    let fault = |kind| Fault {
        kind,
        bci: usize::from(event.bci),
    };
    let target = branch2_target(code, event.bci).map_err(fault)?;
    let NewBci(target) = relocation.target(target).map_err(fault)?;
    Ok(i64::from(target) - i64::from(event.position))
}

/// Rounds in which only what does not reach is widened: real code needs two.
const EXACT_ROUNDS: u32 = 16;

/// Stops planning code that has outgrown its limit already.
fn too_large(len: u32) -> Result<(), Refusal> {
    match len {
        ..=MAX_CODE_LENGTH => Ok(()),
        len => Err(Reason::CodeTooLarge { len }.into()),
    }
}

/// Moves everything behind newly widened jumps, and pads switches anew.
fn move_apart(code: &[u8], relocation: &mut Relocation) {
    let mut delta = 0;
    let mut from = 0;
    for i in 0..relocation.events.len() {
        let mut event = relocation.events[i];
        let bci = usize::from(event.bci);
        if bci >= from {
            relocation.shift(from..bci + 1, delta);
            from = bci + 1;
        }
        event.position = event.position.wrapping_add_signed(delta);
        match event.kind {
            EventKind::Widened if event.snippet.len == 0 => {
                event.snippet.len = 1;
                delta += widened_by(code.get(bci).copied().unwrap_or(0));
            }
            EventKind::Switch => {
                let padding = switch_padding(event.position) as u16;
                delta += i32::from(padding) - i32::from(event.snippet.len);
                event.snippet.len = padding;
            }
            EventKind::Widened
            | EventKind::InsertBefore
            | EventKind::InsertExit
            | EventKind::InsertAfter
            | EventKind::Branch2
            | EventKind::Branch4 => {}
        }
        relocation.events[i] = event;
    }
    relocation.shift(from..code.len() + 1, delta);
}
