//! Carries out orders, one at a time. No snapshot is written during an order.

use std::fs;
use std::path::Path;

use loadhook_settings::attach::AttachFigures;
use loadhook_settings::control::{Changed, Reply, Request, Status, notes_on_inclusion};
use loadhook_settings::{Filter, Pattern};

use super::choice::{check_counts, enable_hook, filter, patterns, replace_filters};
use super::server::Outcome;
use super::trace;
use crate::agent::Agent;
use crate::jvm::jni::Jni;
use crate::monitor_events;

/// The reason why an order is refused while the agent leaves.
pub(super) const LEAVING: &str = "the agent is leaving the process";

/// The maximum number of patterns in a filter, included and excluded together.
const MOST_PATTERNS: usize = 1000;

/// The maximum length of all patterns of a filter together, in bytes.
const LONGEST_PATTERNS: usize = 64 << 10;

/// Carries out an order.
pub(super) fn execute(agent: &'static Agent, jni: Jni<'_>, request: Request) -> Outcome {
    if request == Request::Detach {
        return Outcome::Leave;
    }
    let Some(_pass) = agent.gate.enter() else {
        return refused(&reason_to_leave(agent));
    };
    let done = jni.framed(|jni| match request {
        Request::Status => Ok(Reply::Status(status(agent))),
        Request::Include(patterns) => include(agent, jni, &patterns),
        Request::Exclude(patterns) => exclude(agent, jni, patterns),
        Request::Snapshot(file) => snapshot(agent, jni, Path::new(&file)),
        Request::Pause => pause(agent, jni),
        Request::Resume => resume(agent, jni),
        Request::Trace(order) => trace::begin(agent, jni, order),
        Request::Traced => trace::take(agent, jni),
        Request::Latencies => trace::latencies(agent, jni),
        Request::Untrace => trace::end(agent, jni),
        Request::Detach => Ok(Reply::Done),
    });
    match done {
        Some(Ok(reply)) => Outcome::Reply(reply),
        Some(Err(error)) => refused(&error),
        None => refused("the JVM has no memory for this order; try again later"),
    }
}

/// Returns the reason why the agent leaves, for its clients.
pub(super) fn reason_to_leave(agent: &Agent) -> String {
    match agent.budget.reason() {
        None => LEAVING.to_owned(),
        Some(reason) if trace::is_under_way(agent) => format!(
            "{reason}. Trace fewer or longer methods, or give --budget none to the command that has attached the agent \
             (loadhook trace, attach or run)"
        ),
        Some(reason) => format!("{reason}. Watch fewer methods, or raise --budget"),
    }
}

fn refused(reason: &str) -> Outcome {
    Outcome::Reply(Reply::Error(reason.to_owned()))
}

fn status(agent: &Agent) -> Status {
    let options = agent.options();
    let (include, exclude) = patterns(&filter(agent));
    let file = std::path::absolute(&options.file);
    let namespace = fs::read_link("/proc/self/ns/pid");
    Status {
        agent: env!("CARGO_PKG_VERSION").to_owned(),
        watched_ms: u64::try_from(agent.start_time.elapsed().as_millis()).unwrap_or(u64::MAX),
        timing: options.timing.map(|timing| timing.as_str().to_owned()),
        alloc: options.settings.alloc.map(|mode| mode.to_string()),
        include,
        exclude,
        paused: agent.pauses.is_paused(),
        classes: agent.instrumentation.hook.registry.count() as u64,
        file: file.as_ref().unwrap_or(&options.file).display().to_string(),
        namespace: namespace.ok().map(|name| name.display().to_string()),
    }
}

fn include(agent: &'static Agent, jni: Jni<'_>, patterns: &[Pattern]) -> Result<Reply, String> {
    check_counts(agent)?;
    enable_hook(agent)?;
    let old = filter(agent);
    let all = patterns.iter().cloned();
    let new = all.fold(old.clone(), |filter, it| filter.with_included(it));
    let notes = notes_on_inclusion(&old, &new, patterns);
    change(agent, jni, &old, new, notes)
}

fn exclude(agent: &'static Agent, jni: Jni<'_>, patterns: Vec<Pattern>) -> Result<Reply, String> {
    check_counts(agent)?;
    let old = filter(agent);
    let all = patterns.into_iter();
    let new = all.fold(old.clone(), |filter, it| filter.with_excluded(it));
    change(agent, jni, &old, new, Vec::new())
}

