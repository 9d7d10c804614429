//! Replies of an agent.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::{Latency, Traced, VERSION};
use crate::attach::AttachFigures;

/// The reply to a [`Request`](super::Request).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The reply to [`Request::Status`](super::Request::Status).
    Status(Status),
    /// The choice of methods has changed.
    Changed(Changed),
    /// Calls of traced methods.
    Traced(Traced),
    /// Durations of the calls of traced methods.
    Latencies(Vec<Latency>),
    /// The order is done.
    Done,
    /// The order was refused, for this reason. Nothing has changed.
    Error(String),
}

/// The state of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The agent's version.
    pub agent: String,
    /// Milliseconds since the agent began to profile.
    pub watched_ms: u64,
    /// The timing of calls; `None` if they are not recorded.
    pub timing: Option<String>,
    /// The allocations that are recorded; `None` if there are none.
    pub alloc: Option<String>,
    /// The patterns to include: empty for all classes but the JDK's, or the word `none`.
    pub include: Vec<String>,
    /// The patterns to exclude.
    pub exclude: Vec<String>,
    /// True between the orders to pause and to resume.
    pub paused: bool,
    /// Number of classes that have or had probes.
    pub classes: u64,
    /// The file of the profile, as the JVM sees it.
    pub file: String,
    /// The PID namespace of the JVM, as `/proc` names it. Together with the process id, it
    /// distinguishes JVMs whose containers share a `/tmp`. `None` if the JVM cannot read it.
    pub namespace: Option<String>,
}

/// The patterns after a change, and the figures of the change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Changed classes, and the pauses in which the JVM changed them.
    pub figures: AttachFigures,
    /// As in [`Status::include`].
    pub include: Vec<String>,
    /// As in [`Status::exclude`].
    pub exclude: Vec<String>,
    /// Effects that the sender may not expect.
    pub notes: Vec<String>,
}

/// The error for a line that is not a [`Reply`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the agent's reply cannot be read; use a loadhook of the agent's version: {0}")]
pub struct ReplyError(String);

/// Writes the line without its line break.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Reply::Status(status) => json!({
                "version": VERSION,
                "reply": "status",
                "agent": status.agent,
                "watched_ms": status.watched_ms,
                "timing": status.timing,
                "alloc": status.alloc,
                "include": status.include,
                "exclude": status.exclude,
                "paused": status.paused,
                "classes": status.classes,
                "file": status.file,
                "namespace": status.namespace,
            }),
            Reply::Changed(Changed {
                figures,
                include,
                exclude,
                notes,
            }) => json!({
                "version": VERSION,
                "reply": "changed",
                "classes": figures.classes,
                "batches": figures.batches,
                "median_pause_us": figures.median_pause_us,
                "longest_pause_us": figures.longest_pause_us,
                "refused": figures.refused,
                "include": include,
                "exclude": exclude,
                "notes": notes,
            }),
            Reply::Traced(traced) => traced.line(),
            Reply::Latencies(latencies) => {
                let latencies: Vec<Value> = latencies.iter().map(Latency::json).collect();
                json!({"version": VERSION, "reply": "latencies", "latencies": latencies})
            }
            Reply::Done => json!({"version": VERSION, "reply": "done"}),
            Reply::Error(error) => json!({"version": VERSION, "error": error}),
        };
        write!(f, "{line}")
    }
}

impl FromStr for Reply {
    type Err = ReplyError;

    fn from_str(line: &str) -> Result<Self, ReplyError> {
        let value: Option<Value> = serde_json::from_str(line).ok();
        let read = value.as_ref().and_then(Value::as_object).and_then(read);
        read.ok_or_else(|| ReplyError(line.to_owned()))
    }
}

fn read(object: &Map<String, Value>) -> Option<Reply> {
    if object.get("version")?.as_u64()? != VERSION {
        return None;
    }
    let text = |field: &str| object.get(field)?.as_str().map(str::to_owned);
    let number = |field: &str| object.get(field)?.as_u64();
    let texts = |field: &str| -> Option<Vec<String>> {
        let items = object.get(field)?.as_array()?.iter();
        items.map(|item| item.as_str().map(str::to_owned)).collect()
    };
    if let Some(error) = text("error") {
        return Some(Reply::Error(error));
    }
    match &*text("reply")? {
        "status" => Some(Reply::Status(Status {
            agent: text("agent")?,
            watched_ms: number("watched_ms")?,
            timing: text("timing"),
            alloc: text("alloc"),
            include: texts("include")?,
            exclude: texts("exclude")?,
            paused: object.get("paused")?.as_bool()?,
            classes: number("classes")?,
            file: text("file")?,
            namespace: text("namespace"),
        })),
        "changed" => Some(Reply::Changed(Changed {
            figures: AttachFigures {
                classes: number("classes")?,
                batches: number("batches")?,
                median_pause_us: number("median_pause_us")?,
                longest_pause_us: number("longest_pause_us")?,
                refused: number("refused")?,
            },
            include: texts("include")?,
            exclude: texts("exclude")?,
            notes: texts("notes")?,
        })),
        "traced" => Some(Reply::Traced(Traced::read(object)?)),
        "latencies" => {
            let latencies = object.get("latencies")?.as_array()?.iter();
            let latencies = latencies.map(|it| Latency::read(it.as_object()?));
            Some(Reply::Latencies(latencies.collect::<Option<_>>()?))
        }
        "done" => Some(Reply::Done),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CallValues, TracedCall};
    use super::*;

    #[test]
    fn replies_are_lines() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        for reply in [
            Reply::Status(Status {
                agent: "0.1.0".to_owned(),
                watched_ms: 7,
                timing: Some("sampled".to_owned()),
                include: texts(&["none"]),
                exclude: texts(&["a.*", "b\n"]),
                file: "/tmp/x".to_owned(),
                namespace: Some("pid:[7]".to_owned()),
                ..Status::default()
            }),
            Reply::Changed(Changed {
                figures: AttachFigures {
                    classes: 812,
                    batches: 9,
                    median_pause_us: 4100,
                    longest_pause_us: 9800,
                    refused: 3,
                },
                include: texts(&["a.*"]),
                exclude: Vec::new(),
                notes: texts(&["all"]),
            }),
            Reply::Traced(Traced {
                calls: vec![
                    TracedCall {
                        method: "a.B::c".to_owned(),
                        start_ns: 7,
                        duration_ns: 8,
                        thread: 9,
                        is_part: true,
                        ..TracedCall::default()
                    },
                    TracedCall {
                        thread_name: "main".to_owned(),
                        thrown: Some("a.Fault".to_owned()),
                        stack: texts(&["a.B.c(B.java:1)"]),
                        values: CallValues {
                            this: Some("a.B@7".to_owned()),
                            arguments: vec![("it".to_owned(), "\"x\"".to_owned())],
                            result: Some("7".to_owned()),
                        },
                        ..TracedCall::default()
                    },
                ],
                lost: 3,
                lost_parts: 4,
            }),
            Reply::Latencies(vec![Latency::of("a.B::c".to_owned(), &[(7, 2)])]),
            Reply::Done,
            Reply::Error("a\nb".to_owned()),
        ] {
            let line = reply.to_string();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(line.parse(), Ok(reply));
        }
        for line in [
            "",
            "{}",
            r#"{"version":2,"reply":"done"}"#,
            r#"{"version":1,"reply":"status"}"#,
        ] {
            assert!(line.parse::<Reply>().is_err(), "{line}");
        }
    }
}
