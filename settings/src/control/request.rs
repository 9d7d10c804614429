//! Orders to an agent.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};
use thiserror::Error;

use super::{LONGEST_LINE, VERSION};
use crate::NONE;
use crate::list;
use crate::pattern::{Pattern, PatternError};

/// An order to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reply with the agent's [`Status`](super::Status).
    Status,
    /// Also instrument the methods that these patterns name.
    Include(Vec<Pattern>),
    /// Do not instrument the methods that these patterns name.
    Exclude(Vec<Pattern>),
    /// Write a profile of everything recorded so far to this file, an absolute path as the JVM sees it.
    Snapshot(String),
    /// Take no samples, and take all probes out, until [`Request::Resume`].
    Pause,
    /// End the pause: sample and instrument as before.
    Resume,
    /// Record calls of methods, until [`Request::Untrace`] or the end of the connection.
    Trace(TraceOrder),
    /// Reply with the calls that were recorded since the last [`Request::Traced`].
    Traced,
    /// Reply with the durations of the calls of the traced methods.
    Latencies,
    /// Record no calls any more.
    Untrace,
    /// Write the profile and leave the JVM.
    Detach,
}

/// The calls to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOrder {
    /// The methods.
    pub patterns: Vec<Pattern>,
    /// The least duration of a call in nanoseconds.
    pub slower_ns: u64,
    /// True if a shorter call is also recorded when an exception ends it.
    pub thrown: bool,
    /// The way in which arguments and results become texts; `None` to record no values.
    pub values: Option<ValueTexts>,
}

/// The way in which objects among the values of a recorded call become texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueTexts {
    /// Texts that are made without running code of the program.
    Plain,
    /// The results of `toString`.
    Call,
}

impl ValueTexts {
    /// Returns the value's word in orders.
    pub fn as_str(self) -> &'static str {
        match self {
            ValueTexts::Plain => "plain",
            ValueTexts::Call => "call",
        }
    }
}

/// A fault in a line that should be a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The line is too long.
    #[error("the line has more than {LONGEST_LINE} bytes; send shorter lines")]
    TooLong,
    /// The line is not a JSON object.
    #[error(
        "not a line with a JSON object; send a line such as {{\"version\":1,\"order\":\"status\"}}"
    )]
    NotJson,
    /// The line gives another version of the protocol, or no version.
    #[error(
        "this agent reads version {VERSION} only; send \"version\":{VERSION}, or use the loadhook of the agent's version"
    )]
    Version,
    /// The order is missing.
    #[error(
        "the field order is missing; orders are status, include, exclude, snapshot, pause, resume, trace, traced, latencies, untrace, detach"
    )]
    NoOrder,
    /// There is no such order.
    #[error(
        "unknown order {0}; orders are status, include, exclude, snapshot, pause, resume, trace, traced, latencies, untrace, detach"
    )]
    Unknown(String),
    /// A field of the order is missing, or not a text.
    #[error("the order {order} needs the field {field}, a text")]
    Missing {
        /// The order.
        order: &'static str,
        /// The missing field.
        field: &'static str,
    },
    /// The least duration of a call is missing, or not a number.
    #[error("the order trace needs the field slower_ns, a whole number of nanoseconds")]
    NoDuration,
    /// The field `values` has a value that does not exist.
    #[error("the field values of the order trace must be plain, call or null")]
    NoTexts,
    /// The pattern cannot be read.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A pattern is the word `none`, which has a meaning in options only.
    #[error(
        "{NONE} is no pattern here; to instrument nothing, exclude the patterns that the order status shows"
    )]
    NoPattern,
    /// The file of a snapshot has no absolute path.
    #[error("{0}: not an absolute path; send the absolute path, as the JVM sees it")]
    RelativeFile(String),
    /// The order asks for a change that an agent cannot make while it watches.
    #[error(
        "an agent cannot {0} while it watches; detach it, then attach again with other options"
    )]
    NeedsNewAgent(&'static str),
}

