//! The relocation map: the new offset of every instruction, and the events at which the code changes.
//!
//! If a probe was inserted at an instruction, the instruction's old offset corresponds to several new ones. A
//! jump to the instruction must lead to the probe before it. A frame that refers to a `new` needs the offset of
//! the instruction, after the probe. A debug table begins at the method's first byte. [`Relocation`] has one
//! method for each of these cases. It is also the only type that makes a [`NewBci`] from a [`Bci`], so no offset
//! can be written without relocating it.

use std::cell::OnceCell;
use std::ops::{Add, AddAssign, Range};

use crate::code::bci::Bci;
use crate::error::ErrorKind;

/// Offset in bytes from a method's first instruction, in the rewritten code.
///
/// It has 32 bits, because during the layout the code may exceed the limit of 65,535 bytes. The
/// method is then refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct NewBci(u32);

impl NewBci {
    /// The first byte of the rewritten code.
    pub(crate) const START: NewBci = NewBci(0);

    /// Marks the old offsets at which no instruction begins.
    const NOWHERE: NewBci = NewBci(u32::MAX);

    /// Returns the distance in bytes from the first byte of the rewritten code; at the end of the code, the
    /// code's length.
    #[inline]
    pub(crate) fn offset(self) -> u32 {
        self.0
    }

    /// Returns the offset that a jump instruction at `from` needs in order to reach `self`.
    #[inline]
    pub(crate) fn jump_offset(self, from: NewBci) -> i64 {
        i64::from(self.0) - i64::from(from.0)
    }

    /// Returns the two bytes for an entry of a table. Tables are written only when the code is known to be at
    /// most 65,535 bytes long.
    #[inline]
    pub(crate) fn to_be_bytes(self) -> [u8; 2] {
        debug_assert!(
            self.0 <= u32::from(u16::MAX),
            "offset {} is beyond the longest code",
            self.0
        );
        (self.0 as u16).to_be_bytes()
    }

    /// Moves the offset by `delta` bytes, forwards or backwards.
    #[inline]
    pub(crate) fn move_by(&mut self, delta: i32) {
        self.0 = self.0.wrapping_add_signed(delta);
    }
}

impl Add<u32> for NewBci {
    type Output = NewBci;

    #[inline]
    fn add(self, len: u32) -> NewBci {
        NewBci(self.0 + len)
    }
}

impl AddAssign<u32> for NewBci {
    #[inline]
    fn add_assign(&mut self, len: u32) {
        self.0 += len;
    }
}

/// A sequence of bytes in the snippet buffer: injected instructions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Snippet {
    pub(crate) start: u32,
    pub(crate) len: u16,
}

/// The kind of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A probe before the instruction; jumps to it reach the probe.
    InsertBefore,
    /// The exit probe before a return, which no added handler covers.
    InsertExit,
    /// A probe that belongs to the instruction before `bci`. Jumps to `bci` do
    /// not reach the probe.
    InsertAfter,
    /// A jump with a 16-bit offset.
    Branch2,
    /// A jump whose 16-bit offset was widened to 32 bits.
    Widened,
    /// A jump with a 32-bit offset.
    Branch4,
    /// A switch. The length of its new padding is in `Event::snippet.len`.
    Switch,
}

/// A point at which the rewritten code differs, or may differ, from the original.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The offset of the instruction in the original code.
    pub(crate) bci: Bci,
    pub(crate) kind: EventKind,
    /// For the `Insert` kinds, the inserted bytes. For a switch, `len` is the length of the new padding. For a widened
    /// jump, `len` is 1 once the code after the jump has been moved.
    pub(crate) snippet: Snippet,
    /// The event's first byte in the rewritten code.
    pub(crate) position: NewBci,
}

/// The map from old to new bytecode offsets, and the events in code order.
#[derive(Debug)]
pub(crate) struct Relocation {
    /// For each old offset, the new position: before the probes of the instruction there, but after the entry
    /// probe. The last element is the end of the code.
    pub(crate) map: Vec<NewBci>,
    pub(crate) events: Vec<Event>,
    /// The end of the entry probe: the position of the first old instruction.
    pub(crate) entry_end: NewBci,
    /// The old offsets at which instructions begin, in order. Computed when an offset inside an
    /// instruction is relocated, which is rare.
    starts: OnceCell<Vec<Bci>>,
}

impl Default for Relocation {
    fn default() -> Self {
        Relocation {
            map: Vec::new(),
            events: Vec::new(),
            entry_end: NewBci::START,
            starts: OnceCell::new(),
        }
    }
}

impl Relocation {
    /// Begins a method whose old code has `code_length` bytes and whose entry probe has `entry_len` bytes.
    #[inline]
    pub(crate) fn reset(&mut self, code_length: usize, entry_len: u32) {
        self.map.clear();
        self.map.resize(code_length + 1, NewBci::NOWHERE);
        self.events.clear();
        self.entry_end = NewBci::START + entry_len;
        self.starts.take();
    }

    /// Ends the code at `position`.
    #[inline]
    pub(crate) fn place_end(&mut self, position: NewBci) {
        if let Some(slot) = self.map.last_mut() {
            *slot = position;
        }
    }

