//! Prints lines, and the constants and offsets in them.

use std::fmt::{self, Write};
use std::ops::Range;

use crate::class::ClassFile;
use crate::code::bci::Bci;
use crate::constant_pool::ConstantPool;
use crate::cp_index::CpIndex;
use crate::error::Error;
use crate::modified_utf8::fnv_1a;
use crate::text::constants;

/// One line of a class's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line, without its end.
    pub text: String,
    /// The bytecode offsets in `text`, each with its range of bytes in `text` and its value. They are the part of
    /// a line that changes when code moves.
    pub offsets: Vec<(Range<usize>, i64)>,
    /// The number of the class's `Code` attribute to which the line belongs, from 1; 0 for no such attribute.
    pub code: usize,
    /// The offset of the instruction that the line shows, if it shows one.
    pub instruction: Option<Bci>,
}

/// Tells whether constant-pool indexes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indexes {
    Shown,
    /// Only the values of the constants are printed, so that two classes can be compared.
    Hidden,
}

/// The reason why printing a structure ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The structure cannot be read any further.
    Unreadable(Error),
    /// Writing to the output failed.
    Output,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Unreadable(error)
    }
}

impl From<fmt::Error> for Stop {
    fn from(_: fmt::Error) -> Self {
        Stop::Output
    }
}

/// Prints a class line by line. As a [`fmt::Write`] it appends to the current line, which [`Printer::end`] passes
/// to the output.
pub(super) struct Printer<'x, 'a> {
    pub(super) class: &'x ClassFile<'a>,
    pub(super) indexes: Indexes,
    indent: usize,
    line: Line,
    codes: usize,
    output: &'x mut dyn FnMut(&Line) -> fmt::Result,
}

impl fmt::Write for Printer<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.line.text.is_empty() {
            let indent = self.indent;
            self.line.text.extend(std::iter::repeat_n(' ', indent));
        }
        self.line.text.push_str(text);
        Ok(())
    }
}

impl<'x, 'a> Printer<'x, 'a> {
    pub(super) fn new(
        class: &'x ClassFile<'a>,
        indexes: Indexes,
        output: &'x mut dyn FnMut(&Line) -> fmt::Result,
    ) -> Self {
        Printer {
            class,
            indexes,
            indent: 0,
            line: Line::default(),
            codes: 0,
            output,
        }
    }

    pub(super) fn pool(&self) -> &'x ConstantPool<'a> {
        self.class.pool()
    }

    /// Ends the line, and passes it to the output.
    pub(super) fn end(&mut self) -> fmt::Result {
        let end = self.line.text.trim_end_matches(' ').len();
        self.line.text.truncate(end);
        let written = (self.output)(&self.line);
        self.line.text.clear();
        self.line.offsets.clear();
        self.line.instruction = None;
        written
    }

    /// Runs `write`, whose lines belong to one `Code` attribute.
    pub(super) fn in_code<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        self.codes += 1;
        self.line.code = self.codes;
        let result = write(self);
        self.line.code = 0;
        result
    }

    /// Writes a whole line.
    pub(super) fn line(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.write_fmt(text)?;
        self.end()
    }

    /// Runs `write` with its lines indented by two more columns.
    pub(super) fn indented<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        self.indent += 2;
        let result = write(self);
        self.indent -= 2;
        result
    }

    /// Runs `write` with its lines indented by two more columns. If a structure is unreadable, a
    /// line shows the error, and printing continues after the structure.
    pub(super) fn readable(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> fmt::Result {
        self.indented(|printer| match write(printer) {
            Ok(()) => Ok(()),
            Err(Stop::Output) => Err(fmt::Error),
            Err(Stop::Unreadable(error)) => printer.error(&error),
        })
    }

    /// Writes a line with the error, after ending a line that was begun.
    pub(super) fn error(&mut self, error: &Error) -> fmt::Result {
        if !self.line.text.is_empty() {
            self.end()?;
        }
        self.line(format_args!("error: {error}"))
    }

    /// Marks the line as the one of the instruction at `bci`, and begins the line with that offset.
    pub(super) fn instruction(&mut self, bci: Bci) -> fmt::Result {
        self.line.instruction = Some(bci);
        let text = bci.to_string();
        write!(
            self,
            "{:width$}",
            "",
            width = 5usize.saturating_sub(text.len())
        )?;
        self.offset(i64::from(bci))
    }

    /// Writes a bytecode offset, and records its range in the line.
    pub(super) fn offset(&mut self, offset: i64) -> fmt::Result {
        // The first text of a line is preceded by the indentation.
        self.write_str("")?;
        let start = self.line.text.len();
        write!(self, "{offset}")?;
        let end = self.line.text.len();
        self.line.offsets.push((start..end, offset));
        Ok(())
    }

    /// Writes a range of bytecode offsets, the end exclusive: `0..12`.
    pub(super) fn range(&mut self, start: Bci, end: u32) -> fmt::Result {
        self.offset(i64::from(start))?;
        self.write_str("..")?;
        self.offset(i64::from(end))
    }

    /// Writes an index and the value of its constant.
    pub(super) fn constant(&mut self, index: CpIndex) -> fmt::Result {
        if self.indexes == Indexes::Shown {
            write!(self, "#{index} ")?;
        }
        if index.is_none() {
            return self.write_str("none");
        }
        write!(self, "{}", constants::resolved(self.pool(), index))
    }

    /// Writes an index, and as a comment the tag and the value of its constant.
    pub(super) fn operand(&mut self, index: CpIndex) -> fmt::Result {
        if self.indexes == Indexes::Shown {
            write!(self, "#{index}  // ")?;
        }
        if let Ok(constant) = self.pool().get(index) {
            write!(self, "{} ", constants::tag_name(&constant))?;
        }
        write!(self, "{}", constants::resolved(self.pool(), index))
    }

    /// Writes the first 64 bytes in hexadecimal. If there are more bytes, the number of bytes left out follows, and a
    /// hash of all bytes, so that different values can be told apart.
    pub(super) fn hex(&mut self, bytes: &[u8]) -> fmt::Result {
        const SHOWN: usize = 64;
        let (shown, rest) = bytes.split_at_checked(SHOWN).unwrap_or((bytes, &[]));
        for chunk in shown.chunks(32) {
            for (i, byte) in chunk.iter().enumerate() {
                let blank = if i > 0 && i % 4 == 0 { " " } else { "" };
                write!(self, "{blank}{byte:02x}")?;
            }
            self.end()?;
        }
        match rest.len() {
            0 => Ok(()),
            more => {
                let hash = fnv_1a(bytes);
                self.line(format_args!("… {more} more, FNV-1a of all {hash:016x}"))
            }
        }
    }
}
