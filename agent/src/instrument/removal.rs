//! Takes all probes out of the classes of a program that runs on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use loadhook_rewrite::symbol::java_name;

use super::instrumentation::Instrumentation;
use super::loaders::Loader;
use super::numbered_names::without_numbers;
use super::pace::Pace;
use super::registry::ClassSymbols;
use super::retransform;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};

/// The wait before looking for classes again. The JVM lists a class only when it is defined, some time after the hook
/// has given it probes. That time is far shorter than this wait, unless Java code has to load the superclass first.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Number of looks in a row that find no class, after which the search ends.
const EMPTY_LOOKS: u32 = 3;

/// Maximum number of looks.
const MOST_LOOKS: u32 = 10;

/// Takes the probes out of all classes. Returns the number of classes that the JVM refused to change.
///
/// The hook must no longer give probes to any class. It must still be called, so that pauses are measured.
///
/// Only classes with probes are changed, because a program may load others all the time, even of the same names.
pub(crate) fn remove_probes(instrumentation: &Instrumentation, jni: Jni<'_>) -> usize {
    let registry = &instrumentation.hook.registry;
    let with_probes = WithProbes::of(registry.classes());
    let jvmti = instrumentation.jvmti;
    let mut pace = Pace::running();
    let mut done = Done::default();
    let (mut refused, mut empty_looks) = (0, 0);
    for _ in 0..MOST_LOOKS {
        let new = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let classes = jvmti.loaded_classes(jni).unwrap_or_default().into_iter();
            let ours = classes.filter(|class| with_probes.has(instrumentation, jni, *class));
            ours.filter_map(|class| done.add(jvmti, jni, class))
                .collect::<Vec<Global>>()
        });
        let new = new.unwrap_or_default();
        if new.is_empty() {
            empty_looks += 1;
            if empty_looks == EMPTY_LOOKS {
                break;
            }
        } else {
            empty_looks = 0;
            refused += retransform::change(jvmti, &new, &mut pace, &|| true).len();
        }
        thread::sleep(LOOK_AGAIN);
    }
    done.release(jni);
    refused
}

/// The classes that the hook has given probes.
struct WithProbes {
    names: HashSet<Arc<str>>,
    is_any_folded: bool,
}

impl WithProbes {
    fn of(classes: Vec<ClassSymbols>) -> WithProbes {
        WithProbes {
            is_any_folded: classes.iter().any(|class| class.is_folded),
            names: classes.into_iter().map(|class| class.name).collect(),
        }
    }

    fn has(&self, instrumentation: &Instrumentation, jni: Jni<'_>, class: Local<'_>) -> bool {
        let jvmti = instrumentation.jvmti;
        let signature = jvmti.class_signature(class).unwrap_or_default();
        let name = signature.strip_prefix(b"L");
        let Some(name) = name.and_then(|name| name.strip_suffix(b";")) else {
            return false;
        };
        let java_name = java_name(name);
        let is_folded = self.is_any_folded && self.names.contains(&*without_numbers(&java_name));
        if !is_folded && !self.names.contains(&*java_name) {
            return false;
        }
        // The loader is asked for last, because the names of few classes match.
        let loader = jni.framed(|jni| {
            let loader = jvmti.class_loader(jni, class).ok()?;
            Some(instrumentation.origin(jni, loader, name).loader)
        });
        let registry = &instrumentation.hook.registry;
        let is_known = |loader: Loader| registry.known(loader.number, name).is_some();
        (is_folded || loader.flatten().is_some_and(is_known)) && jvmti.is_modifiable(class)
    }
}

/// The classes that were changed, by identity hash.
#[derive(Default)]
struct Done(HashMap<i32, Vec<Global>>);

impl Done {
    /// Adds a class. Returns a reference to it if it is new.
    fn add(&mut self, jvmti: Jvmti, jni: Jni<'_>, class: Local<'_>) -> Option<Global> {
        let same_hash = self.0.entry(jvmti.hash_code(class)).or_default();
        if same_hash.iter().any(|known| jni.is_same(*known, class)) {
            return None;
        }
        let reference = jni.global(class).ok()?;
        same_hash.push(reference);
        Some(reference)
    }

    fn release(self, jni: Jni<'_>) {
        for class in self.0.into_values().flatten() {
            jni.delete_global(class);
        }
    }
}
