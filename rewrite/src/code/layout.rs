//! Layout: computes the position of every instruction and probe in the rewritten code.
//!
//! One pass over the old code computes all positions. If the result is so long that a 16-bit jump
//! may not reach its target, rounds of widening follow.

use crate::code::MAX_CODE_LENGTH;
use crate::code::bci::Bci;
use crate::code::instructions::{length_at, switch_padding, u2_at};
use crate::code::relocation::{Event, EventKind, NewBci, Relocation, Snippet};
use crate::error::ErrorKind;
use crate::opcode::{Kind, Opcode, SHAPES, Shape};
use crate::outcome::{Fault, Reason, Refusal};

/// The probes of a method whose bytes do not depend on the instruction at which they are inserted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MethodProbes {
    /// The probe at the beginning of the method, which runs once in an invocation.
    pub(crate) entry: Snippet,
    /// The probe before every return.
    pub(crate) exit: Option<Snippet>,
    /// The probe at the beginning of every handler.
    pub(crate) caught: Option<Snippet>,
    /// The probe in the added handlers, before they rethrow.
    pub(crate) thrown: Snippet,
    /// The probe after the calls that initialise `this`, in a constructor.
    pub(crate) constructed: Snippet,
    /// True if allocating instructions get probes, which a [`Sites`] makes.
    pub(crate) sites: bool,
}

/// Makes the probes of allocating instructions.
pub(crate) trait Sites {
    /// Writes the probe after the `new` at `bci`.
    fn new_object(&mut self, bci: Bci) -> Result<Snippet, Refusal>;

    /// Writes the probes before and after the array creation at `bci`.
    fn new_array(&mut self, bci: Bci) -> Result<(Snippet, Snippet), Refusal>;
}

/// Maximum distance in bytes of a forward jump with a 16-bit offset. In code of at most this length, every jump
/// reaches its target.
const REACH: u32 = i16::MAX as u32;

/// Bytes that widening adds to a `goto` or `jsr`, which becomes `goto_w` or
/// `jsr_w`.
const WIDENED_JUMP: i32 = 2;
/// Bytes that widening adds to an `if`, which becomes the inverted `if` over a
/// `goto_w`.
const WIDENED_IF: i32 = 5;

/// Fills `relocation` for `code` with `probes`. `handlers` are the first instructions of the exception handlers
/// that get a `caught` probe. `calls` are the calls that initialise `this`, each with the probe before the call.
/// Both are in code order.
///
/// This is the rewriter's innermost loop, and most instructions are
/// [`Kind::Plain`]: such an instruction costs a table look-up and a store in the map.
#[inline]
pub(crate) fn lay_out(
    code: &[u8],
    probes: &MethodProbes,
    handlers: &[Bci],
    calls: &[(Bci, Snippet)],
    sites: &mut impl Sites,
    relocation: &mut Relocation,
) -> Result<(), Refusal> {
    relocation.reset(code.len(), u32::from(probes.entry.len));
    let mut position = relocation.entry_end;
    let Relocation { map, events, .. } = relocation;
    let mut handlers = handlers.iter().map(|bci| bci.index());
    let mut next_handler = handlers.next().unwrap_or(usize::MAX);
    let mut calls = calls.iter();
    let mut next_call = index_of_next(&calls);
    let mut bci = 0;
    while let Some(&opcode) = code.get(bci) {
        let shape = SHAPES[opcode as usize];
        if let Some(slot) = map.get_mut(bci) {
            *slot = position;
        }
        if shape.kind == Kind::Plain && bci != next_handler && bci != next_call {
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
        let mut behind = None;
        if bci == next_call {
            if let Some(&(_, snippet)) = calls.next() {
                insert(events, bci, EventKind::InsertBefore, snippet, &mut position);
            }
            behind = Some(probes.constructed);
            next_call = index_of_next(&calls);
        }
        let instruction = Placing { code, bci, shape };
        let (old_len, new_len) =
            instruction.place(probes, sites, events, &mut position, &mut behind)?;
        bci += old_len;
        position += new_len;
        if let Some(snippet) = behind {
            insert(events, bci, EventKind::InsertAfter, snippet, &mut position);
        }
    }
    if bci != code.len() {
        let kind = ErrorKind::UnexpectedEof {
            needed: bci - code.len(),
            left: 0,
        };
        return Err(fault_at(code.len())(kind).into());
    }
    relocation.place_end(position);
    if position.offset() > REACH {
        widen(code, relocation)?;
    }
    Ok(())
}

/// An instruction that is being placed, at the index `bci` of `code`.
struct Placing<'a> {
    code: &'a [u8],
    bci: usize,
    shape: Shape,
}

