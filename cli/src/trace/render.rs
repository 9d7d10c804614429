//! Traced calls as lines, as JSON, and as events for Chrome and Perfetto.

use std::collections::BTreeSet;
use std::io::{self, Write};

use loadhook_settings::control::{CallValues, Latency, TracedCall};
use loadhook_text::date::utc_micros;
use loadhook_text::units::{counted, time};
use loadhook_text::{JsonWriter, count, printable};
use serde_json::{Value, json};

use super::parts::Part;

/// The maximum number of calls below a call, and of frames of its stack, that lines show.
const MOST_LINES: usize = 20;

/// The maximum number of events in a file for Chrome.
const MOST_EVENTS: usize = 1_000_000;

/// Writes a call for people.
pub(super) fn lines(call: &TracedCall, parts: &[Part], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}  {}  {}{}  in {}",
        utc_micros(call.start_ns),
        time(call.duration_ns as f64),
        printable(&call.method),
        thrown(call),
        thread(call),
    )?;
    values(&call.values, out)?;
    for part in parts.iter().take(MOST_LINES) {
        let call = &part.call;
        writeln!(
            out,
            "    {:indent$}{}  {}{}",
            "",
            time(call.duration_ns as f64),
            printable(&call.method),
            thrown(call),
            indent = 2 * part.depth,
        )?;
    }
    more(parts.len(), "call", "calls", out)?;
    for frame in call.stack.iter().take(MOST_LINES) {
        writeln!(out, "    at {}", printable(frame))?;
    }
    more(call.stack.len(), "frame", "frames", out)?;
    writeln!(out)
}

fn values(values: &CallValues, out: &mut dyn Write) -> io::Result<()> {
    if let Some(this) = &values.this {
        writeln!(out, "    this = {}", printable(this))?;
    }
    for (name, value) in values.arguments.iter().take(MOST_LINES) {
        writeln!(out, "    {} = {}", printable(name), printable(value))?;
    }
    more(values.arguments.len(), "argument", "arguments", out)?;
    if let Some(result) = &values.result {
        writeln!(out, "    returned {}", printable(result))?;
    }
    Ok(())
}

/// Writes how many lines are left out.
fn more(all: usize, one: &str, several: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(MOST_LINES) {
        0 => Ok(()),
        left => {
            let left = counted(left as u64, one, several);
            writeln!(out, "    … {left} more (--format json shows all)")
        }
    }
}

fn thrown(call: &TracedCall) -> String {
    match &call.thrown {
        Some(class) => format!("  threw {}", printable(class)),
        None => String::new(),
    }
}

fn thread(call: &TracedCall) -> String {
    if call.thread_name.is_empty() {
        format!("thread {}", call.thread)
    } else {
        format!("thread {} ({})", printable(&call.thread_name), call.thread)
    }
}

/// Writes a call as a line of JSON.
pub(super) fn json(call: &TracedCall, parts: &[Part], out: &mut dyn Write) -> io::Result<()> {
    let below = parts.iter().map(|part| {
        json!({
            "depth": part.depth,
            "method": part.call.method,
            "start_ns": part.call.start_ns,
            "duration_ns": part.call.duration_ns,
            "thrown": part.call.thrown,
        })
    });
    let mut line = json!({
        "method": call.method,
        "start_ns": call.start_ns,
        "duration_ns": call.duration_ns,
        "thread": call.thread,
        "thread_name": call.thread_name,
        "thrown": call.thrown,
        "below": below.collect::<Vec<_>>(),
        "stack": call.stack,
    });
    call.values.add_to(&mut line);
    writeln!(JsonWriter(out), "{line}")
}

/// Writes a table of all traced calls.
pub(super) fn latency_lines(latencies: &[Latency], out: &mut dyn Write) -> io::Result<()> {
    if latencies.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{:>12} {:>9} {:>9} {:>9} {:>9} {:>9}  method",
        "calls", "p50", "p90", "p99", "p99.9", "max"
    )?;
    for latency in latencies {
        write!(out, "{:>12}", count(latency.calls))?;
        for duration in latency.percentiles {
            write!(out, " {:>9}", time(duration as f64))?;
        }
        writeln!(out, "  {}", printable(&latency.method))?;
    }
    Ok(())
}

/// Writes the durations of all traced calls as a line of JSON.
pub(super) fn latency_json(latencies: &[Latency], out: &mut dyn Write) -> io::Result<()> {
    let latencies: Vec<Value> = latencies.iter().map(Latency::json).collect();
    writeln!(JsonWriter(out), "{}", json!({"latencies": latencies}))
}

/// The events of a file in Chrome's trace event format, which Perfetto reads too.
#[derive(Default)]
pub(super) struct ChromeEvents {
    events: Vec<Value>,
    /// Calls that have an event: a call may be inside several others.
    seen: BTreeSet<(u64, u64, u64, String)>,
    /// Ids of the threads that have a name.
    named: BTreeSet<u64>,
    /// Number of calls that found no room.
    pub(super) left_out: u64,
}