    /// Returns whether any probe was placed.
    pub(crate) fn inserts(&self) -> bool {
        let is_insert = |event: &Event| match event.kind {
            EventKind::InsertBefore | EventKind::InsertExit | EventKind::InsertAfter => true,
            EventKind::Branch2 | EventKind::Widened | EventKind::Branch4 | EventKind::Switch => {
                false
            }
        };
        self.entry_end != NewBci::START || self.events.iter().any(is_insert)
    }

    /// Returns the end of the rewritten code, where the added handlers begin.
    #[inline]
    pub(crate) fn code_end(&self) -> NewBci {
        self.map.last().copied().unwrap_or(NewBci::START)
    }

    /// Moves the new positions of the old offsets in `range` by `delta` bytes.
    pub(crate) fn shift(&mut self, range: Range<usize>, delta: i32) {
        if delta != 0 {
            for slot in self.map.get_mut(range).unwrap_or_default() {
                if *slot != NewBci::NOWHERE {
                    slot.move_by(delta);
                }
            }
        }
    }

    #[inline]
    fn lookup(&self, bci: Bci) -> Option<NewBci> {
        self.map
            .get(bci.index())
            .copied()
            .filter(|&position| position != NewBci::NOWHERE)
    }

    #[cold]
    fn nowhere(bci: Bci) -> ErrorKind {
        ErrorKind::BadBytecodeOffset(i64::from(bci))
    }

    /// Returns the position of a jump target, handler or frame at `bci`: before the probes of that instruction,
    /// but after the entry probe, which runs once.
    #[inline]
    pub(crate) fn target(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        match self.lookup(bci) {
            Some(position) if bci.index() + 1 != self.map.len() => Ok(position),
            _ => Err(Self::nowhere(bci)),
        }
    }

    /// Returns the new end of a range that ended before `bci`, which may be `code_length`.
    #[inline]
    pub(crate) fn end(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        self.lookup(bci).ok_or_else(|| Self::nowhere(bci))
    }

    /// Returns the position of the instruction itself, after its probes. Frames that refer to a `new` need this
    /// position, and so do type annotations.
    pub(crate) fn instruction(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        let mut position = self.target(bci)?;
        let first = self.events.partition_point(|event| event.bci < bci);
        let rest = self.events.get(first..).unwrap_or_default();
        for event in rest.iter().take_while(|event| event.bci == bci) {
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
        Ok(position)
    }

    /// Returns the new offset for a debug table. 0 stays 0, so that the table covers the entry probe. In a debug
    /// table the JVM accepts an offset inside an instruction; the new offset is then inside the same instruction.
    #[inline]
    pub(crate) fn debug(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        if bci == Bci::START {
            return Ok(NewBci::START);
        }
        match self.lookup(bci) {
            Some(position) => Ok(position),
            None => self.inside(bci).map(|(position, last)| position.min(last)),
        }
    }

    /// Does the same as [`Relocation::debug`] for a table in which two different offsets must not
    /// become equal: the JVM refuses a local variable that is listed twice.
    #[inline]
    pub(crate) fn debug_distinct(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        if bci == Bci::START || self.lookup(bci).is_some() {
            return self.debug(bci);
        }
        match self.inside(bci)? {
            (position, last) if position <= last => Ok(position),
            _ => Err(Self::nowhere(bci)),
        }
    }

    /// Returns two new offsets for an old offset inside an instruction: the offset that is right if the
    /// instruction kept its length, and the offset of the instruction's last byte. If the padding of a switch has
    /// shrunk, the first offset may be after the second.
    #[cold]
    fn inside(&self, bci: Bci) -> Result<(NewBci, NewBci), ErrorKind> {
        let starts = self.starts.get_or_init(|| {
            let placed = self.map.iter().enumerate();
            let placed = placed.filter(|(_, position)| **position != NewBci::NOWHERE);
            placed.map(|(index, _)| Bci::from_index(index)).collect()
        });
        let next = starts.partition_point(|&start| start <= bci);
        let (Some(&before), Some(&behind)) = (
            next.checked_sub(1).and_then(|before| starts.get(before)),
            starts.get(next),
        ) else {
            return Err(Self::nowhere(bci));
        };
        let start = self.instruction(before)?;
        let end = self.end(behind)?;
        let position = start + (u32::from(bci) - u32::from(before));
        Ok((position, NewBci(end.0.saturating_sub(1))))
    }

    /// Returns the new `start_pc` of an entry in a line table, if an earlier entry has the same
    /// `bci`. The JVM uses the first such entry for the instruction at `bci`, and the last one for
    /// the instructions after it. A probe moves the first entry away from its instruction, so the
    /// later entries begin after the instruction.
    #[cold]
    pub(crate) fn debug_again(&self, bci: Bci) -> Result<NewBci, ErrorKind> {
        let start = self.debug(bci)?;
        if self.lookup(bci).is_none() || self.instruction(bci)? == start {
            return Ok(start);
        }
        let behind = self.map.get(bci.index() + 1..).unwrap_or_default();
        let next = behind.iter().find(|&&position| position != NewBci::NOWHERE);
        // No line may begin at the end of the code.
        Ok(next
            .copied()
            .filter(|&position| position != self.code_end())
            .unwrap_or(start))
    }
}