impl Placing<'_> {
    /// Places the probe before the instruction, if there is one. Records the instruction if its bytes depend on
    /// the layout. Sets `behind` to the probe after an allocation. Returns the instruction's old and new length
    /// in bytes.
    #[inline(always)]
    fn place(
        &self,
        probes: &MethodProbes,
        sites: &mut impl Sites,
        events: &mut Vec<Event>,
        position: &mut NewBci,
        behind: &mut Option<Snippet>,
    ) -> Result<(usize, u32), Refusal> {
        let &Placing { code, bci, shape } = self;
        let mut length = usize::from(shape.length);
        match shape.kind {
            Kind::Plain => {}
            Kind::Return => {
                if let Some(snippet) = probes.exit {
                    insert(events, bci, EventKind::InsertExit, snippet, position);
                }
            }
            Kind::Branch2 => note(events, bci, EventKind::Branch2, 0, *position),
            Kind::Branch4 => note(events, bci, EventKind::Branch4, 0, *position),
            Kind::Switch => {
                let old_len = length_at(code, bci).map_err(fault_at(bci))?;
                let padding = switch_padding(position.offset());
                note(events, bci, EventKind::Switch, padding as u16, *position);
                let new_len = old_len as u32 - switch_padding(bci as u32) + padding;
                return Ok((old_len, new_len));
            }
            Kind::Wide => length = length_at(code, bci).map_err(fault_at(bci))?,
            Kind::New => {
                if probes.sites {
                    too_large(*position)?;
                    *behind = Some(sites.new_object(Bci::from_index(bci))?);
                }
            }
            Kind::Array | Kind::MultiArray => {
                if probes.sites && bci + length <= code.len() {
                    too_large(*position)?;
                    let (before, after) = sites.new_array(Bci::from_index(bci))?;
                    insert(events, bci, EventKind::InsertBefore, before, position);
                    *behind = Some(after);
                }
            }
            Kind::Invalid => {
                let opcode = code.get(bci).copied().unwrap_or(0);
                return Err(fault_at(bci)(ErrorKind::BadOpcode(opcode)).into());
            }
        }
        Ok((length, length as u32))
    }
}

/// Returns the index into the code of the next element of `calls`, or `usize::MAX` if there is none.
#[inline]
fn index_of_next(calls: &std::slice::Iter<'_, (Bci, Snippet)>) -> usize {
    calls
        .as_slice()
        .first()
        .map_or(usize::MAX, |(bci, _)| bci.index())
}

#[inline]
fn fault_at(index: usize) -> impl Fn(ErrorKind) -> Fault {
    move |kind| Fault {
        kind,
        bci: Bci::from_index(index),
    }
}

/// Places `snippet` at `position`, and moves the position after it.
#[inline]
fn insert(
    events: &mut Vec<Event>,
    bci: usize,
    kind: EventKind,
    snippet: Snippet,
    position: &mut NewBci,
) {
    if snippet.len != 0 {
        events.push(Event {
            bci: Bci::from_index(bci),
            kind,
            snippet,
            position: *position,
        });
        *position += u32::from(snippet.len);
    }
}