impl RequestError {
    /// Returns whether the sender does not speak this protocol, so that its next lines are of no use.
    pub fn is_garbage(&self) -> bool {
        matches!(self, RequestError::TooLong | RequestError::NotJson)
    }

    /// Returns the error for an order that needs a new agent; `None` for other orders.
    pub fn needs_new_agent(order: &str) -> Option<RequestError> {
        let what = match order {
            "reset" => "forget what it has counted",
            "timing" => "change its timing",
            "alloc" => "change how it records allocations",
            _ => return None,
        };
        Some(RequestError::NeedsNewAgent(what))
    }
}

/// Reads the patterns of an order.
///
/// # Errors
/// At the first item that is not a pattern, and at the word `none`, which has a meaning in options
/// only.
pub fn patterns(list: &str) -> Result<Vec<Pattern>, RequestError> {
    let patterns = Pattern::parse_list(list)?;
    if patterns.iter().any(|pattern| pattern.text() == NONE) {
        return Err(RequestError::NoPattern);
    }
    Ok(patterns)
}

fn joined(patterns: &[Pattern]) -> String {
    let items: Vec<String> = patterns
        .iter()
        .map(|pattern| list::escaped(pattern.text()))
        .collect();
    items.join(",")
}

/// Writes the line without its line break.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Request::Status => json!({"version": VERSION, "order": "status"}),
            Request::Include(patterns) => {
                json!({"version": VERSION, "order": "include", "pattern": joined(patterns)})
            }
            Request::Exclude(patterns) => {
                json!({"version": VERSION, "order": "exclude", "pattern": joined(patterns)})
            }
            Request::Snapshot(file) => {
                json!({"version": VERSION, "order": "snapshot", "file": file})
            }
            Request::Pause => json!({"version": VERSION, "order": "pause"}),
            Request::Resume => json!({"version": VERSION, "order": "resume"}),
            Request::Trace(order) => json!({
                "version": VERSION,
                "order": "trace",
                "pattern": joined(&order.patterns),
                "slower_ns": order.slower_ns,
                "thrown": order.thrown,
                "values": order.values.map(ValueTexts::as_str),
            }),
            Request::Traced => json!({"version": VERSION, "order": "traced"}),
            Request::Latencies => json!({"version": VERSION, "order": "latencies"}),
            Request::Untrace => json!({"version": VERSION, "order": "untrace"}),
            Request::Detach => json!({"version": VERSION, "order": "detach"}),
        };
        write!(f, "{line}")
    }
}

fn value_texts(word: &Value) -> Option<ValueTexts> {
    let all = [ValueTexts::Plain, ValueTexts::Call];
    all.into_iter().find(|it| *word == it.as_str())
}

impl FromStr for Request {
    type Err = RequestError;