/// Replaces the filter. During a pause, the new filter takes effect only when the pause ends.
fn change(
    agent: &'static Agent,
    jni: Jni<'_>,
    old: &Filter,
    new: Filter,
    notes: Vec<String>,
) -> Result<Reply, String> {
    check_size(old, &new)?;
    let (include, exclude) = patterns(&new);
    let figures = if agent.pauses.replace_filter(&new) {
        agent.hidden_classes.pause(&agent.instrumentation, new);
        AttachFigures::default()
    } else {
        replace_watched(agent, jni, new)?
    };
    Ok(Reply::Changed(Changed {
        figures,
        include,
        exclude,
        notes,
    }))
}

/// Fails if a change makes a filter larger than the limits. Each pattern takes memory, and takes time for each class.
fn check_size(old: &Filter, new: &Filter) -> Result<(), String> {
    let size = |filter: &Filter| {
        let all = filter.included().chain(filter.excluded());
        all.fold((0, 0), |(count, bytes), pattern| {
            (count + 1, bytes + pattern.text().len())
        })
    };
    let ((old_count, old_bytes), (count, bytes)) = (size(old), size(new));
    let is_too_large =
        count > MOST_PATTERNS && count > old_count || bytes > LONGEST_PATTERNS && bytes > old_bytes;
    if is_too_large {
        return Err(
            "too many patterns; use wider ones, or detach the agent and attach again".to_owned(),
        );
    }
    Ok(())
}

/// Changes which methods are watched. Traced methods stay traced.
fn replace_watched(
    agent: &'static Agent,
    jni: Jni<'_>,
    filter: Filter,
) -> Result<AttachFigures, String> {
    let traced = agent.instrumentation.hook.watch().traced.clone();
    replace_filters(agent, jni, filter, traced)
}

fn pause(agent: &'static Agent, jni: Jni<'_>) -> Result<Reply, String> {
    if trace::is_under_way(agent) {
        return Err(trace::TRACING.to_owned());
    }
    let filter = filter(agent);
    let (include, exclude) = patterns(&filter);
    if !agent.pauses.begin(filter.clone()) {
        return Err(
            "the agent is paused already; loadhook ctl PID resume ends the pause".to_owned(),
        );
    }
    pause_hidden_classes(agent, jni, filter);
    // Sampling stops first, because samples would show a program whose classes are being changed.
    if let Some(sampler) = &agent.sampler {
        sampler.pause(&agent.instrumentation, jni);
    }
    let figures = replace_watched(agent, jni, Filter::none());
    if figures.is_err() {
        end_pause(agent, jni);
    } else {
        monitor_events::pause_changes(agent, jni);
    }
    Ok(Reply::Changed(Changed {
        figures: figures?,
        include,
        exclude,
        notes: Vec::new(),
    }))
}

fn resume(agent: &'static Agent, jni: Jni<'_>) -> Result<Reply, String> {
    let Some(filter) = agent.pauses.filter() else {
        return Err("the agent is not paused; loadhook ctl PID pause begins a pause".to_owned());
    };
    let (include, exclude) = patterns(&filter);
    let figures = replace_watched(agent, jni, filter)?;
    end_pause(agent, jni);
    monitor_events::pause_changes(agent, jni);
    Ok(Reply::Changed(Changed {
        figures,
        include,
        exclude,
        notes: Vec::new(),
    }))
}

/// Begins a pause for hidden classes. `filter` is the choice of methods for the time after the pause.
fn pause_hidden_classes(agent: &Agent, jni: Jni<'_>, filter: Filter) {
    agent.hidden_classes.pause(&agent.instrumentation, filter);
    if let Some(tracker) = agent.tracker.get() {
        tracker.pause(jni, true);
    }
}

fn end_pause(agent: &'static Agent, jni: Jni<'_>) {
    agent.hidden_classes.resume();
    if let Some(tracker) = agent.tracker.get() {
        tracker.pause(jni, false);
    }
    if let Some(sampler) = &agent.sampler {
        sampler.resume(&agent.instrumentation, jni);
    }
    agent.pauses.end();
}

fn snapshot(agent: &'static Agent, jni: Jni<'_>, file: &Path) -> Result<Reply, String> {
    let sources = agent
        .sources()
        .ok_or("the agent is still starting; try again in a few seconds")?;
    if !sources.has_heap_for_snapshot(jni) {
        return Err("the heap is nearly full; give the JVM more heap (-Xmx)".to_owned());
    }
    match agent.writer.write_copy(&sources, jni, file) {
        Ok(()) => Ok(Reply::Done),
        Err(error) => Err(error.to_string()),
    }
}
