//! `TRACE`: the innermost frames of a stack. The tables refer to traces.

use std::fmt::{self, Display, Formatter};

use super::name::Name;
use super::scan::Scan;
use crate::record::stack_frame::StackFrame;

/// The head of a trace. Its frames follow, or [`NoFrames`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceHead {
    /// Serial number of the trace.
    pub serial: u32,
    /// Serial number of the thread; `None` if the file does not distinguish traces by thread.
    pub thread: Option<u32>,
    /// The phase of the JVM in which the trace was made, if it was not the normal phase.
    pub phase: Option<String>,
}

impl TraceHead {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<TraceHead> {
        line.literal("TRACE ")?;
        let serial = line.until(":")?.parse().ok()?;
        let mut thread = None;
        if line.literal(" (thread=").is_some() {
            thread = Some(line.number()?);
            line.literal(")")?;
        }
        let mut phase = None;
        if line.literal(" (from ").is_some() {
            phase = Some(line.until(" phase of JVM)")?.to_owned());
        }
        line.spaces();
        line.end()?;
        Some(TraceHead {
            serial,
            thread,
            phase,
        })
    }
}

impl Display for TraceHead {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "TRACE {}:", self.serial)?;
        if let Some(thread) = self.thread {
            write!(f, " (thread={thread})")?;
        }
        if let Some(phase) = &self.phase {
            write!(f, " (from {} phase of JVM)", Name(phase))?;
        }
        Ok(())
    }
}

/// The line below a trace that has no frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFrames;

impl NoFrames {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<NoFrames> {
        line.spaces();
        line.literal("<empty>")?;
        line.end()?;
        Some(NoFrames)
    }
}

impl Display for NoFrames {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\t<empty>")
    }
}

/// A frame of a trace: `java.util.Hashtable.put(Hashtable.java:405)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Name of the class.
    pub class: String,
    /// Name of the method.
    pub method: String,
    /// Name of the source file.
    pub source: Option<String>,
    /// Line in the source file, or a number below 1 as in [`StackFrame::line`].
    pub line: i32,
}

/// The words that are written instead of a line number.
const WORDS: [(i32, &str); 3] = [
    (StackFrame::NATIVE_METHOD, "Native method"),
    (StackFrame::COMPILED_METHOD, "Compiled method"),
    (StackFrame::UNKNOWN_LINE, "Unknown line"),
];
const NO_SOURCE: &str = "<Unknown Source>";

impl Frame {
    pub(crate) fn parse(scan: &mut Scan<'_>) -> Option<Frame> {
        scan.spaces();
        let method = scan.until_last("(")?;
        let (class, method) = method.rsplit_once('.')?;
        let place = scan.until_last(")")?;
        scan.end()?;
        // Before JDK 5, a native method had no source file.
        let (source, line) = match place.rsplit_once(':') {
            Some((source, line)) => (source, line_number(line)?),
            None => match line_number(place) {
                Some(line) => (NO_SOURCE, line),
                None => (place, StackFrame::UNKNOWN_LINE),
            },
        };
        let is_unknown = matches!(source, NO_SOURCE | "Unknown Source");
        Some(Frame {
            class: class.to_owned(),
            method: method.to_owned(),
            source: (!is_unknown).then(|| source.to_owned()),
            line,
        })
    }
}

/// Returns the line for which a number or a word stands. Before JDK 5 the words had other capitals.
fn line_number(text: &str) -> Option<i32> {
    let word = WORDS
        .iter()
        .find(|(_, word)| text.eq_ignore_ascii_case(word));
    match word {
        Some((line, _)) => Some(*line),
        None => text.parse().ok(),
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let source = Name(self.source.as_deref().unwrap_or(NO_SOURCE));
        write!(
            f,
            "\t{}.{}({source}:",
            Name(&self.class),
            Name(&self.method)
        )?;
        match WORDS.iter().find(|(line, _)| *line == self.line) {
            Some((_, word)) => write!(f, "{word})"),
            None => write!(f, "{})", self.line),
        }
    }
}
