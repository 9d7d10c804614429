//! The output of `cpu=old`, which has the form that `java -prof` of JDK 1.1 wrote: how often each method called
//! each other method, and how long the calls took.

use std::fmt::{self, Display, Formatter};
use std::io::{BufRead, Read};

use super::error::{TextError, TextErrorKind};

/// The first line of the list.
pub const OLD_HEADER: &str = "count callee caller time";

/// Stands for the caller of a method that was called from outside of Java.
pub const UNKNOWN_CALLER: &str = "<unknown caller>";

/// Maximum number of bytes of a line. A line has two methods. Class, name and descriptor of each have at most
/// 64 KiB.
const LONGEST: usize = 1 << 19;

/// The calls of one method by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldCall {
    /// Number of calls.
    pub count: u64,
    /// The called method with its descriptor.
    pub callee: String,
    /// The calling method, or [`UNKNOWN_CALLER`].
    pub caller: String,
    /// Milliseconds of the calls, callees included.
    pub ms: u64,
}

impl OldCall {
    fn parse(line: &str) -> Option<OldCall> {
        let (count, rest) = line.split_once(' ')?;
        let (methods, ms) = rest.rsplit_once(' ')?;
        // Of all callers, only `<unknown caller>` contains a space.
        let of_unknown = methods.strip_suffix(UNKNOWN_CALLER);
        let (callee, caller) = match of_unknown.and_then(|callee| callee.strip_suffix(' ')) {
            Some(callee) => (callee, UNKNOWN_CALLER),
            None => methods.rsplit_once(' ')?,
        };
        Some(OldCall {
            count: count.parse().ok()?,
            callee: callee.to_owned(),
            caller: caller.to_owned(),
            ms: ms.parse().ok()?,
        })
    }

    /// Reads the rows after the first line, up to the first fault.
    pub(crate) fn read(mut list: impl BufRead, rows: &mut Vec<OldCall>) -> Result<(), TextError> {
        let mut bytes = Vec::new();
        for line in 1.. {
            let column = 1;
            let fault = |kind| TextError { kind, line, column };
            bytes.clear();
            let longest = LONGEST as u64 + 1;
            let read = (&mut list).take(longest).read_until(b'\n', &mut bytes);
            read.map_err(|error| fault(TextErrorKind::Io(error)))?;
            if bytes.is_empty() {
                return Ok(());
            }
            if bytes.len() > LONGEST {
                return Err(fault(TextErrorKind::LongLine(LONGEST)));
            }
            let text = String::from_utf8_lossy(&bytes);
            let Some(text) = text.strip_suffix('\n') else {
                let end = "the end of a line".to_owned();
                return Err(fault(TextErrorKind::Truncated(end)));
            };
            let text = text.trim_end_matches('\r');
            if line == 1 && text == OLD_HEADER {
                continue;
            }
            let row = OldCall::parse(text);
            rows.push(row.ok_or_else(|| fault(TextErrorKind::NotA("row of the list")))?);
        }
        Ok(())
    }
}

impl Display for OldCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let OldCall {
            count,
            callee,
            caller,
            ms,
        } = self;
        write!(f, "{count} {callee} {caller} {ms}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "count callee caller time
1000 A.step(I)I A.loop()V 12
1 A.main([Ljava/lang/String;)V <unknown caller> 15
";

    fn read(list: &str) -> (Vec<OldCall>, Option<String>) {
        let mut rows = Vec::new();
        let error = OldCall::read(list.as_bytes(), &mut rows).err();
        (rows, error.map(|error| error.to_string()))
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let (rows, error) = read(LIST);
        assert_eq!(error, None);
        let lines: Vec<String> = rows.iter().map(OldCall::to_string).collect();
        assert_eq!(format!("{OLD_HEADER}\n{}\n", lines.join("\n")), LIST);
        let callers: Vec<&str> = rows.iter().map(|row| &*row.caller).collect();
        assert_eq!(callers, ["A.loop()V", UNKNOWN_CALLER]);
        assert_eq!(read(&LIST.replace('\n', "\r\n")), (rows, None));
    }

    #[test]
    fn faults_are_placed() {
        for (list, rows, expected) in [
            (
                LIST.replace("1000 A", "x A"),
                0,
                "line 2, column 1: this is not a valid row of the list",
            ),
            (
                LIST.trim_end().to_owned(),
                1,
                "line 3, column 1: the file is cut off: the end of a line is missing",
            ),
        ] {
            let (read, error) = read(&list);
            assert_eq!((read.len(), error.as_deref()), (rows, Some(expected)));
        }
    }
}
