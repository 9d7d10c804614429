//! Carries out orders, one at a time. No snapshot is written meanwhile.

use std::path::Path;

use loadhook_settings::attach::AttachFigures;
use loadhook_settings::control::{Changed, Reply, Request, Status};
use loadhook_settings::{Filter, NONE, Pattern};

use super::server::Outcome;
use crate::agent::Agent;
use crate::instrument::watch_change;
use crate::jvm::jni::Jni;
use crate::jvm::sys::event;

/// Carries out an order.
pub(super) fn execute(agent: &'static Agent, jni: Jni<'_>, request: Request) -> Outcome {
    if request == Request::Detach {
        return Outcome::Leave;
    }
    let Some(_pass) = agent.gate.enter() else {
        return refused("the agent is leaving the process");
    };
    let done = jni.framed(|jni| match request {
        Request::Status => Ok(Reply::Status(status(agent))),
        Request::Include(pattern) => include(agent, jni, pattern),
        Request::Exclude(pattern) => exclude(agent, jni, pattern),
        Request::Snapshot(file) => snapshot(agent, jni, Path::new(&file)),
        Request::Pause => pause(agent, jni),
        Request::Resume => resume(agent, jni),
        Request::Detach => Ok(Reply::Done),
    });
    match done {
        Some(Ok(reply)) => Outcome::Reply(reply),
        Some(Err(error)) => refused(&error),
        None => refused("the JVM has no memory for this; try again later"),
    }
}

fn refused(reason: &str) -> Outcome {
    Outcome::Reply(Reply::Error(reason.to_owned()))
}

fn status(agent: &Agent) -> Status {
    let options = agent.options();
    let (include, exclude) = patterns(&filter(agent));
    let file = std::path::absolute(&options.file);
    Status {
        agent: env!("CARGO_PKG_VERSION").to_owned(),
        watched_ms: u64::try_from(agent.start_time.elapsed().as_millis()).unwrap_or(u64::MAX),
        timing: options.timing.map(|timing| timing.as_str().to_owned()),
        alloc: options.settings.alloc.map(|mode| mode.to_string()),
        include,
        exclude,
        paused: agent.pauses.is_paused(),
        classes: agent.instrumentation.hook.tally().classes,
        file: file.as_ref().unwrap_or(&options.file).display().to_string(),
    }
}

/// The choice of methods. During a pause, the one for the time after it.
fn filter(agent: &Agent) -> Filter {
    let chosen = agent.pauses.filter();
    chosen.unwrap_or_else(|| agent.instrumentation.hook.watch().filter_so_far())
}

/// The patterns of a filter: those to include, and those to exclude.
fn patterns(filter: &Filter) -> (Vec<String>, Vec<String>) {
    let text = |pattern: &Pattern| pattern.text().to_owned();
    let include = if filter.selects_none() {
        vec![NONE.to_owned()]
    } else {
        filter.included().map(text).collect()
    };
    (include, filter.excluded().map(text).collect())
}

/// Fails if the agent instruments no class, whatever the patterns.
fn check_counts(agent: &Agent) -> Result<(), String> {
    if agent.options().rewrites() {
        return Ok(());
    }
    Err("this agent records allocations of all classes and counts no calls; detach it, then attach again with another timing".to_owned())
}

fn include(agent: &'static Agent, jni: Jni<'_>, pattern: Pattern) -> Result<Reply, String> {
    check_counts(agent)?;
    // The agent may have begun without this event, because it was to change no class.
    agent
        .jvmti
        .notify(event::CLASS_FILE_LOAD_HOOK, true)
        .map_err(|error| format!("the JVM offers no class-load hook ({error})"))?;
    let filter = filter(agent);
    Ok(change(agent, jni, filter.with_included(pattern)))
}

fn exclude(agent: &'static Agent, jni: Jni<'_>, pattern: Pattern) -> Result<Reply, String> {
    check_counts(agent)?;
    let filter = filter(agent);
    Ok(change(agent, jni, filter.with_excluded(pattern)))
}

/// Replaces the filter. During a pause the new one holds only after it.
fn change(agent: &'static Agent, jni: Jni<'_>, filter: Filter) -> Reply {
    let (include, exclude) = patterns(&filter);
    let figures = if agent.pauses.replace_filter(&filter) {
        AttachFigures::default()
    } else {
        replace_filter(agent, jni, filter)
    };
    Reply::Changed(Changed {
        figures,
        include,
        exclude,
    })
}

/// Changes the loaded classes, and those that come.
fn replace_filter(agent: &'static Agent, jni: Jni<'_>, filter: Filter) -> AttachFigures {
    let mut figures = AttachFigures::default();
    if !agent.options().rewrites() {
        return figures;
    }
    // Transformers of other agents run meanwhile. The end of the JVM must not wait for them.
    agent.gate.release_during(|| {
        figures = watch_change::replace_filter(
            &agent.instrumentation,
            &agent.hidden_classes,
            jni,
            filter,
            &|| !agent.gate.is_ending(),
        );
    });
    figures
}

fn pause(agent: &'static Agent, jni: Jni<'_>) -> Result<Reply, String> {
    let filter = filter(agent);
    let (include, exclude) = patterns(&filter);
    if !agent.pauses.begin(filter) {
        return Err("the agent is paused already; the order resume ends the pause".to_owned());
    }
    // Samples stop first, because they would show a program that is changed.
    if let Some(sampler) = &agent.sampler {
        sampler.pause(&agent.instrumentation, jni);
    }
    Ok(Reply::Changed(Changed {
        figures: replace_filter(agent, jni, Filter::none()),
        include,
        exclude,
    }))
}

fn resume(agent: &'static Agent, jni: Jni<'_>) -> Result<Reply, String> {
    let Some(filter) = agent.pauses.filter() else {
        return Err("the agent is not paused; the order pause begins a pause".to_owned());
    };
    let (include, exclude) = patterns(&filter);
    let figures = replace_filter(agent, jni, filter);
    if let Some(sampler) = &agent.sampler {
        sampler.resume(&agent.instrumentation, jni);
    }
    agent.pauses.end();
    Ok(Reply::Changed(Changed {
        figures,
        include,
        exclude,
    }))
}

fn snapshot(agent: &'static Agent, jni: Jni<'_>, file: &Path) -> Result<Reply, String> {
    let sources = agent
        .sources()
        .ok_or("the agent has not begun; try again later")?;
    if !sources.has_heap_for_snapshot(jni) {
        return Err("the heap is nearly full; give the JVM more heap (-Xmx)".to_owned());
    }
    match agent.writer.write_copy(&sources, jni, file) {
        Ok(()) => Ok(Reply::Done),
        Err(error) => Err(error.to_string()),
    }
}
