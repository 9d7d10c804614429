//! Knows the constructors that lose their timing probes together: those of a class and of its subclasses.
//!
//! Example: `Sub(int)` begins with `super(…)`, and `Base(…)` throws. The JVM allows no handler around that call, so the
//! probes of `Sub` do not see the exception. The probes of `Base` see the exception, and tell the tracker that both
//! calls have ended. If only `Base` lost its probes, nothing would tell the tracker, and the frame of `Sub` would stay on
//! the path. The same holds for `this(…)`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::symbol::java_name;

use super::registry::Registry;
use crate::locks::lock;

#[derive(Default)]
struct State {
    /// The superclass of each instrumented class, unless it is `java.lang.Object`.
    parents: HashMap<String, String>,
    /// Classes whose constructors are only counted, with the time at which this began.
    counted: HashMap<String, Duration>,
}

/// The superclasses of instrumented classes, and the classes whose constructors are only counted, by their Java names.
/// Classes of one name in several loaders count as one class.
#[derive(Default)]
pub(crate) struct Constructors(Mutex<State>);

impl Constructors {
    /// Notes a class that is about to be instrumented. If the constructors of its superclass are only counted, the
    /// constructors of the class are only counted, too. In this case returns the time at which that began for the
    /// superclass; `None` if the constructors keep their probes.
    pub(super) fn note(&self, class: &ClassFile<'_>) -> Option<Duration> {
        let parent = java_name(class.super_name()?);
        if parent == "java.lang.Object" {
            return None;
        }
        let name = java_name(class.name());
        let mut state = lock(&self.0);
        let since = state.counted.get(&parent).copied();
        if let Some(since) = since {
            state.counted.insert(name.clone(), since);
        }
        state.parents.insert(name, parent);
        since
    }

    /// Returns the classes whose constructors must keep their timing probes: these classes, the classes whose
    /// constructors cannot be lowered, and the superclasses of both.
    pub(crate) fn kept(&self, registry: &Registry, classes: HashSet<Arc<str>>) -> HashSet<String> {
        let known = registry.constructors();
        let state = lock(&self.0);
        let is_lowerable = |class: &String| known.get(&**class).is_some_and(|it| !it.is_folded);
        let others = state.parents.keys().filter(|class| !is_lowerable(class));
        let mut kept = HashSet::new();
        for class in classes
            .iter()
            .map(|class| &**class)
            .chain(others.map(String::as_str))
        {
            let mut next = Some(class);
            while let Some(class) = next.filter(|class| !kept.contains(*class)) {
                kept.insert(class.to_owned());
                next = state.parents.get(class).map(String::as_str);
            }
        }
        kept
    }

    /// Marks the constructors of these classes and of all their instrumented subclasses as only counted. Returns the
    /// classes that were not marked before.
    pub(super) fn count(&self, classes: HashSet<String>, since: Duration) -> HashSet<String> {
        let mut state = lock(&self.0);
        let state = &mut *state;
        let mut family = classes;
        family.retain(|class| !state.counted.contains_key(class));
        let mut is_complete = false;
        while !is_complete {
            let others = state
                .parents
                .iter()
                .filter(|(class, parent)| family.contains(*parent) && !family.contains(*class));
            let others: Vec<String> = others.map(|(class, _)| class.clone()).collect();
            is_complete = others.is_empty();
            family.extend(others);
        }
        family.retain(|class| state.counted.insert(class.clone(), since).is_none());
        family
    }

    /// Removes the mark that [`count`](Self::count) has set for a class.
    pub(super) fn keep(&self, class: &str) {
        lock(&self.0).counted.remove(class);
    }
}
