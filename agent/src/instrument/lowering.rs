//! Removes probes from methods: marks the methods in [`Levels`](super::levels::Levels), and retransforms their classes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loadhook_settings::Timing;

use super::hook::Hook;
use super::instrumentation::Instrumentation;
use super::numbered_names::without_numbers;
use super::retransform;
use crate::jvm::jni::Jni;

/// The number of classes in one request. The JVM stops all threads for each request.
const BATCH: usize = 128;

/// The ids of methods that lose probes.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    /// Methods that are only counted from now on.
    pub(crate) counted: Vec<u32>,
    /// Methods that have no probes from now on.
    pub(crate) silent: Vec<u32>,
}

impl Lowered {
    pub(crate) fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.silent.is_empty()
    }
}

/// The constructors that lose their timing probes together.
#[derive(Default)]
struct Family {
    /// The classes in the order of the changes: each class after its subclasses.
    generations: Vec<HashSet<String>>,
    /// The ids of the constructors by class.
    ids: HashMap<String, Vec<u32>>,
}

/// Lowers these methods: retransforms all copies of their classes, so that the methods have fewer probes. Copies that
/// are loaded later get fewer probes, too. Ends early if `goes_on` returns false. A method keeps its probes if the JVM
/// changes no copy of its class.
pub(crate) fn lower(
    instrumentation: &Instrumentation,
    jni: Jni<'_>,
    mut lowered: Lowered,
    since: Duration,
    goes_on: impl Fn() -> bool,
) {
    let begin = Instant::now();
    let hook = &instrumentation.hook;
    let levels = &hook.levels;
    // If probes only count, there are no exit probes, so constructors need no special treatment.
    let family = match hook.options().timing {
        Some(Timing::Sampled) => Family::default(),
        _ => add_constructors(hook, &mut lowered, since),
    };
    let mut by_class: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
    let mut is_any_folded = false;
    for &id in lowered.counted.iter().chain(&lowered.silent) {
        if let Some(class) = hook.registry.class_of(id) {
            is_any_folded |= class.is_folded;
            by_class.entry(class.name).or_default().push(id);
        }
    }
    levels.mark(lowered.counted.iter(), lowered.silent.iter(), since);
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
        let classes = retransform::classes_named(jvmti, jni, |name| known(name).is_some());
        let classes: Vec<_> = classes
            .into_iter()
            .filter_map(|(name, class)| Some((known(&name)?, class)))
            .collect();
        // Changes the classes that are wanted. Returns those of which a copy was changed, and those of which one was not.
        let change = |is_wanted: &dyn Fn(&str) -> bool| {
            let (mut changed, mut unchanged) = (HashSet::new(), HashSet::new());
            let wanted = classes.iter().filter(|(name, _)| is_wanted(name));
            let wanted: Vec<_> = wanted.collect();
            for batch in wanted.chunks(BATCH) {
                let refused = if goes_on() {
                    let references: Vec<_> = batch.iter().map(|(_, class)| *class).collect();
                    retransform::retransform(jvmti, &references, &goes_on)
                } else {
                    (0..batch.len()).collect()
                };
                for (at, (name, _)) in batch.iter().enumerate() {
                    let of = match refused.contains(&at) {
                        true => &mut unchanged,
                        false => &mut changed,
                    };
                    of.insert(name.clone());
                }
            }
            (changed, unchanged)
        };
        let (mut changed, _) = change(&|name| !family.ids.contains_key(name));
        for generation in &family.generations {
            let (now, unchanged) = change(&|name| generation.contains(name));
            changed.extend(now);
            let unchanged = unchanged.iter().map(|name| &**name);
            keep_constructors(hook, &family, unchanged, &changed);
        }
        changed
    });
    let changed = changed.unwrap_or_else(|| {
        let all = family.ids.keys().map(String::as_str);
        let none = HashSet::new();
        keep_constructors(hook, &family, all, &none);
        none
    });
    let unchanged = by_class.iter().filter(|(name, _)| !changed.contains(*name));
    levels.end_change(unchanged.flat_map(|(_, ids)| ids), since + begin.elapsed());
}

/// Adds the constructors that lose their timing probes together with those in `lowered`.
fn add_constructors(hook: &Hook, lowered: &mut Lowered, since: Duration) -> Family {
    let ids = lowered.counted.iter().chain(&lowered.silent);
    let classes = ids.filter_map(|id| hook.registry.class_of(*id));
    let classes = classes.filter(|class| class.is_constructor);
    let classes: HashSet<String> = classes.map(|class| class.name.to_string()).collect();
    if classes.is_empty() {
        return Family::default();
    }
    let generations = hook.levels.constructors.count(classes, since);
    let mut known = hook.registry.constructors();
    let classes = generations.iter().flatten();
    let ids: HashMap<String, Vec<u32>> = classes
        .map(|class| {
            let ids = known.remove(&**class).unwrap_or_default().ids;
            (class.clone(), ids)
        })
        .collect();
    lowered.counted.extend(ids.values().flatten());
    Family { generations, ids }
}

/// Has the constructors of these classes, of which the JVM did not change a copy, and of their superclasses keep their
/// probes, except those in `changed`.
fn keep_constructors<'n>(
    hook: &Hook,
    family: &Family,
    unchanged: impl Iterator<Item = &'n str>,
    changed: &HashSet<Arc<str>>,
) {
    for name in unchanged {
        let kept = hook.levels.constructors.keep(name);
        let kept = kept.iter().filter(|class| !changed.contains(&***class));
        let ids = kept.filter_map(|class| family.ids.get(class));
        hook.levels.unmark(ids.flatten());
    }
}
