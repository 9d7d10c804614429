//! Calls of traced methods in the replies of an agent.

use serde_json::{Map, Value, json};

use super::VERSION;

/// The calls that were recorded since the last reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// The calls, in about the order in which they ended. The parts of a call, which are the calls
    /// inside it, come before the call.
    pub calls: Vec<TracedCall>,
    /// Number of calls that were not recorded, because there was no room.
    pub lost: u64,
    /// Number of parts that were not recorded, because there was no room.
    pub lost_parts: u64,
}

/// A call of a traced method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedCall {
    /// The method, as `com.example.Service::handle`.
    pub method: String,
    /// The call's start in nanoseconds since 1970.
    pub start_ns: u64,
    /// The call's duration in nanoseconds.
    pub duration_ns: u64,
    /// The id of the thread.
    pub thread: u64,
    /// True if the call is recorded only because it may be a part of another call. Such a call has
    /// neither thread name nor stack.
    pub is_part: bool,
    /// The name of the thread. It is empty for most virtual threads.
    pub thread_name: String,
    /// The class of the exception that has ended the call.
    pub thrown: Option<String>,
    /// The frames at the end of the call, the innermost first, as the JVM writes them.
    pub stack: Vec<String>,
    /// The values of the call. Empty for a part, and if no values are recorded.
    pub values: CallValues,
}

/// The values of a call as texts. Texts that may be secrets are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallValues {
    /// The object on which the method was called; `None` for static methods and constructors.
    pub this: Option<String>,
    /// Names and values of the arguments at the beginning of the call.
    pub arguments: Vec<(String, String)>,
    /// The result; `None` if there is none.
    pub result: Option<String>,
}

impl CallValues {
    /// Adds the fields with values to an object of JSON.
    pub fn add_to(&self, object: &mut Value) {
        if let Some(this) = &self.this {
            object["this"] = this.as_str().into();
        }
        if !self.arguments.is_empty() {
            let arguments = self.arguments.iter();
            let arguments = arguments.map(|(name, value)| json!({"name": name, "value": value}));
            object["arguments"] = arguments.collect();
        }
        if let Some(result) = &self.result {
            object["result"] = result.as_str().into();
        }
    }

    fn read(object: &Map<String, Value>) -> CallValues {
        let text = |object: &Value, field: &str| Some(object.get(field)?.as_str()?.to_owned());
        let arguments = object.get("arguments").and_then(Value::as_array);
        let arguments = arguments.into_iter().flatten();
        let own = |field: &str| Some(object.get(field)?.as_str()?.to_owned());
        CallValues {
            this: own("this"),
            arguments: arguments
                .filter_map(|it| Some((text(it, "name")?, text(it, "value")?)))
                .collect(),
            result: own("result"),
        }
    }
}

impl TracedCall {
    /// Returns the time at which the call ended, in nanoseconds since 1970.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    fn json(&self) -> Value {
        let mut object = json!({
            "method": self.method,
            "start_ns": self.start_ns,
            "duration_ns": self.duration_ns,
            "thread": self.thread,
        });
        if self.is_part {
            object["part"] = true.into();
        } else {
            object["thread_name"] = self.thread_name.as_str().into();
            object["stack"] = self.stack.clone().into();
        }
        self.values.add_to(&mut object);
        if let Some(thrown) = &self.thrown {
            object["thrown"] = thrown.as_str().into();
        }
        object
    }

    fn read(object: &Map<String, Value>) -> Option<TracedCall> {
        let text = |field: &str| object.get(field)?.as_str().map(str::to_owned);
        let number = |field: &str| object.get(field)?.as_u64();
        let stack = object.get("stack").and_then(Value::as_array);
        let stack = stack.into_iter().flatten().filter_map(Value::as_str);
        Some(TracedCall {
            method: text("method")?,
            start_ns: number("start_ns")?,
            duration_ns: number("duration_ns")?,
            thread: number("thread")?,
            is_part: object.get("part") == Some(&Value::Bool(true)),
            thread_name: text("thread_name").unwrap_or_default(),
            thrown: text("thrown"),
            stack: stack.map(str::to_owned).collect(),
            values: CallValues::read(object),
        })
    }
}

impl Traced {
    pub(super) fn line(&self) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(TracedCall::json).collect();
        json!({
            "version": VERSION,
            "reply": "traced",
            "calls": calls,
            "lost": self.lost,
            "lost_parts": self.lost_parts,
        })
    }

    pub(super) fn read(object: &Map<String, Value>) -> Option<Traced> {
        let calls = object.get("calls")?.as_array()?.iter();
        let calls = calls.map(|call| TracedCall::read(call.as_object()?));
        Some(Traced {
            calls: calls.collect::<Option<_>>()?,
            lost: object.get("lost")?.as_u64()?,
            lost_parts: object.get("lost_parts")?.as_u64()?,
        })
    }
}
