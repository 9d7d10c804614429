//! The exception table (JVMS §4.7.3).

use crate::code::bci::Bci;
use crate::code::instructions::Instruction;
use crate::code::relocation::{EventKind, NewBci, Relocation, Snippet};
use crate::cp_index::CpIndex;
use crate::error::ErrorKind;
use crate::opcode::{Effect, Opcode};

/// One entry of the exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionHandler {
    /// The first instruction that is covered.
    pub start_pc: Bci,
    /// The first instruction after the covered ones; may be `code_length`.
    pub end_pc: Bci,
    /// The first instruction of the handler.
    pub handler_pc: Bci,
    /// Index of the `CONSTANT_Class` that is caught; [`CpIndex::NONE`] if everything is.
    pub catch_type: CpIndex,
}

/// The entries of an exception table, in the order in which the JVM searches them.
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
            start_pc: Bci(u16::from_be_bytes([a, b])),
            end_pc: Bci(u16::from_be_bytes([c, d])),
            handler_pc: Bci(u16::from_be_bytes([e, f])),
            catch_type: CpIndex::from_be_bytes([g, h]),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl ExactSizeIterator for ExceptionTable<'_> {}

/// An added entry: a range of rewritten code, and the added handler that covers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddedHandler {
    pub(crate) start: NewBci,
    pub(crate) end: NewBci,
    pub(crate) handler: NewBci,
}

/// Maximum number of instructions of a handler that [`only_rethrows`] examines. The handler of a `synchronized`
/// block has five instructions.
const LONGEST_CLEANUP: usize = 8;

/// Returns whether a handler only leaves monitors and rethrows, in straight-line code.
///
/// Such a handler calls nothing, so it needs no `caught` probe. It must not have
/// one either: if the probe's call overflowed the stack, the monitor would stay
/// locked.
pub(crate) fn only_rethrows(code: &[u8], handler: Bci) -> bool {
    let mut bci = handler;
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
        bci = instruction.end();
    }
    false
}

/// An exit or `caught` probe, and the old instruction after it.
#[derive(Clone, Copy, Debug)]
struct Gap {
    bci: Bci,
    start: NewBci,
    end: NewBci,
}

/// The pieces into which probes split old entries.
///
/// An entry must not cover a probe at or after its own handler. Compilers make
/// handlers that cover their own first instruction, which cannot throw. But a
/// probe at that instruction can throw when the stack overflows. The handler
/// would then start again, in an endless loop. Handlers that cover one another's
/// probes in a circle would do the same. At least one entry of such a circle has
/// its handler before the probe, and that entry is split.
///
/// An entry whose handler is after the probe stays whole: compilers place an
/// enclosing handler after the code that it encloses, and the handler may have
/// to leave monitors.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    gaps: Vec<Gap>,
    /// For each piece that another piece of the same old entry follows: the index of that old entry.
    followed: Vec<u16>,
}

impl Splits {
    /// Begins a table: finds the exit probes and the `caught` probes.
    fn find(&mut self, relocation: &Relocation, caught: Option<Snippet>) {
        self.followed.clear();
        self.gaps.clear();
        let is_caught = |snippet: Snippet| caught.is_some_and(|own| own.start == snippet.start);
        for event in &relocation.events {
            let can_throw = match event.kind {
                EventKind::InsertExit => true,
                EventKind::InsertBefore => is_caught(event.snippet),
                EventKind::InsertAfter
                | EventKind::Branch2
                | EventKind::Widened
                | EventKind::Branch4
                | EventKind::Switch => false,
            };
            if can_throw {
                self.gaps.push(Gap {
                    bci: event.bci,
                    start: event.position,
                    end: event.position + u32::from(event.snippet.len),
                });
            }
        }
    }

    /// Returns the new index of the first piece of the old entry `entry`.
    pub(crate) fn first_piece(&self, entry: u16) -> u16 {
        let before = self.followed.partition_point(|&followed| followed < entry);
        entry.saturating_add(before as u16)
    }
}

/// Appends the relocated table to `out`, then the added handlers, so that the JVM searches the added handlers last.
/// Returns `None` if there would be more than 65,535 entries.
pub(crate) fn relocate(
    table: ExceptionTable<'_>,
    added: &[AddedHandler],
    relocation: &Relocation,
    caught: Option<Snippet>,
    splits: &mut Splits,
    out: &mut Vec<u8>,
) -> Result<Option<()>, ErrorKind> {
    splits.find(relocation, caught);
    let Splits { gaps, followed } = splits;
    let count_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let mut push = |start: NewBci, end: NewBci, handler: NewBci, catch_type: CpIndex| {
        let ([a, b], [c, d]) = (start.to_be_bytes(), end.to_be_bytes());
        let ([e, f], [g, h]) = (handler.to_be_bytes(), catch_type.to_be_bytes());
        out.extend_from_slice(&[a, b, c, d, e, f, g, h]);
    };
    let rows = table.len() + added.len();
    for (index, entry) in table.enumerate() {
        // A range that began at 0 does not cover the entry probe: an exception of the probe is
        // thrown before the method's own code begins.
        let mut start = relocation.target(entry.start_pc)?;
        let end = relocation.end(entry.end_pc)?;
        let handler = relocation.target(entry.handler_pc)?;
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
        // The piece is not empty: it has the instruction that follows the gap, at which the probe was inserted.
        push(start, end, handler, entry.catch_type);
    }
    for entry in added {
        push(entry.start, entry.end, entry.handler, CpIndex::NONE);
    }
    let Ok(count) = u16::try_from(rows + followed.len()) else {
        return Ok(None);
    };
    if let Some(place) = out.get_mut(count_at..count_at + 2) {
        place.copy_from_slice(&count.to_be_bytes());
    }
    Ok(Some(()))
}