impl ChromeEvents {
    /// Adds a call and its parts.
    pub(super) fn add(&mut self, pid: u32, call: &TracedCall, parts: &[Part]) {
        if !call.thread_name.is_empty() && self.named.insert(call.thread) {
            self.events.push(json!({
                "name": "thread_name",
                "ph": "M",
                "pid": pid,
                "tid": call.thread,
                "args": {"name": call.thread_name},
            }));
        }
        self.add_call(pid, call);
        for part in parts {
            self.add_call(pid, &part.call);
        }
    }

    fn add_call(&mut self, pid: u32, call: &TracedCall) {
        let key = (
            call.thread,
            call.start_ns,
            call.duration_ns,
            call.method.clone(),
        );
        if self.seen.contains(&key) {
            return;
        }
        if self.seen.len() >= MOST_EVENTS {
            self.left_out += 1;
            return;
        }
        self.seen.insert(key);
        let micros = |ns: u64| ns as f64 / 1000.0;
        let mut args = json!({"thrown": call.thrown, "stack": call.stack});
        call.values.add_to(&mut args);
        self.events.push(json!({
            "name": call.method,
            "cat": if call.thrown.is_some() { "thrown" } else { "call" },
            "ph": "X",
            "ts": micros(call.start_ns),
            "dur": micros(call.duration_ns),
            "pid": pid,
            "tid": call.thread,
            "args": args,
        }));
    }

    /// Writes the file.
    pub(super) fn write(&self, latencies: &[Latency], out: &mut dyn Write) -> io::Result<()> {
        let latencies: Vec<Value> = latencies.iter().map(Latency::json).collect();
        let file = json!({
            "displayTimeUnit": "ms",
            "traceEvents": self.events,
            "latencies": latencies,
        });
        writeln!(JsonWriter(out), "{file}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> TracedCall {
        TracedCall {
            method: "a.B::c".to_owned(),
            start_ns: 1_000_000_500,
            duration_ns: 62_000_000,
            thread: 7,
            thread_name: "http\n1".to_owned(),
            thrown: Some("a.Fault".to_owned()),
            stack: vec!["a.B.c(B.java:1)".to_owned(); 22],
            values: CallValues {
                this: Some("a.B@7".to_owned()),
                arguments: vec![("id".to_owned(), "8".to_owned())],
                result: Some("\"x\"".to_owned()),
            },
            ..TracedCall::default()
        }
    }

    fn part() -> Part {
        Part {
            depth: 2,
            call: TracedCall {
                method: "a.D::e".to_owned(),
                start_ns: 1_000_001_000,
                duration_ns: 5_000,
                thread: 7,
                ..TracedCall::default()
            },
        }
    }

    #[test]
    fn lines_show_parts_and_the_stack() {
        let mut out = Vec::new();
        lines(&call(), &[part()], &mut out).expect("no error");
        let text = String::from_utf8(out).expect("UTF-8");
        let begins = "1970-01-01 00:00:01.000000  62.0 ms  a.B::c  threw a.Fault  in thread http\\n1 (7)\n    this = a.B@7\n    id = 8\n    returned \"x\"\n        5.00 µs  a.D::e\n    at a.B.c(B.java:1)\n";
        assert!(text.starts_with(begins), "{text}");
        assert!(
            text.ends_with("    … 2 frames more (--format json shows all)\n\n"),
            "{text}"
        );
    }

    #[test]
    fn latencies_are_a_table() {
        let latency = Latency::of("a.B::c".to_owned(), &[(1_500, 999), (2_000_000, 1)]);
        let mut out = Vec::new();
        latency_lines(&[latency], &mut out).expect("no error");
        let text = String::from_utf8(out).expect("UTF-8");
        let line = "       1,000   1.50 µs   1.50 µs   1.50 µs   1.50 µs   2.00 ms  a.B::c\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn a_call_has_one_event() {
        let mut events = ChromeEvents::default();
        events.add(3, &call(), &[part()]);
        events.add(3, &call(), &[part()]);
        let mut out = Vec::new();
        events.write(&[], &mut out).expect("no error");
        let file: Value = serde_json::from_slice(&out).expect("JSON");
        let events = file["traceEvents"].as_array().expect("an array");
        let phases: Vec<&str> = events.iter().filter_map(|it| it["ph"].as_str()).collect();
        assert_eq!(phases, ["M", "X", "X"]);
        assert_eq!(events[1]["ts"], 1_000_000.5);
        assert_eq!(events[1]["dur"], 62_000.0);
        assert_eq!(events[1]["args"]["arguments"][0]["value"], "8");
        assert_eq!(events[2]["tid"], 7);
    }
}
