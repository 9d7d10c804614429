//! The session of an agent in a JVM: the time from loading or attaching until it has left.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use loadhook_settings::AgentOptions;
use loadhook_settings::attach::{AnswerLine, Refusal};
use loadhook_text::units;

use super::answer::{self, Answer};
use super::watch;
use crate::agent::Agent;
use crate::instrument::removal;
use crate::jvm::entry;
use crate::jvm::jni::Jni;
use crate::jvm::sys::event;
use crate::load::LoadError;
use crate::locks::{lock, wait};
use crate::{diagnostics, events};

/// The longest wait until callbacks and the agent's own threads have ended. That takes milliseconds, unless a debugger
/// has suspended a thread.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The phases of a session.
enum Phase {
    /// There is no agent.
    Free,
    /// The agent is attaching.
    Beginning,
    /// The agent is at work.
    Working(&'static Agent),
    /// The agent is leaving.
    Leaving,
}

static PHASE: Mutex<Phase> = Mutex::new(Phase::Free);
static CHANGED: Condvar = Condvar::new();

fn set(phase: Phase) {
    *lock(&PHASE) = phase;
    CHANGED.notify_all();
}

/// Sets the phase to [`Phase::Free`] if the agent panics while it attaches or leaves. Otherwise the JVM's thread that
/// attaches agents would wait for ever for the end of that phase, and all other tools that attach would wait for this
/// thread.
struct FreedByPanic;

impl Drop for FreedByPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            answer::end(false);
            set(Phase::Free);
        }
    }
}

/// Makes the agent's own threads end if the agent panics while it attaches. Otherwise they would work on without a
/// session, and the one that keeps the duration would wait for ever for the duration's begin.
struct EndedByPanic(&'static Agent);

impl Drop for EndedByPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.gate.begin_end();
        }
    }
}

/// Begins the session of an agent that was loaded at the JVM's start.
pub(crate) fn loaded(agent: &'static Agent) {
    set(Phase::Working(agent));
}

/// Attaches an agent. `make` makes the agent from its options.
pub(crate) fn attach(
    text: &str,
    jni: Jni<'_>,
    make: impl FnOnce(AgentOptions) -> Result<&'static Agent, LoadError>,
) -> Result<(), Refusal> {
    let settings = match text.parse::<AgentOptions>() {
        Ok(settings) => settings,
        Err(error) => {
            diagnostics::line(&error.to_string());
            return Err(Refusal::Failed);
        }
    };
    if !begin() {
        refuse(
            &settings,
            "this JVM is already watched by Loadhook; wait until that agent has left, or detach it (loadhook ctl PID detach)",
        );
        return Err(Refusal::Watched);
    }
    let _freed = FreedByPanic;
    if let Some(name) = &settings.answer
        && let Err(error) = answer::begin(name)
    {
        diagnostics::line(&format!("{name}: {error}; nothing is watched"));
        set(Phase::Free);
        return Err(Refusal::Failed);
    }
    diagnostics::begin_anew();
    let agent = match make(settings) {
        Ok(agent) => agent,
        Err(error) => {
            tell(&format!("{error}; nothing is watched"));
            answer::end(true);
            set(Phase::Free);
            return Err(Refusal::Failed);
        }
    };
    watch::start(agent, jni, leave_from_own_thread);
    let begun = {
        let _ended = EndedByPanic(agent);
        events::attach(agent, jni, leave_from_own_thread)
    };
    match begun {
        Ok(figures) => {
            answer::write(&AnswerLine::Attached(figures));
            set(Phase::Working(agent));
            Ok(())
        }
        Err(error) => {
            tell(&error.to_string());
            set(Phase::Leaving);
            // The agent has recorded nothing, so it writes no profile.
            agent.gate.begin_end();
            agent.end.once(Duration::MAX, || ());
            leave(agent, jni, 0);
            Err(Refusal::Failed)
        }
    }
}

/// Begins a session. If an earlier agent is leaving, waits until it has left. Returns false if another agent has a
/// session.
fn begin() -> bool {
    let mut phase = lock(&PHASE);
    while matches!(*phase, Phase::Leaving) {
        phase = wait(&CHANGED, phase, Duration::MAX);
    }
    let is_free = matches!(*phase, Phase::Free);
    if is_free {
        *phase = Phase::Beginning;
    }
    is_free
}

