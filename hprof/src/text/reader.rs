//! Reads a text line by line.

use std::io::{BufRead, Read};

use super::costs::{Cost, CostKind, CostsBegin};
use super::error::{TextError, TextErrorKind};
use super::heap::{Array, Class, HeapBegin, Object, Reference, Referrer, Root};
use super::line::{HEAP_END, Line, MONITORS_BEGIN, MONITORS_END, SITES_END};
use super::monitors::{Monitor, MonitorEvent, Owner, ThreadState, Waiters};
use super::scan::Scan;
use super::sites::{Site, SitesBegin, TITLES};
use super::thread::{ThreadEnd, ThreadStart};
use super::trace::{Frame, NoFrames, TraceHead};

/// Maximum number of bytes of a line that is read. Names in Java have at most 64 KiB, and a line has few names.
const LONGEST: usize = 1 << 20;

/// The beginning of every text.
pub(crate) const FIRST: &str = "JAVA PROFILE 1.0.1, created ";
/// The line between the introduction, which explains the format, and the records.
pub(crate) const SEPARATOR: &str = "--------";

/// The section to which a line belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Top,
    /// The frames of a trace.
    Trace,
    /// A heap dump, with the kind of the record whose references follow.
    Heap(Option<Referrer>),
    Sites,
    Costs(CostKind),
    Monitors,
}

/// Reads a text. It keeps only one line in memory, however long the text is.
pub struct Reader<R> {
    source: R,
    /// The bytes of the current line.
    bytes: Vec<u8>,
    /// Number of the current line.
    number: u64,
    section: Section,
    date: String,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header and the introduction.
    ///
    /// # Errors
    ///
    /// Fails with the line and the column of the first fault.
    pub fn new(source: R) -> Result<Reader<R>, TextError> {
        let mut reader = Reader {
            source,
            bytes: Vec::new(),
            number: 0,
            section: Section::Top,
            date: String::new(),
        };
        let first = reader.next_text()?.unwrap_or_default();
        let Some(date) = first.strip_prefix(FIRST) else {
            return Err(reader.error(TextErrorKind::NoHeader, 0));
        };
        reader.date = date.to_owned();
        while let Some(line) = reader.next_text()? {
            if line.trim_end() == SEPARATOR {
                return Ok(reader);
            }
        }
        Err(reader.truncated(SEPARATOR))
    }

    /// Returns the time at which the text was begun, as the text has it.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Returns the number of the line that was read last, from 1.
    pub fn line_number(&self) -> u64 {
        self.number
    }

    /// Reads the next line. Returns `None` at the end of a complete text.
    ///
    /// # Errors
    ///
    /// Fails at the first line that is not allowed in its place.
    pub fn next_line(&mut self) -> Result<Option<Line>, TextError> {
        while let Some(text) = self.next_text()? {
            if !text.trim().is_empty() && !self.is_title(&text) {
                return self.parse(&text).map(Some);
            }
        }
        match self.section {
            Section::Top | Section::Trace => Ok(None),
            Section::Heap(_) => Err(self.truncated(HEAP_END)),
            Section::Sites => Err(self.truncated(SITES_END)),
            Section::Costs(kind) => Err(self.truncated(&Line::CostsEnd(kind).to_string())),
            Section::Monitors => Err(self.truncated(MONITORS_END)),
        }
    }

    /// Returns whether a line has the titles of a table's columns. Versions of HPROF put different numbers of spaces
    /// between the titles.
    fn is_title(&self, text: &str) -> bool {
        let words = || text.split_whitespace();
        match self.section {
            Section::Sites => TITLES
                .iter()
                .any(|title| title.split_whitespace().eq(words())),
            Section::Costs(_) => words().take(2).eq(["rank", "self"]),
            _ => false,
        }
    }

