//! Where each instruction went.

use std::cell::OnceCell;

use crate::code::{Bci, NewBci};
use crate::error::ErrorKind;

/// Marks offsets at which no instruction begins.
const NOWHERE: u32 = u32::MAX;

/// A sequence of bytes in the snippet buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Snippet {
    pub(crate) start: u32,
    pub(crate) len: u16,
}

/// What happens at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A probe before the instruction; jumps to it reach the probe.
    InsertBefore,
    /// The exit probe before a return, which no added handler covers.
    InsertExit,
    /// A probe behind the instruction before this one; jumps pass it by.
    InsertAfter,
    /// A jump with a 16-bit offset.
    Branch2,
    /// The same, with a 32-bit offset from now on.
    Widened,
    /// A jump with a 32-bit offset.
    Branch4,
    /// A switch, its padding in `Event::snippet.len`.
    Switch,
}

/// One place where rewritten code differs from the code as it was, or may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The instruction.
    pub(crate) bci: u16,
    pub(crate) kind: EventKind,
    /// The inserted bytes, for the `Insert` kinds.
    pub(crate) snippet: Snippet,
    /// Where its first byte lies in the rewritten code.
    pub(crate) position: u32,
}

/// The map from old to new bytecode offsets, and the events in code order.
#[derive(Debug, Default)]
pub(crate) struct Relocation {
    /// By old offset: where jumps to the instruction lead, which is before
    /// its probes but behind the entry probe.
    pub(crate) map: Vec<u32>,
    pub(crate) events: Vec<Event>,
    /// The length of the entry probe.
    pub(crate) entry_len: u32,
    /// Where instructions begin, for offsets inside them; seldom needed.
    starts: OnceCell<Vec<u16>>,
}

impl Relocation {
    /// Begins a method of `code_length` bytes.
    #[inline]
    pub(crate) fn reset(&mut self, code_length: usize, entry_len: u32) {
        self.map.clear();
        self.map.resize(code_length + 1, NOWHERE);
        self.events.clear();
        self.entry_len = entry_len;
        self.starts.take();
    }

    /// Ends the code at `position`.
    #[inline]
    pub(crate) fn place_end(&mut self, position: u32) {
        if let Some(slot) = self.map.last_mut() {
            *slot = position;
        }
    }

    /// Whether any probe was placed.
    pub(crate) fn inserts(&self) -> bool {
        let is_insert = |event: &Event| match event.kind {
            EventKind::InsertBefore | EventKind::InsertExit | EventKind::InsertAfter => true,
            EventKind::Branch2 | EventKind::Widened | EventKind::Branch4 | EventKind::Switch => {
                false
            }
        };
        self.entry_len != 0 || self.events.iter().any(is_insert)
    }

    /// The length of the rewritten code up to the added handlers.
    #[inline]
    pub(crate) fn new_length(&self) -> u32 {
        self.map.last().copied().unwrap_or(0)
    }

    /// Adds `delta` to the new offsets of the old offsets in `range`.
    pub(crate) fn shift(&mut self, range: std::ops::Range<usize>, delta: i32) {
        if delta != 0 {
            for slot in self.map.get_mut(range).unwrap_or_default() {
                if *slot != NOWHERE {
                    *slot = slot.wrapping_add_signed(delta);
                }
            }
        }
    }

    #[inline]
    fn lookup(&self, bci: Bci) -> Option<u32> {
        self.map
            .get(bci.0 as usize)
            .copied()
            .filter(|&position| position != NOWHERE)
    }

    #[cold]
    fn nowhere(bci: Bci) -> ErrorKind {
        ErrorKind::BadBytecodeOffset(i64::from(bci.0))
    }

    /// Where a jump, a handler or a frame at `bci` belongs: before the probes
    /// of that instruction, but behind the entry probe, which runs once.
    #[inline]
    pub(crate) fn target(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        match self.lookup(bci) {
            Some(position) if usize::from(bci.0) + 1 != self.map.len() => Ok(NewBci(position)),
            _ => Err(Self::nowhere(bci)),
        }
    }

    /// Where a range that ended before `bci` ends now; `bci` may be
    /// `code_length`.
    #[inline]
    pub(crate) fn end(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        self.lookup(bci)
            .map(NewBci)
            .ok_or_else(|| Self::nowhere(bci))
    }

    /// Where the instruction itself went, behind its probes: `new`
    /// instructions in frames, targets of type annotations.
    pub(crate) fn instruction(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        let NewBci(mut position) = self.target(bci)?;
        let first = self.events.partition_point(|event| event.bci < bci.0);
        let rest = self.events.get(first..).unwrap_or_default();
        for event in rest.iter().take_while(|event| event.bci == bci.0) {
            match event.kind {
                EventKind::InsertBefore | EventKind::InsertExit => {
                    position += u32::from(event.snippet.len);
                }
                EventKind::InsertAfter
                | EventKind::Branch2
                | EventKind::Widened
                | EventKind::Branch4
                | EventKind::Switch => {}
            }
        }
        Ok(NewBci(position))
    }

    /// Where an offset of a debugger's table went. Such a table that began
    /// at 0 begins at 0, and an offset inside an instruction, which the VM
    /// does not refuse there, stays inside it.
    #[inline]
    pub(crate) fn debug(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        if bci.0 == 0 {
            return Ok(NewBci(0));
        }
        match self.lookup(bci) {
            Some(position) => Ok(NewBci(position)),
            None => self.inside(bci).map(|(position, last)| position.min(last)),
        }
    }

    /// The same for a table in which two offsets must not become one: the VM
    /// refuses local variables that are there twice.
    #[inline]
    pub(crate) fn debug_distinct(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        if bci.0 == 0 || self.lookup(bci).is_some() {
            return self.debug(bci);
        }
        match self.inside(bci)? {
            (position, last) if position <= last => Ok(position),
            _ => Err(Self::nowhere(bci)),
        }
    }

    /// Where an offset inside an instruction would go if that kept its length,
    /// and the instruction's last byte: a switch may have lost padding.
    #[cold]
    fn inside(&self, bci: Bci) -> Result<(NewBci, NewBci), ErrorKind> {
        let starts = self.starts.get_or_init(|| {
            let placed = self.map.iter().enumerate();
            let placed = placed.filter(|(_, position)| **position != NOWHERE);
            placed.map(|(bci, _)| bci as u16).collect()
        });
        let next = starts.partition_point(|&start| start <= bci.0);
        let (Some(&before), Some(&behind)) = (
            next.checked_sub(1).and_then(|before| starts.get(before)),
            starts.get(next),
        ) else {
            return Err(Self::nowhere(bci));
        };
        let NewBci(start) = self.instruction(Bci(before))?;
        let NewBci(end) = self.end(Bci(behind))?;
        let position = start + u32::from(bci.0 - before);
        Ok((NewBci(position), NewBci(end.saturating_sub(1))))
    }

    /// Where a further line that began at `bci` begins. The VM gives the first
    /// such line to that instruction and the last to those behind it; with a
    /// probe before the instruction the first is no longer found by equality,
    /// so the others begin behind it.
    #[cold]
    pub(crate) fn debug_again(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        let start = self.debug(bci)?;
        if self.lookup(bci).is_none() || self.instruction(bci)? == start {
            return Ok(start);
        }
        let behind = self.map.get(usize::from(bci.0) + 1..).unwrap_or_default();
        let next = behind.iter().find(|&&position| position != NOWHERE);
        // Not at the end, where no line may begin.
        Ok(next
            .filter(|&&position| position != self.new_length())
            .map_or(start, |&position| NewBci(position)))
    }
}
