//! The exception table (JVMS §4.7.3).

use crate::code::relocation::Relocation;
use crate::code::{Bci, NewBci};
use crate::error::ErrorKind;

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

/// Appends the relocated table, and the added handlers behind it so that
/// they are searched last, to `out`. `None` when there are too many.
pub(crate) fn relocate(
    table: ExceptionTable<'_>,
    added: &[Cover],
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<Option<()>, ErrorKind> {
    let Ok(count) = u16::try_from(table.len() + added.len()) else {
        return Ok(None);
    };
    out.extend_from_slice(&count.to_be_bytes());
    let mut push = |start: NewBci, end: NewBci, handler: NewBci, catch_type: u16| {
        let ([a, b], [c, d]) = (short(start), short(end));
        let ([e, f], [g, h]) = (short(handler), catch_type.to_be_bytes());
        out.extend_from_slice(&[a, b, c, d, e, f, g, h]);
    };
    for entry in table {
        // A range that began at 0 leaves out the entry probe: what it throws
        // is thrown before the method's own code begins.
        push(
            relocation.target(Bci(entry.start_pc))?,
            relocation.end(Bci(entry.end_pc))?,
            relocation.target(Bci(entry.handler_pc))?,
            entry.catch_type,
        );
    }
    for cover in added {
        push(cover.start, cover.end, cover.handler, 0);
    }
    Ok(Some(()))
}

/// Rewritten code is at most 65,535 bytes long when tables are written.
fn short(position: NewBci) -> [u8; 2] {
    debug_assert!(position.0 <= u32::from(u16::MAX));
    (position.0 as u16).to_be_bytes()
}