    /// Reads the next line and returns it without its line break.
    fn next_text(&mut self) -> Result<Option<String>, TextError> {
        self.bytes.clear();
        self.number += 1;
        let most = LONGEST as u64 + 1;
        let read = (&mut self.source)
            .take(most)
            .read_until(b'\n', &mut self.bytes);
        if let Err(error) = read {
            return Err(self.error(TextErrorKind::Io(error), 0));
        }
        if self.bytes.len() > LONGEST {
            return Err(self.error(TextErrorKind::LongLine(LONGEST), LONGEST));
        }
        if self.bytes.is_empty() {
            self.number -= 1;
            return Ok(None);
        }
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some(String::from_utf8_lossy(line).into_owned()))
    }

    fn parse(&mut self, text: &str) -> Result<Line, TextError> {
        if self.section == Section::Trace && text.starts_with(['\t', ' ']) {
            return self.trace_line(text);
        }
        match self.section {
            Section::Top | Section::Trace => self.top_line(text),
            Section::Heap(of) => self.heap_line(of, text),
            Section::Sites if text == SITES_END => Ok(self.end(Line::SitesEnd)),
            Section::Sites => self.read(text, "row of the sites", |line| {
                Site::parse(line).map(Line::Site)
            }),
            Section::Costs(kind) => {
                let end = Line::CostsEnd(kind);
                if text == end.to_string() {
                    return Ok(self.end(end));
                }
                self.read(text, "row of the table", |line| {
                    Cost::parse(line).map(Line::Cost)
                })
            }
            Section::Monitors => self.monitor_line(text),
        }
    }

    fn end(&mut self, line: Line) -> Line {
        self.section = Section::Top;
        line
    }

    fn begin(&mut self, section: Section, line: Line) -> Line {
        self.section = section;
        line
    }

    /// Reads a line outside of sections.
    fn top_line(&mut self, text: &str) -> Result<Line, TextError> {
        self.section = Section::Top;
        if text.starts_with("THREAD START ") {
            return self.read(text, "`THREAD START` line", |line| {
                ThreadStart::parse(line).map(Line::ThreadStart)
            });
        }
        if text.starts_with("THREAD END ") {
            return self.read(text, "`THREAD END` line", |line| {
                ThreadEnd::parse(line).map(Line::ThreadEnd)
            });
        }
        if text.starts_with("TRACE ") {
            let line = self.read(text, "`TRACE` line", |line| {
                TraceHead::parse(line).map(Line::Trace)
            })?;
            return Ok(self.begin(Section::Trace, line));
        }
        if text.starts_with("HEAP DUMP BEGIN ") {
            let line = self.read(text, "`HEAP DUMP BEGIN` line", |line| {
                HeapBegin::parse(line).map(Line::HeapBegin)
            })?;
            return Ok(self.begin(Section::Heap(None), line));
        }
        if text.starts_with("SITES BEGIN ") {
            let line = self.read(text, "`SITES BEGIN` line", |line| {
                SitesBegin::parse(line).map(Line::SitesBegin)
            })?;
            return Ok(self.begin(Section::Sites, line));
        }
        if text == MONITORS_BEGIN {
            return Ok(self.begin(Section::Monitors, Line::MonitorsBegin));
        }
        for kind in CostKind::ALL {
            if text.starts_with(kind.title()) {
                let line = self.read(text, "first line of a table", |line| {
                    CostsBegin::parse(kind, line).map(Line::CostsBegin)
                })?;
                return Ok(self.begin(Section::Costs(kind), line));
            }
        }
        self.read(text, "line of HPROF's text", |line| {
            MonitorEvent::parse(line).map(Line::MonitorEvent)
        })
    }

    fn trace_line(&mut self, text: &str) -> Result<Line, TextError> {
        if let Some(line) = NoFrames::parse(&mut Scan::new(text)) {
            return Ok(Line::NoFrames(line));
        }
        self.read(text, "frame of a trace", |line| {
            Frame::parse(line).map(Line::Frame)
        })
    }

    fn heap_line(&mut self, of: Option<Referrer>, text: &str) -> Result<Line, TextError> {
        if text == HEAP_END {
            return Ok(self.end(Line::HeapEnd));
        }
        if let Some(of) = of.filter(|_| text.starts_with('\t')) {
            return self.read(text, "reference of a heap dump", |line| {
                Reference::parse(of, line).map(Line::Reference)
            });
        }
        let line = self.read(text, "record of a heap dump", |line| {
            match text.get(..4)? {
                "ROOT" => Root::parse(line).map(Line::Root),
                "CLS " => Class::parse(line).map(Line::Class),
                "OBJ " => Object::parse(line).map(Line::Object),
                _ => Array::parse(line).map(Line::Array),
            }
        })?;
        let of = match line {
            Line::Class(_) => Some(Referrer::Class),
            Line::Object(_) => Some(Referrer::Object),
            Line::Array(_) => Some(Referrer::Array),
            _ => None,
        };
        Ok(self.begin(Section::Heap(of), line))
    }

    fn monitor_line(&mut self, text: &str) -> Result<Line, TextError> {
        if text == MONITORS_END {
            return Ok(self.end(Line::MonitorsEnd));
        }
        self.read(text, "line of a monitor dump", |line| {
            let word = text.trim_start();
            if word.starts_with("THREAD ") {
                ThreadState::parse(line).map(Line::ThreadState)
            } else if word.starts_with("MONITOR ") {
                Monitor::parse(line).map(Line::Monitor)
            } else if word.starts_with("owner: ") {
                Owner::parse(line).map(Line::Owner)
            } else {
                Waiters::parse(line).map(Line::Waiters)
            }
        })
    }

    fn read<T>(
        &self,
        text: &str,
        what: &'static str,
        parse: impl FnOnce(&mut Scan<'_>) -> Option<T>,
    ) -> Result<T, TextError> {
        let mut scan = Scan::new(text);
        parse(&mut scan).ok_or_else(|| {
            let kind = if self.bytes.ends_with(b"\n") {
                TextErrorKind::NotA(what)
            } else {
                TextErrorKind::CutLine
            };
            self.error(kind, scan.at())
        })
    }

    #[cold]
    fn error(&self, kind: TextErrorKind, at: usize) -> TextError {
        TextError {
            kind,
            line: self.number,
            column: at + 1,
        }
    }

    #[cold]
    fn truncated(&self, before: &str) -> TextError {
        self.error(
            TextErrorKind::Truncated(format!("`{before}`")),
            self.bytes.len(),
        )
    }
}
