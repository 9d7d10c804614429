//! Knows the constructors that must keep their probes: those that a constructor with timing probes may call for the
//! same object (`super(…)`, `this(…)`).
//!
//! Example: `Sub(int)` begins with `super(…)`, and `Base(…)` throws. The JVM allows no handler around that call, so the
//! probes of `Sub` do not see the exception. The probes of `Base` see the exception, and tell the tracker that both
//! calls have ended. If `Base` were only counted, nothing would tell the tracker, and the frame of `Sub` would stay on
//! the path.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::symbol::java_name;

use crate::locks::lock;

#[derive(Default)]
struct State {
    /// Classes whose constructors other constructors may call for the same object: the class has instrumented
    /// subclasses, or several constructors.
    called: HashSet<String>,
    /// Classes whose constructors are only counted, with the time at which this began.
    counted: HashMap<String, Duration>,
}

/// The classes whose constructors are called by other constructors, and those whose constructors are only counted, by
/// their Java names. Classes of one name in several loaders count as one class.
#[derive(Default)]
pub(crate) struct Constructors(Mutex<State>);

impl Constructors {
    /// Notes a class that is about to be instrumented. If the constructors of its superclass are only counted, the
    /// constructors of the class are only counted, too. In this case returns the time at which that began for the
    /// superclass; `None` if the constructors keep their probes.
    pub(super) fn note(&self, class: &ClassFile<'_>) -> Option<Duration> {
        let name = java_name(class.name());
        let parent = java_name(class.super_name()?);
        let constructors = class.methods().filter(|method| method.name() == b"<init>");
        let has_several = constructors.count() > 1;
        let mut state = lock(&self.0);
        if parent != "java.lang.Object" {
            state.called.insert(parent.clone());
        }
        if has_several {
            state.called.insert(name.clone());
        }
        let since = *state.counted.get(&parent)?;
        state.counted.insert(name, since);
        Some(since)
    }

    /// Returns whether another constructor may call the constructors of this class for the same object.
    pub(crate) fn are_called(&self, class: &str) -> bool {
        lock(&self.0).called.contains(class)
    }

    /// Marks the constructors of a class as only counted, unless other constructors may call them. Returns true if they
    /// are now marked.
    pub(super) fn count(&self, class: &str, since: Duration) -> bool {
        let mut state = lock(&self.0);
        if state.called.contains(class) {
            return false;
        }
        state.counted.entry(class.to_owned()).or_insert(since);
        true
    }

    /// Removes the mark that [`count`](Self::count) has set for a class.
    pub(super) fn keep(&self, class: &str) {
        lock(&self.0).counted.remove(class);
    }
}
