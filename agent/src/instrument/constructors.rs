//! Constructors that must not be only counted, since a constructor with timing probes may call them for the same object.
//!
//! No handler may cover a call of `super(…)` or `this(…)`. So a constructor does not see that the call throws, and the one
//! that it calls tells the tracker by its own probes. One that is only counted does not tell, and its caller's frame would
//! stay on the path.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::symbol::java_name;

use crate::locks::lock;

#[derive(Default)]
struct State {
    /// Classes that have instrumented subclasses, or several constructors.
    called: HashSet<String>,
    /// Classes whose constructors are only counted, with the time at which this began.
    counted: HashMap<String, Duration>,
}

/// Relations of constructors, by the Java names of their classes. Classes of one name in several loaders are one.
#[derive(Default)]
pub(crate) struct Constructors(Mutex<State>);

impl Constructors {
    /// Notes a class that is about to be instrumented. Returns the time since which its constructors are only counted,
    /// because those of the superclass are.
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

    /// Has the constructors of a class only counted, unless others may call them. Returns whether they are.
    pub(super) fn count(&self, class: &str, since: Duration) -> bool {
        let mut state = lock(&self.0);
        if state.called.contains(class) {
            return false;
        }
        state.counted.entry(class.to_owned()).or_insert(since);
        true
    }

    /// Takes [`count`](Self::count) back.
    pub(super) fn keep(&self, class: &str) {
        lock(&self.0).counted.remove(class);
    }
}
