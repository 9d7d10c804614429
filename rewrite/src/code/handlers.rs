//! The exception table (JVMS §4.7.3).

use crate::code::instructions::Instruction;
use crate::code::relocation::{EventKind, Relocation, Snippet};
use crate::code::{Bci, NewBci};
use crate::error::ErrorKind;
use crate::opcode::{Effect, Opcode};

/// One entry of the exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionHandler {
    /// The first instruction covered.
    pub start_pc: u16,
    /// The first instruction no longer covered; may be `code_length`.
    pub end_pc: u16,
    /// Where the handler begins.
    pub handler_pc: u16,
    /// The `CONSTANT_Class` caught; 0 for everything.
    pub catch_type: u16,
}

/// The entries of an exception table, in the order of the search.
#[derive(Clone, Debug)]
pub struct ExceptionTable<'a> {
    entries: std::slice::Iter<'a, [u8; 8]>,
}

impl<'a> ExceptionTable<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        ExceptionTable {
            entries: bytes.as_chunks().0.iter(),
        }
    }
}

impl Iterator for ExceptionTable<'_> {
    type Item = ExceptionHandler;

    fn next(&mut self) -> Option<ExceptionHandler> {
        let &[a, b, c, d, e, f, g, h] = self.entries.next()?;
        Some(ExceptionHandler {
            start_pc: u16::from_be_bytes([a, b]),
            end_pc: u16::from_be_bytes([c, d]),
            handler_pc: u16::from_be_bytes([e, f]),
            catch_type: u16::from_be_bytes([g, h]),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl ExactSizeIterator for ExceptionTable<'_> {}

/// A range of rewritten code and the handler added for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover {
    pub(crate) start: NewBci,
    pub(crate) end: NewBci,
    pub(crate) handler: NewBci,
}

/// The handler of `synchronized` has five instructions.
const LONGEST_CLEANUP: usize = 8;

/// Whether a handler does nothing but leave locks and throw on, in straight
/// code. It calls nothing, so it needs no `caught` probe; and should that meet
/// the end of the stack, the lock would stay locked.
pub(crate) fn only_throws_on(code: &[u8], handler: Bci) -> bool {
    let mut bci = usize::from(handler.0);
    for _ in 0..LONGEST_CLEANUP {
        let Ok(instruction) = Instruction::at(code, bci) else {
            return false;
        };
        let opcode = instruction.acting_opcode();
        match opcode.effect() {
            Effect::Throw => return true,
            Effect::Load(_)
            | Effect::LoadN(..)
            | Effect::Store(_)
            | Effect::StoreN(..)
            | Effect::Duplicate(..)
            | Effect::Swap => {}
            _ if opcode == Opcode::Monitorexit => {}
            _ => return false,
        }
        bci += instruction.bytes.len();
    }
    false
}

/// An exit or `caught` probe, and the instruction it lies before.
#[derive(Clone, Copy, Debug)]
struct Gap {
    bci: u16,
    start: NewBci,
    end: NewBci,
}

/// How the entries of a table are split around probes.
///
/// An entry does not cover a probe that lies at its handler or behind it.
/// Compilers make handlers that cover their own beginning, where nothing can
/// throw; but a probe can, at the end of the stack, and the handler would begin
/// again, for ever. In a circle of handlers that cover one another's probes one
/// leads back, so none is left. Those that lead forward stay: compilers place
/// the enclosing handler later, and it has locks to leave.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    gaps: Vec<Gap>,
    /// The old entry of each piece that another piece of it follows.
    followed: Vec<u16>,
}

impl Splits {
    /// Begins a table: finds the exit probes and those of handlers, `caught`.
    fn find(&mut self, relocation: &Relocation, caught: Option<Snippet>) {
        self.followed.clear();
        self.gaps.clear();
        let is_caught = |snippet: Snippet| caught.is_some_and(|own| own.start == snippet.start);
        for event in &relocation.events {
            let throws = match event.kind {
                EventKind::InsertExit => true,
                EventKind::InsertBefore => is_caught(event.snippet),
                EventKind::InsertAfter
                | EventKind::Branch2
                | EventKind::Widened
                | EventKind::Branch4
                | EventKind::Switch => false,
            };
            if throws {
                self.gaps.push(Gap {
                    bci: event.bci,
                    start: NewBci(event.position),
                    end: NewBci(event.position + u32::from(event.snippet.len)),
                });
            }
        }
    }

    /// Where an old entry went: its first piece.
    pub(crate) fn first_piece(&self, entry: u16) -> u16 {
        let before = self.followed.partition_point(|&followed| followed < entry);
        entry.saturating_add(before as u16)
    }
}

/// Appends the relocated table, and the added handlers behind it so that
/// they are searched last, to `out`. `None` when there are too many.
pub(crate) fn relocate(
    table: ExceptionTable<'_>,
    added: &[Cover],
    relocation: &Relocation,
    caught: Option<Snippet>,
    splits: &mut Splits,
    out: &mut Vec<u8>,
) -> Result<Option<()>, ErrorKind> {
    splits.find(relocation, caught);
    let Splits { gaps, followed } = splits;
    let count_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let mut push = |start: NewBci, end: NewBci, handler: NewBci, catch_type: u16| {
        let ([a, b], [c, d]) = (short(start), short(end));
        let ([e, f], [g, h]) = (short(handler), catch_type.to_be_bytes());
        out.extend_from_slice(&[a, b, c, d, e, f, g, h]);
    };
    let rows = table.len() + added.len();
    for (index, entry) in table.enumerate() {
        // A range that began at 0 leaves out the entry probe: what it throws
        // is thrown before the method's own code begins.
        let mut start = relocation.target(Bci(entry.start_pc))?;
        let end = relocation.end(Bci(entry.end_pc))?;
        let handler = relocation.target(Bci(entry.handler_pc))?;
        let from = entry.start_pc.max(entry.handler_pc);
        let first = gaps.partition_point(|gap| gap.bci < from);
        let rest = gaps.get(first..).unwrap_or_default();
        for gap in rest.iter().take_while(|gap| gap.bci < entry.end_pc) {
            if start < gap.start {
                if rows + followed.len() >= usize::from(u16::MAX) {
                    return Ok(None);
                }
                push(start, gap.start, handler, entry.catch_type);
                followed.push(index as u16);
            }
            start = gap.end;
        }
        // Not empty: behind a gap lies the instruction that the probe is for.
        push(start, end, handler, entry.catch_type);
    }
    for cover in added {
        push(cover.start, cover.end, cover.handler, 0);
    }
    let Ok(count) = u16::try_from(rows + followed.len()) else {
        return Ok(None);
    };
    if let Some(place) = out.get_mut(count_at..count_at + 2) {
        place.copy_from_slice(&count.to_be_bytes());
    }
    Ok(Some(()))
}

/// Rewritten code is at most 65,535 bytes long when tables are written.
fn short(position: NewBci) -> [u8; 2] {
    debug_assert!(position.0 <= u32::from(u16::MAX));
    (position.0 as u16).to_be_bytes()
}