/// Reports why a command gets no session.
fn refuse(settings: &AgentOptions, reason: &str) {
    // The answer of the present session belongs to another command. So the reason is written to the file of this
    // command.
    let told = settings.answer.as_deref().map(|name| {
        let answer = Answer::open(name)?;
        answer.write(&AnswerLine::Error(reason.to_owned()))
    });
    if !matches!(told, Some(Ok(()))) {
        diagnostics::line(reason);
    }
}

/// Reports why an agent does not attach.
fn tell(reason: &str) {
    if !answer::write(&AnswerLine::Error(reason.to_owned())) {
        diagnostics::line(reason);
    }
}

/// Makes the agent write its profile and leave. Waits until it has left.
pub(crate) fn detach(jni: Jni<'_>) -> Result<(), Refusal> {
    let mut phase = lock(&PHASE);
    while matches!(*phase, Phase::Beginning) {
        phase = wait(&CHANGED, phase, Duration::MAX);
    }
    if let Phase::Working(agent) = *phase {
        *phase = Phase::Leaving;
        drop(phase);
        leave(agent, jni, 0);
        return Ok(());
    }
    let was_watched = matches!(*phase, Phase::Leaving);
    while matches!(*phase, Phase::Leaving) {
        phase = wait(&CHANGED, phase, Duration::MAX);
    }
    drop(phase);
    if was_watched {
        return Ok(());
    }
    diagnostics::line("this JVM is not watched by Loadhook");
    Err(Refusal::NotWatched)
}

/// Makes the agent leave. Called in one of the agent's own threads. Returns false, and does nothing, if another thread
/// already makes the agent leave.
pub(crate) fn leave_from_own_thread(agent: &'static Agent, jni: Jni<'_>) -> bool {
    // Work under way, such as attaching, now ends early.
    agent.gate.begin_end();
    let mut phase = lock(&PHASE);
    while matches!(*phase, Phase::Beginning) {
        phase = wait(&CHANGED, phase, Duration::MAX);
    }
    // The agent at work cannot be another one, because an agent stays until its own threads have ended.
    let is_first = matches!(*phase, Phase::Working(_));
    if is_first {
        *phase = Phase::Leaving;
        drop(phase);
        leave(agent, jni, 1);
    }
    is_first
}

/// Removes probes, events, references and threads of the agent from the JVM, and frees the agent. The caller has set
/// [`Phase::Leaving`]. `remaining_threads` is 1 if the caller is one of the agent's own threads, otherwise 0.
fn leave(agent: &'static Agent, jni: Jni<'_>, remaining_threads: usize) {
    let _freed = FreedByPanic;
    agent.control.close();
    // If the JVM ends at the same moment, the JVM's thread writes the profile, and this thread waits for it. The wait
    // has no limit, because the line `left` promises that the profile is complete.
    agent.end.once(Duration::MAX, || events::finish(agent, jni));
    events::disable(agent);
    let withdrawn = entry::withdraw(LONGEST_WAIT);
    let are_threads_over = agent
        .own_threads
        .wait_for_ends(remaining_threads, LONGEST_WAIT);
    if let Some(tracker) = agent.tracker.get() {
        tracker.leave(jni);
    }
    if agent.instrumentation.hook.may_have_counts() {
        let refused = removal::remove_probes(&agent.instrumentation, jni);
        if refused != 0 {
            let classes = units::noun(refused, "class", "classes");
            diagnostics::line(&format!(
                "the JVM refused to take the probes out of {refused} {classes}; these probes do nothing any more"
            ));
        }
        agent.instrumentation.hook.registry.leave();
    }
    if let Some(monitors) = &agent.monitors {
        monitors.leave(agent.jvmti, jni);
    }
    // If the agent stays in memory, the JVM would otherwise still call it for every loaded class.
    let _ = agent.jvmti.notify(event::CLASS_FILE_LOAD_HOOK, false);
    // A thread that a debugger has suspended may still use the agent, which then stays in memory.
    if let Some(withdrawn) = withdrawn
        && are_threads_over
    {
        agent.release(jni);
        withdrawn.free();
    }
    let is_told = answer::write(&AnswerLine::Left);
    answer::end(is_told);
    set(Phase::Free);
}
