//! Removes probes from methods: marks the methods in [`Levels`](super::levels::Levels), and retransforms their classes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use loadhook_settings::Timing;

use super::instrumentation::Instrumentation;
use super::numbered_names::without_numbers;
use super::retransform;
use crate::jvm::jni::Jni;

/// The number of classes in one request. The JVM stops all threads for each request.
const BATCH: usize = 128;

/// Lowers the methods with these ids: retransforms all copies of their classes, so that the methods have fewer probes.
/// Copies that are loaded later get fewer probes, too. Ends early if `goes_on` returns false. A method keeps its probes
/// if the JVM changes no copy of its class.
pub(crate) fn lower(
    instrumentation: &Instrumentation,
    jni: Jni<'_>,
    ids: &[u32],
    since: Duration,
    goes_on: impl Fn() -> bool,
) {
    let levels = &instrumentation.hook.levels;
    // If probes only count, there are no exit probes, so constructors need no special treatment.
    let has_exits = instrumentation.hook.options().timing != Some(Timing::Sampled);
    let mut by_class: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
    let mut is_any_folded = false;
    let mut of_constructors: HashSet<Arc<str>> = HashSet::new();
    for &id in ids {
        if let Some(class) = instrumentation.hook.registry.class_of(id) {
            if class.is_constructor && has_exits {
                if !levels.constructors.count(&class.name, since) {
                    continue;
                }
                of_constructors.insert(class.name.clone());
            }
            is_any_folded |= class.is_folded;
            by_class.entry(class.name).or_default().push(id);
        }
    }
    levels.mark(by_class.values().flatten(), since);
    // Returns the name under which the registry has the class. A folded class stands for many classes whose names
    // differ only in numbers.
    let known = |name: &str| match by_class.get_key_value(name) {
        Some((name, _)) => Some(name.clone()),
        None if is_any_folded => {
            let folded = by_class.get_key_value(&*without_numbers(name));
            folded.map(|(name, _)| name.clone())
        }
        None => None,
    };
    let changed = jni.framed(|jni| {
        let jvmti = instrumentation.jvmti;
        let mut changed: HashSet<Arc<str>> = HashSet::new();
        let classes = retransform::classes_named(jvmti, jni, |name| known(name).is_some());
        for batch in classes.chunks(BATCH) {
            if !goes_on() {
                break;
            }
            let references: Vec<_> = batch.iter().map(|(_, class)| *class).collect();
            let refused = retransform::retransform(jvmti, &references, &goes_on);
            let accepted = batch.iter().enumerate();
            let accepted = accepted.filter(|(at, _)| !refused.contains(at));
            changed.extend(accepted.filter_map(|(_, (name, _))| known(name)));
        }
        changed
    });
    let changed = changed.unwrap_or_default();
    let unchanged = by_class.iter().filter(|(name, _)| !changed.contains(*name));
    for (name, _) in unchanged.clone() {
        if of_constructors.contains(name) {
            levels.constructors.keep(name);
        }
    }
    levels.end_change(unchanged.flat_map(|(_, ids)| ids));
}
