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

use super::exclusions;
use super::registry::Registry;
use crate::locks::lock;

/// Constructors keep their probes if they would be lowered together with those of more classes than this. A change of
/// that many classes would discard too much compiled code.
const LARGEST_FAMILY: usize = 200;

#[derive(Default)]
struct State {
    /// The superclasses of each instrumented class without `java.lang.Object`. There are several if classes of one name in
    /// several loaders have different ones.
    parents: HashMap<String, Vec<String>>,
    /// Hidden classes, which the JVM does not change.
    hidden: HashSet<String>,
    /// Classes whose constructors are only counted, with the time at which this began.
    counted: HashMap<String, Duration>,
}

impl State {
    /// Adds a class and its superclasses.
    fn add_with_superclasses<'s>(&'s self, class: &'s str, to: &mut HashSet<&'s str>) {
        let mut next = vec![class];
        while let Some(class) = next.pop() {
            if to.insert(class) {
                let parents = self.parents.get(class).into_iter().flatten();
                next.extend(parents.map(String::as_str));
            }
        }
    }

    /// Adds all instrumented subclasses of these classes.
    fn add_subclasses(&self, classes: &mut HashSet<String>) {
        let mut is_complete = false;
        while !is_complete {
            let others = self.parents.iter().filter(|(class, parents)| {
                !classes.contains(*class) && parents.iter().any(|it| classes.contains(it))
            });
            let others: Vec<String> = others.map(|(class, _)| class.clone()).collect();
            is_complete = others.is_empty();
            classes.extend(others);
        }
    }
}

/// The superclasses of instrumented classes, and the classes whose constructors are only counted, by their Java names.
/// Classes of one name in several loaders count as one class.
#[derive(Default)]
pub(crate) struct Constructors(Mutex<State>);

impl Constructors {
    /// Notes a class that is about to be instrumented. If the constructors of its superclass are only counted, the
    /// constructors of the class are only counted, too. In this case returns the time at which that began for the
    /// superclass; `None` if the constructors keep their probes.
    pub(super) fn note(&self, class: &ClassFile<'_>, is_hidden: bool) -> Option<Duration> {
        let parent = java_name(class.super_name()?);
        if parent == "java.lang.Object" {
            return None;
        }
        let name = java_name(class.name());
        let mut state = lock(&self.0);
        if is_hidden {
            state.hidden.insert(name.clone());
        }
        let since = state.counted.get(&parent).copied();
        if let Some(since) = since {
            state.counted.insert(name.clone(), since);
        }
        let parents = state.parents.entry(name).or_default();
        if !parents.contains(&parent) {
            parents.push(parent);
        }
        since
    }

    /// Returns the classes whose constructors must keep their timing probes: these classes, the classes whose
    /// constructors cannot be lowered, the superclasses of both, and classes with very many subclasses.
    pub(crate) fn kept(&self, registry: &Registry, classes: HashSet<Arc<str>>) -> HashSet<String> {
        let known = registry.constructors();
        let state = lock(&self.0);
        let is_lowerable = |class: &str| {
            known.get(class).is_some_and(|it| !it.is_folded)
                && !state.hidden.contains(class)
                && !exclusions::is_called_by_tracker(class)
        };
        let mut kept = HashSet::new();
        for class in &classes {
            state.add_with_superclasses(class, &mut kept);
        }
        let mut relatives: HashMap<&str, usize> = HashMap::new();
        let mut line = HashSet::new();
        for class in state.parents.keys() {
            if !is_lowerable(class) {
                state.add_with_superclasses(class, &mut kept);
            }
            line.clear();
            state.add_with_superclasses(class, &mut line);
            for class in &line {
                *relatives.entry(*class).or_default() += 1;
            }
        }
        let large = relatives
            .iter()
            .filter(|(_, count)| **count > LARGEST_FAMILY);
        kept.extend(large.map(|(class, _)| *class));
        kept.into_iter().map(str::to_owned).collect()
    }

    /// Marks the constructors of these classes and of all their instrumented subclasses as only counted. Returns the
    /// classes that were not marked before, in the order of the changes: each class after its subclasses.
    pub(super) fn count(&self, classes: HashSet<String>, since: Duration) -> Vec<HashSet<String>> {
        let mut state = lock(&self.0);
        let mut family = classes;
        family.retain(|class| !state.counted.contains_key(class));
        state.add_subclasses(&mut family);
        family.retain(|class| state.counted.insert(class.clone(), since).is_none());
        let mut order = Vec::new();
        while !family.is_empty() {
            let members = family.iter();
            let parents: HashSet<&String> = members
                .filter_map(|class| state.parents.get(class))
                .flatten()
                .collect();
            let (later, mut now): (HashSet<String>, HashSet<String>) =
                family.iter().cloned().partition(|it| parents.contains(it));
            family = later;
            if now.is_empty() {
                // Classes of the same names in several loaders are superclasses of each other.
                now = std::mem::take(&mut family);
            }
            order.push(now);
        }
        order
    }

    /// Removes the mark that [`count`](Self::count) has set for a class, and those of its superclasses. Returns the
    /// classes that have lost their mark.
    pub(super) fn keep(&self, class: &str) -> HashSet<String> {
        let mut state = lock(&self.0);
        let mut line = HashSet::new();
        state.add_with_superclasses(class, &mut line);
        let line: Vec<String> = line.into_iter().map(str::to_owned).collect();
        let marked = line.into_iter();
        marked
            .filter(|class| state.counted.remove(class).is_some())
            .collect()
    }
}
