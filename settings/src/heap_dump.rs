//! Heap dumps by an attached agent: the request, and the answer's lines.
//!
//! `loadhook heap PID -o FILE --via jvmti` attaches the agent with a [`HeapDumpRequest`]
//! as its options. The agent writes its answer line by line into a file beside
//! the dump, whose name ends in [`ANSWER_SUFFIX`]:
//!
//! ```text
//! counted OBJECTS BYTES LIMIT
//! done CUT      or: refused      or: fault TEXT
//! ```

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::list;

/// Suffix of the answer's file name, after the dump's name.
pub const ANSWER_SUFFIX: &str = ".answer";

/// Options of an agent that is attached for a heap dump:
/// `heap-dump=FILE,max-memory=BYTES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapDumpRequest {
    /// The dump's name as the JVM sees it, in UTF-8 because options are text.
    pub file: String,
    /// Limit of the memory for the tags of objects, in bytes.
    pub max_memory: u64,
}

/// The error for a text that is not a [`HeapDumpRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeapDumpRequestError {
    /// The text has options of an agent that profiles.
    #[error("an agent that is attached for a heap dump takes only the option max-memory=")]
    OtherOptions,
    /// The value of `max-memory=` is not a number.
    #[error("{0}: expected a number of bytes")]
    NoNumber(String),
    /// An option is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
}

impl HeapDumpRequest {
    /// Returns whether options ask for a heap dump, even if they have a mistake.
    pub fn is_meant(options: &str) -> bool {
        list::items(options).any(|item| item.starts_with("heap-dump="))
    }
}

impl FromStr for HeapDumpRequest {
    type Err = HeapDumpRequestError;

    fn from_str(text: &str) -> Result<Self, HeapDumpRequestError> {
        let mut file = None;
        let mut max_memory = None;
        for item in list::items(text) {
            match item.split_once('=') {
                Some(("heap-dump", name)) => file = Some(list::unescaped(name)),
                Some(("max-memory", bytes)) => {
                    let bytes = bytes.parse();
                    let no_number = |_| HeapDumpRequestError::NoNumber(item.to_owned());
                    max_memory = Some(bytes.map_err(no_number)?);
                }
                _ => return Err(HeapDumpRequestError::OtherOptions),
            }
        }
        Ok(HeapDumpRequest {
            file: file.ok_or(HeapDumpRequestError::Missing("heap-dump=FILE"))?,
            max_memory: max_memory.ok_or(HeapDumpRequestError::Missing("max-memory=BYTES"))?,
        })
    }
}

impl fmt::Display for HeapDumpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = list::escaped(&self.file);
        write!(f, "heap-dump={file},max-memory={}", self.max_memory)
    }
}

/// First line of the answer: the memory that tags of all objects would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagMemory {
    /// Number of objects in the heap.
    pub objects: u64,
    /// Memory for their tags, in bytes.
    pub bytes: u64,
    /// Limit of the memory for the tags, in bytes.
    pub limit: u64,
}

/// Last line of the answer: how the dump ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpOutcome {
    /// The dump is complete, except for arrays that were cut off.
    Done {
        /// Number of arrays that did not fit into a record.
        cut: u64,
    },
    /// Tags would take more memory than the limit allows.
    Refused,
    /// The dump failed for this reason.
    Fault(String),
}

impl fmt::Display for TagMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counted {} {} {}", self.objects, self.bytes, self.limit)
    }
}

impl fmt::Display for DumpOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DumpOutcome::Done { cut } => write!(f, "done {cut}"),
            DumpOutcome::Refused => f.write_str("refused"),
            DumpOutcome::Fault(fault) => write!(f, "fault {fault}"),
        }
    }
}

impl TagMemory {
    /// Finds the line `counted` in an answer; `None` while the line is not completely written.
    pub fn find(answer: &str) -> Option<TagMemory> {
        let mut lines = answer.split_inclusive('\n');
        let line = lines.find_map(|line| line.strip_prefix("counted "))?;
        let mut numbers = line.strip_suffix('\n')?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(TagMemory {
            objects: next()?,
            bytes: next()?,
            limit: next()?,
        })
    }
}

impl DumpOutcome {
    /// Finds the line `done`, `refused` or `fault` in an answer.
    pub fn find(answer: &str) -> Option<DumpOutcome> {
        answer.lines().find_map(|line| {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "done" => {
                    let cut = rest.parse().ok()?;
                    Some(DumpOutcome::Done { cut })
                }
                "refused" => Some(DumpOutcome::Refused),
                "fault" => Some(DumpOutcome::Fault(rest.to_owned())),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_the_dump() {
        let request = HeapDumpRequest {
            file: r"/x,y/\z.hprof".to_owned(),
            max_memory: 42,
        };
        let text = request.to_string();
        assert_eq!(text, r"heap-dump=/x\,y/\\z.hprof,max-memory=42");
        assert_eq!(text.parse(), Ok(request));
        let fault = |text: &str| {
            let read = text.parse::<HeapDumpRequest>();
            read.expect_err(text).to_string()
        };
        assert!(fault("file=x").contains("takes only the option max-memory="));
        assert!(HeapDumpRequest::is_meant("max-memory=1,heap-dump=x"));
        assert!(!HeapDumpRequest::is_meant("file=heap-dump=x,include=a"));
        assert_eq!(fault("heap-dump=x"), "max-memory=BYTES is missing");
        assert_eq!(fault("max-memory=1"), "heap-dump=FILE is missing");
        assert_eq!(
            fault("max-memory=1k"),
            "max-memory=1k: expected a number of bytes"
        );
    }

    #[test]
    fn answers_are_read_line_by_line() {
        let memory = TagMemory {
            objects: 3,
            bytes: 240,
            limit: 500,
        };
        assert_eq!(
            TagMemory::find(&format!("{memory}\ndone 0\n")),
            Some(memory)
        );
        // The line is not completely written.
        for part in ["", "counted 3 240", "counted 3 240 50", "counted 3 240\n"] {
            assert_eq!(TagMemory::find(part), None, "{part}");
        }
        for outcome in [
            DumpOutcome::Done { cut: 2 },
            DumpOutcome::Refused,
            DumpOutcome::Fault("a b".to_owned()),
        ] {
            let answer = format!("{memory}\n{outcome}\n");
            assert_eq!(DumpOutcome::find(&answer), Some(outcome));
        }
        for answer in ["counted 3 240 500\n", "odd\ndone\n"] {
            assert_eq!(DumpOutcome::find(answer), None, "{answer}");
        }
    }
}
