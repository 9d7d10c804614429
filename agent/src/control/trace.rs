//! The orders `trace`, `traced` and `untrace`. The tracker records the calls of the traced methods.

use loadhook_instrument::Traced as TracedMethods;
use loadhook_settings::Filter;
use loadhook_settings::control::{
    CallValues, Changed, Latency, Reply, TraceOrder, Traced, TracedCall, ValueTexts,
};

use super::choice::{check_counts, enable_hook, filter, patterns, replace_filters};
use crate::agent::Agent;
use crate::instrument::registry::Registry;
use crate::jvm::jni::Jni;
use crate::tracker::client::TrackerClient;

/// The reason why an order is refused during a trace.
pub(super) const TRACING: &str =
    "calls are being traced, by loadhook trace; wait until it has ended";

const NOT_BEGUN: &str = "the agent is still starting; try again in a few seconds";

const NO_MEMORY: &str =
    "the heap is nearly full; try again later, or give the JVM more heap (-Xmx)";

/// Returns whether calls are being traced.
pub(super) fn is_under_way(agent: &Agent) -> bool {
    agent.instrumentation.hook.watch().traces()
}

/// Begins a trace.
pub(super) fn begin(
    agent: &'static Agent,
    jni: Jni<'_>,
    order: TraceOrder,
) -> Result<Reply, String> {
    check_counts(agent)?;
    if is_under_way(agent) {
        return Err(TRACING.to_owned());
    }
    if agent.pauses.is_paused() {
        return Err("the agent is paused; loadhook ctl PID resume ends the pause".to_owned());
    }
    enable_hook(agent)?;
    let tracker = agent.tracker.get().ok_or(NOT_BEGUN)?;
    if !tracker.reserve.can_spare_snapshot(jni) {
        return Err(NO_MEMORY.to_owned());
    }
    let slower_ns = i64::try_from(order.slower_ns).unwrap_or(i64::MAX);
    tracker
        .begin_trace(
            jni,
            slower_ns,
            order.thrown,
            order.values == Some(ValueTexts::Call),
        )
        .map_err(|_| NO_MEMORY.to_owned())?;
    let figures = replace_filters(
        agent,
        jni,
        filter(agent),
        TracedMethods {
            methods: Filter::of(order.patterns, Vec::new()),
            values: order.values.is_some(),
        },
    );
    if figures.is_err() {
        tracker.end_trace(jni);
    }
    let figures = figures?;
    let mut notes = Vec::new();
    if figures.classes == 0 {
        notes.push("no loaded class matches; classes that are loaded later are traced".to_owned());
    } else if !agent.instrumentation.hook.watch().has_traced() {
        notes.push(
            "no method of the loaded classes matches, or those that match cannot have probes (native and \
             abstract methods, and a few of the JDK); classes that are loaded later are traced"
                .to_owned(),
        );
    }
    let (include, exclude) = patterns(&filter(agent));
    Ok(Reply::Changed(Changed {
        figures,
        include,
        exclude,
        notes,
    }))
}

/// Ends the trace. Does nothing if no calls are being traced.
pub(super) fn end(agent: &'static Agent, jni: Jni<'_>) -> Result<Reply, String> {
    if !is_under_way(agent) {
        return Ok(Reply::Done);
    }
    if let Some(tracker) = agent.tracker.get() {
        tracker.end_trace(jni);
    }
    replace_filters(agent, jni, filter(agent), TracedMethods::none())?;
    Ok(Reply::Done)
}

/// Takes the recorded calls out of the tracker.
pub(super) fn take(agent: &Agent, jni: Jni<'_>) -> Result<Reply, String> {
    let tracker = tracker(agent)?;
    if !tracker.reserve.can_spare_snapshot(jni) {
        // There is no memory for the text of the recorded calls. They are dropped, because the program needs the memory
        // that they take.
        let traced = Traced {
            lost_parts: tracker.drop_traced(jni, true),
            lost: tracker.drop_traced(jni, false),
            ..Traced::default()
        };
        return Ok(Reply::Traced(traced));
    }
    let text = tracker.take_traced(jni);
    let text = text.map_err(|_| NO_MEMORY.to_owned())?;
    let registry = &agent.instrumentation.hook.registry;
    let watch = agent.instrumentation.hook.watch();
    let values = |method: u32, texts: &[&str], thrown| watch.call_values(method, texts, thrown);
    Ok(Reply::Traced(read(&text, registry, values)))
}

/// Returns the durations of traced calls so far.
pub(super) fn latencies(agent: &Agent, jni: Jni<'_>) -> Result<Reply, String> {
    let tracker = tracker(agent)?;
    if !tracker.reserve.can_spare_snapshot(jni) {
        return Err(NO_MEMORY.to_owned());
    }
    let text = tracker.take_latencies(jni);
    let text = text.map_err(|_| NO_MEMORY.to_owned())?;
    let registry = &agent.instrumentation.hook.registry;
    let latencies = text.lines().filter_map(|line| latency(line, registry));
    Ok(Reply::Latencies(latencies.collect()))
}

