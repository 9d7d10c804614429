//! Pauses, in which the agent takes no samples and no class has probes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loadhook_settings::{Filter, Timing};
use loadhook_text::units::time;

use crate::locks::lock;

/// The pause under way.
struct Current {
    began: Instant,
    /// The choice of methods for the time after the pause.
    filter: Filter,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    /// Number of pauses so far, with the current one.
    count: u32,
    /// Sum of the durations of ended pauses.
    over: Duration,
}

/// The pauses of an agent.
#[derive(Default)]
pub(crate) struct Pauses {
    /// True during a pause. An atomic, because it is read at each allocation and at each wait.
    is_paused: AtomicBool,
    state: Mutex<State>,
}

impl Pauses {
    /// Returns whether there is a pause.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Begins a pause. `filter` is the choice of methods for the time after the pause. Returns false if there is a
    /// pause already.
    pub(super) fn begin(&self, filter: Filter) -> bool {
        let mut state = lock(&self.state);
        let is_new = state.current.is_none();
        if is_new {
            state.count += 1;
            state.current = Some(Current {
                began: Instant::now(),
                filter,
            });
            self.is_paused.store(true, Ordering::Relaxed);
        }
        is_new
    }

    /// Returns the choice of methods for the time after the pause; `None` without a pause.
    pub(super) fn filter(&self) -> Option<Filter> {
        let state = lock(&self.state);
        Some(state.current.as_ref()?.filter.clone())
    }

    /// Replaces the choice of methods for the time after the pause. Returns false without a pause.
    pub(super) fn replace_filter(&self, filter: &Filter) -> bool {
        match &mut lock(&self.state).current {
            Some(current) => {
                current.filter = filter.clone();
                true
            }
            None => false,
        }
    }

    /// Ends the pause.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        if let Some(ended) = state.current.take() {
            state.over += ended.began.elapsed();
        }
        self.is_paused.store(false, Ordering::Relaxed);
    }

    /// Returns the note for the profile; `None` if there was no pause.
    pub(crate) fn note(&self, timing: Option<Timing>) -> Option<String> {
        let state = lock(&self.state);
        let current = state.current.as_ref();
        let all = state.over + current.map_or(Duration::ZERO, |current| current.began.elapsed());
        let times = match state.count {
            0 => return None,
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        // These timings measure a call from its entry to its exit, so a pause in between is included.
        let but = match timing {
            Some(Timing::Exact | Timing::Adaptive) => {
                ", but a call that was under way has the pause in its time"
            }
            Some(Timing::Sampled | Timing::Count) | None => "",
        };
        Some(format!(
            "profiling was paused {times}, for {} in all; the profile shows nothing of that time{but}",
            time(all.as_nanos() as f64)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_noted() {
        let pauses = Pauses::default();
        assert_eq!(pauses.note(None), None);
        assert!(!pauses.replace_filter(&Filter::none()));
        for expected in ["once", "2 times"] {
            assert!(pauses.begin(Filter::new()) && pauses.is_paused());
            assert!(!pauses.begin(Filter::new()), "there is one already");
            assert!(pauses.replace_filter(&Filter::none()));
            assert!(pauses.filter().is_some_and(|filter| filter.selects_none()));
            pauses.end();
            assert!(!pauses.is_paused() && pauses.filter().is_none());
            let note = pauses.note(Some(Timing::Sampled)).expect("a note");
            let is_whole = note.contains(expected) && note.ends_with("nothing of that time");
            assert!(is_whole, "{note}");
        }
    }
}
