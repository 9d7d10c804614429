//! Writes a text line by line.

use std::io::{self, Write};

use super::line::Line;
use super::name::Name;
use super::reader::{FIRST, SEPARATOR};

/// Writes a text.
///
/// The writer does not check that lines are where the [`Reader`](super::Reader) expects them.
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Writes the header and an introduction, which may have several lines.
    ///
    /// # Errors
    ///
    /// Fails if `out` cannot be written.
    pub fn new(mut out: W, date: &str, introduction: &str) -> io::Result<Writer<W>> {
        writeln!(out, "{FIRST}{}\n", Name(date))?;
        for line in introduction.lines() {
            writeln!(out, "{}", Name(line))?;
        }
        writeln!(out, "\n{SEPARATOR}\n")?;
        Ok(Writer { out })
    }

    /// Writes a line.
    pub fn line(&mut self, line: &Line) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    /// Flushes `out`.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