/// Returns the tracker; fails if no calls are being traced.
fn tracker(agent: &Agent) -> Result<&TrackerClient, String> {
    if !is_under_way(agent) {
        return Err("no calls are traced; give the order trace first".to_owned());
    }
    let tracker = agent.tracker.get().copied();
    tracker.ok_or_else(|| NOT_BEGUN.to_owned())
}

/// Returns the name of a method, or its id if the registry does not know it.
fn name(method: u32, registry: &Registry) -> String {
    let name = registry.method_name(method);
    name.unwrap_or_else(|| format!("(method {method})"))
}

/// Reads a line that `Latencies.java` has written: a method's id, then pairs of a duration and a number of calls.
fn latency(line: &str, registry: &Registry) -> Option<Latency> {
    let numbers = line.strip_prefix("latency ")?.split(' ');
    let numbers = numbers.map(|number| number.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    let (method, counts) = numbers.split_first()?;
    let counts = counts.chunks_exact(2).map(|count| (count[0], count[1]));
    let method = name(u32::try_from(*method).ok()?, registry);
    Some(Latency::of(method, &counts.collect::<Vec<_>>()))
}

/// Reads the text that the tracker's `TracedCall.java` and `Trace.java` write. `values` makes the values of a call from
/// three arguments: the id of the method, the texts of the values, and true if the call has thrown an exception.
fn read(
    text: &str,
    registry: &Registry,
    values: impl Fn(u32, &[&str], bool) -> CallValues,
) -> Traced {
    let mut traced = Traced::default();
    let (mut method, mut texts) = (0, Vec::new());
    // Lines with the values of a call follow its line. Another line, or the end, shows that the values are complete.
    for line in text.lines().chain([""]) {
        let (word, value) = line.split_once(' ').unwrap_or((line, ""));
        if word == "value" {
            texts.push(value);
            continue;
        }
        if let Some(call) = traced.calls.last_mut()
            && !texts.is_empty()
        {
            call.values = values(method, &texts, call.thrown.is_some());
            texts.clear();
        }
        let last = traced.calls.last_mut();
        match (word, last) {
            ("call" | "part", _) => {
                let number = value.split(' ').next().and_then(|it| it.parse().ok());
                method = number.unwrap_or(0);
                if let Some(call) = call(value, word == "part", registry) {
                    traced.calls.push(call);
                }
            }
            ("thread", Some(call)) => call.thread_name = value.to_owned(),
            ("thrown", Some(call)) => call.thrown = Some(value.to_owned()),
            ("at", Some(call)) => call.stack.push(value.to_owned()),
            ("lost", _) => traced.lost = value.parse().unwrap_or(0),
            ("lost-parts", _) => traced.lost_parts = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    traced
}

/// Reads the numbers in the line of a call: method, start, duration, thread.
fn call(numbers: &str, is_part: bool, registry: &Registry) -> Option<TracedCall> {
    let mut numbers = numbers.split(' ');
    let method = numbers.next()?.parse().ok()?;
    let mut number = || numbers.next()?.parse().ok();
    Some(TracedCall {
        method: name(method, registry),
        start_ns: number()?,
        duration_ns: number()?,
        thread: number()?,
        is_part,
        ..TracedCall::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        let latency = latency("latency 5 100 3 200 1", &Registry::new());
        let latency = latency.expect("numbers");
        assert_eq!((&*latency.method, latency.calls), ("(method 5)", 4));
        assert_eq!(latency.percentiles, [100, 200, 200, 200, 200]);
    }

    #[test]
    fn the_text_of_the_tracker_is_read() {
        let text = "part 5 1000 20 3\ncall 5 900 200 3\nthrown a.Fault\nthread pool 1\nvalue i 7\nvalue n null\nat a.B.c(B.java:1)\nlost 7\n";
        let values = |method, texts: &[&str], thrown| {
            assert_eq!((method, texts, thrown), (5, &["i 7", "n null"][..], true));
            CallValues {
                result: Some("7".to_owned()),
                ..CallValues::default()
            }
        };
        let traced = read(text, &Registry::new(), values);
        let [part, call] = &traced.calls[..] else {
            panic!("{traced:?}");
        };
        assert!(part.is_part && part.duration_ns == 20 && part.method == "(method 5)");
        assert_eq!((call.start_ns, call.thread, call.is_part), (900, 3, false));
        assert_eq!(call.thrown.as_deref(), Some("a.Fault"));
        assert_eq!(
            (&*call.thread_name, &*call.stack[0]),
            ("pool 1", "a.B.c(B.java:1)")
        );
        assert_eq!((traced.lost, traced.lost_parts), (7, 0));
        assert_eq!(call.values.result.as_deref(), Some("7"));
        assert_eq!(part.values, CallValues::default());
    }
}
