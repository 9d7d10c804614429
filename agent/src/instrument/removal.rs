//! Takes all probes out of the classes of a program that runs on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::instrumentation::Instrumentation;
use super::numbered_names::without_numbers;
use super::pace::Pace;
use super::retransform;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};

/// The wait before looking again for classes. A class that the hook has given probes is listed only when the JVM has
/// defined it, which takes far less.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The most times of looking.
const MOST_LOOKS: u32 = 10;

/// Gives the classes that have probes their own code back. The hook must give no class probes any more, but be called, so
/// that pauses are measured. Returns the number of classes that the JVM refused to change.
///
/// Only names of classes with probes are looked at: a program may load other classes all the time.
pub(crate) fn remove_probes(instrumentation: &Instrumentation, jni: Jni<'_>) -> usize {
    let classes = instrumentation.hook.registry.classes();
    let is_any_folded = classes.iter().any(|class| class.is_folded);
    let names: HashSet<Arc<str>> = classes.into_iter().map(|class| class.name).collect();
    let had_probes = |name: &str| {
        names.contains(name) || is_any_folded && names.contains(&*without_numbers(name))
    };
    let jvmti = instrumentation.jvmti;
    let mut pace = Pace::running();
    let mut done = Done::default();
    let mut refused = 0;
    for _ in 0..MOST_LOOKS {
        let new = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let named = retransform::classes_named(jvmti, jni, &had_probes).into_iter();
            let new = named.filter_map(|(_, class)| done.add(jvmti, jni, class));
            new.collect::<Vec<Global>>()
        });
        let new = new.unwrap_or_default();
        if new.is_empty() {
            break;
        }
        refused += retransform::change(jvmti, &new, &mut pace, &|| true).len();
        thread::sleep(LOOK_AGAIN);
    }
    done.release(jni);
    refused
}

/// The classes that were changed, by identity hash.
#[derive(Default)]
struct Done(HashMap<i32, Vec<Global>>);

impl Done {
    /// Adds a class; a reference to it if it is new.
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