    fn from_str(line: &str) -> Result<Self, RequestError> {
        let value: Value = serde_json::from_str(line).map_err(|_| RequestError::NotJson)?;
        let object = value.as_object().ok_or(RequestError::NotJson)?;
        if object.get("version").and_then(Value::as_u64) != Some(VERSION) {
            return Err(RequestError::Version);
        }
        let text = |field: &str| object.get(field).and_then(Value::as_str);
        let field = |order, field| text(field).ok_or(RequestError::Missing { order, field });
        match text("order").ok_or(RequestError::NoOrder)? {
            "status" => Ok(Request::Status),
            "include" => Ok(Request::Include(patterns(field("include", "pattern")?)?)),
            "exclude" => Ok(Request::Exclude(patterns(field("exclude", "pattern")?)?)),
            "snapshot" => match field("snapshot", "file")? {
                file if file.starts_with('/') => Ok(Request::Snapshot(file.to_owned())),
                file => Err(RequestError::RelativeFile(file.to_owned())),
            },
            "pause" => Ok(Request::Pause),
            "resume" => Ok(Request::Resume),
            "trace" => Ok(Request::Trace(TraceOrder {
                patterns: patterns(field("trace", "pattern")?)?,
                slower_ns: object
                    .get("slower_ns")
                    .and_then(Value::as_u64)
                    .filter(|ns| i64::try_from(*ns).is_ok())
                    .ok_or(RequestError::NoDuration)?,
                thrown: object.get("thrown") == Some(&Value::Bool(true)),
                values: match object.get("values") {
                    None | Some(Value::Null) => None,
                    Some(word) => Some(value_texts(word).ok_or(RequestError::NoTexts)?),
                },
            })),
            "traced" => Ok(Request::Traced),
            "latencies" => Ok(Request::Latencies),
            "untrace" => Ok(Request::Untrace),
            "detach" => Ok(Request::Detach),
            other => Err(RequestError::needs_new_agent(other)
                .unwrap_or_else(|| RequestError::Unknown(other.to_owned()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_lines() {
        let two = patterns("a.**::b(IJ)*,c.D").expect("the patterns are valid");
        assert_eq!(two.len(), 2);
        for request in [
            Request::Status,
            Request::Include(two.clone()),
            Request::Exclude(two),
            Request::Snapshot("/x \"y\"\n".to_owned()),
            Request::Pause,
            Request::Resume,
            Request::Trace(TraceOrder {
                patterns: patterns("a.B::c").expect("the pattern is valid"),
                slower_ns: 50_000_000,
                thrown: true,
                values: None,
            }),
            Request::Trace(TraceOrder {
                patterns: patterns("a.B::c").expect("the pattern is valid"),
                slower_ns: 0,
                thrown: false,
                values: Some(ValueTexts::Call),
            }),
            Request::Traced,
            Request::Latencies,
            Request::Untrace,
            Request::Detach,
        ] {
            let line = request.to_string();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(line.parse(), Ok(request));
        }
        let more = r#"{"version": 1, "order": "status", "more": [1, {}]}"#;
        assert_eq!(more.parse(), Ok(Request::Status));
    }

    #[test]
    fn errors_name_the_remedy() {
        for (line, expected) in [
            ("", "not a line with a JSON object"),
            ("[1]", "not a line with a JSON object"),
            (r#"{"order":"status"}"#, "this agent reads version 1 only"),
            (
                r#"{"version":2,"order":"status"}"#,
                "use the loadhook of the agent",
            ),
            (r#"{"version":1}"#, "the field order is missing; orders are"),
            (
                r#"{"version":1,"order":"dance"}"#,
                "unknown order dance; orders are status",
            ),
            (
                r#"{"version":1,"order":"include","pattern":3}"#,
                "the order include needs the field pattern, a text",
            ),
            (
                r#"{"version":1,"order":"exclude","pattern":"a..b"}"#,
                "bad pattern",
            ),
            (
                r#"{"version":1,"order":"include","pattern":"a.b,none"}"#,
                "none is no pattern here; to instrument nothing, exclude the patterns",
            ),
            (
                r#"{"version":1,"order":"snapshot","file":"x"}"#,
                "x: not an absolute path",
            ),
            (
                r#"{"version":1,"order":"trace","pattern":"a.B","slower_ns":-1}"#,
                "the order trace needs the field slower_ns",
            ),
            (
                r#"{"version":1,"order":"trace","pattern":"a.B","slower_ns":1,"values":true}"#,
                "the field values of the order trace must be plain, call or null",
            ),
            (
                r#"{"version":1,"order":"timing"}"#,
                "cannot change its timing while it watches",
            ),
            (
                r#"{"version":1,"order":"reset"}"#,
                "detach it, then attach again",
            ),
            (
                r#"{"version":1,"order":"alloc"}"#,
                "cannot change how it records allocations",
            ),
        ] {
            let read = line.parse::<Request>();
            let error = read.expect_err(line).to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn only_garbage_ends_a_connection() {
        let is_garbage = |line: &str| line.parse::<Request>().expect_err(line).is_garbage();
        assert!(is_garbage("\u{1}") && is_garbage("3"));
        assert!(!is_garbage("{}") && !is_garbage(r#"{"version":1,"order":"x"}"#));
    }
}
