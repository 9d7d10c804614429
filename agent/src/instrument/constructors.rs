//! Constructors that must keep their probes, because a constructor with timing probes may call them for the same
//! object.
//!
//! Example: `Sub(int)` begins with `super(…)`, and `Base(…)` throws. The JVM allows no handler around that call, so the
//! probes of `Sub` do not see the exception. The probes of `Base` see it, and tell the tracker that both calls have
//! ended. If `Base` were only counted, nothing would tell the tracker, and the frame of `Sub` would stay on the path.

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
    /// Notes a class that is about to be instrumented. If the superclass's constructors are only
    /// counted, those of the class are only counted, too. Returns the time at which that began;
    /// `None` if they keep their probes.
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

    /// Returns whether a constructor may call those of this class for the same object.
    pub(crate) fn are_called(&self, class: &str) -> bool {
        lock(&self.0).called.contains(class)
    }

    /// Marks the constructors of a class as only counted, unless other constructors may call them. Returns whether they
    /// were marked.
    pub(super) fn count(&self, class: &str, since: Duration) -> bool {
        let mut state = lock(&self.0);
        if state.called.contains(class) {
            return false;
        }
        state.counted.entry(class.to_owned()).or_insert(since);
        true
    }

    /// Removes the mark that [`count`](Self::count) has set.
    pub(super) fn keep(&self, class: &str) {
        lock(&self.0).counted.remove(class);
    }
}
