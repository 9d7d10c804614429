//! The functions by which orders read and change the choice of instrumented methods.

use loadhook_instrument::Traced;
use loadhook_settings::attach::AttachFigures;
use loadhook_settings::{Filter, NONE, Pattern};

use crate::agent::Agent;
use crate::instrument::watch_change;
use crate::jvm::jni::Jni;
use crate::jvm::sys::event;

/// Returns the present choice of methods; during a pause, the choice that will apply after the
/// pause.
pub(super) fn filter(agent: &Agent) -> Filter {
    let chosen = agent.pauses.filter();
    chosen.unwrap_or_else(|| agent.instrumentation.hook.watch().filter_so_far())
}

/// Returns the patterns of a filter: those to include, and those to exclude.
pub(super) fn patterns(filter: &Filter) -> (Vec<String>, Vec<String>) {
    let text = |pattern: &Pattern| pattern.text().to_owned();
    let include = if filter.selects_none() {
        vec![NONE.to_owned()]
    } else {
        filter.included().map(text).collect()
    };
    (include, filter.excluded().map(text).collect())
}

/// Fails if the agent was attached in a mode in which it instruments no class, whatever the patterns are.
pub(super) fn check_counts(agent: &Agent) -> Result<(), String> {
    if agent.options().rewrites() {
        return Ok(());
    }
    Err("this agent records allocations of all classes and counts no calls; detach it (loadhook ctl PID detach), then attach again with another --timing".to_owned())
}

/// Makes the JVM call the agent for each class that is loaded or redefined. The agent may have begun without this
/// event, because its patterns selected no class.
pub(super) fn enable_hook(agent: &Agent) -> Result<(), String> {
    agent
        .jvmti
        .notify(event::CLASS_FILE_LOAD_HOOK, true)
        .map_err(|error| format!("the JVM offers no class-load hook ({error})"))
}

/// Applies a filter to the loaded classes and to classes that are loaded later. After an error, nothing has changed.
pub(super) fn replace_filters(
    agent: &'static Agent,
    jni: Jni<'_>,
    filter: Filter,
    traced: Traced,
) -> Result<AttachFigures, String> {
    let mut figures = Ok(AttachFigures::default());
    if !agent.options().rewrites() {
        return Ok(AttachFigures::default());
    }
    // The gate is released meanwhile, because the end of the JVM waits for it, and transformers of other agents may run
    // long.
    agent.gate.release_during(|| {
        figures = agent.budget.do_ordered(|| {
            watch_change::replace_filters(
                &agent.instrumentation,
                &agent.hidden_classes,
                jni,
                filter,
                traced,
                &|| !agent.gate.is_ending(),
            )
        });
    });
    figures.map_err(|error| error.to_string())
}