/// Records an old instruction whose bytes depend on the layout, at its new `position`.
#[inline]
fn note(events: &mut Vec<Event>, bci: usize, kind: EventKind, len: u16, position: NewBci) {
    events.push(Event {
        bci: Bci::from_index(bci),
        kind,
        snippet: Snippet { start: 0, len },
        position,
    });
}

/// Returns the old target of the 16-bit jump at `bci`.
#[inline]
pub(crate) fn branch2_target(code: &[u8], bci: Bci) -> Result<Bci, ErrorKind> {
    let offset = u2_at(code, bci.index() + 1).unwrap_or(0) as i16;
    bci.jump(i32::from(offset))
}

/// Returns the number of bytes that widening adds to the 16-bit jump with this opcode.
fn widened_by(opcode: u8) -> i32 {
    if opcode == Opcode::Goto.byte() || opcode == Opcode::Jsr.byte() {
        WIDENED_JUMP
    } else {
        WIDENED_IF
    }
}

/// Widens, in rounds, the jumps that do not reach their targets, until all jumps reach.
///
/// Widening a jump makes other jumps longer, or leaves them as long as they were (apart from switch padding), and
/// a widened jump stays wide. So the rounds end. But each round may make only one more jump too long. So after
/// [`EXACT_ROUNDS`] rounds the jumps near the limit are also widened.
fn widen(code: &[u8], relocation: &mut Relocation) -> Result<(), Refusal> {
    for round in 0u32.. {
        let margin = match round.checked_sub(EXACT_ROUNDS) {
            None => 0,
            Some(further) => 1i64 << further.min(15),
        };
        let mut all_reach = true;
        for event in &relocation.events {
            if event.kind == EventKind::Branch2 {
                let offset = new_offset(code, event, relocation)?;
                all_reach &= i16::try_from(offset).is_ok();
            }
        }
        if all_reach {
            break;
        }
        for i in 0..relocation.events.len() {
            let event = relocation.events[i];
            if event.kind == EventKind::Branch2 {
                let offset = new_offset(code, &event, relocation)?;
                if !(-0x8000 + margin..=0x7fff - margin).contains(&offset) {
                    // `snippet.len` 0 marks the jump as newly widened, for `move_apart`.
                    relocation.events[i].kind = EventKind::Widened;
                }
            }
        }
        move_apart(code, relocation);
        too_large(relocation.code_end())?;
    }
    Ok(())
}

/// Returns the offset that the 16-bit jump of `event` needs in the rewritten code.
fn new_offset(code: &[u8], event: &Event, relocation: &Relocation) -> Result<i64, Fault> {
    let fault = |kind| Fault {
        kind,
        bci: event.bci,
    };
    let old_target = branch2_target(code, event.bci).map_err(fault)?;
    let target = relocation.target(old_target).map_err(fault)?;
    Ok(target.jump_offset(event.position))
}

/// The number of rounds in which only the jumps that do not reach are widened.
/// Real code needs two.
const EXACT_ROUNDS: u32 = 16;

/// Refuses the method if the code up to `position` is longer than [`MAX_CODE_LENGTH`].
fn too_large(position: NewBci) -> Result<(), Refusal> {
    match position.offset() {
        ..=MAX_CODE_LENGTH => Ok(()),
        len => Err(Reason::CodeTooLarge { len }.into()),
    }
}

/// Moves the code after newly widened jumps, and computes the padding of switches again.
fn move_apart(code: &[u8], relocation: &mut Relocation) {
    let mut delta = 0;
    let mut from = 0;
    for i in 0..relocation.events.len() {
        let mut event = relocation.events[i];
        let bci = event.bci.index();
        if bci >= from {
            relocation.shift(from..bci + 1, delta);
            from = bci + 1;
        }
        event.position.move_by(delta);
        match event.kind {
            EventKind::Widened if event.snippet.len == 0 => {
                event.snippet.len = 1;
                delta += widened_by(code.get(bci).copied().unwrap_or(0));
            }
            EventKind::Switch => {
                let padding = switch_padding(event.position.offset()) as u16;
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
