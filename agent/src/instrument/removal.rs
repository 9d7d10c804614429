//! Removes all probes from the classes of a program that continues to run.

use std::collections::HashSet;
use std::sync::Arc;

use loadhook_rewrite::symbol::java_name;

use super::instrumentation::Instrumentation;
use super::loaded::{self, Looks};
use super::loaders::Loader;
use super::numbered_names::without_numbers;
use super::registry::ClassSymbols;
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;

/// After this number of looks at the loaded classes in a row that find no class with probes, the search ends.
const EMPTY_LOOKS: u32 = 3;

/// Maximum number of looks at the loaded classes.
const MOST_LOOKS: u32 = 10;

/// Removes the probes from all classes. Returns the number of classes that still have probes, because the JVM refused
/// to change them or did not list them.
///
/// The hook must not instrument classes any more. But the JVM must still call the hook, so that pauses are measured.
///
/// Only classes that got probes are changed, because a program may load other classes all the time, even with the same
/// names.
pub(crate) fn remove_probes(instrumentation: &Instrumentation, jni: Jni<'_>) -> u64 {
    let with_probes = WithProbes::of(instrumentation.hook.registry.classes());
    let looks = Looks {
        most: MOST_LOOKS,
        empty: EMPTY_LOOKS,
    };
    let has_probes = |jni: Jni<'_>, class: Local<'_>| with_probes.has(instrumentation, jni, class);
    let changed = loaded::change(instrumentation, jni, looks, &has_probes, &|| true);
    changed.map_or(with_probes.names.len() as u64, |figures| figures.refused)
}

/// The classes in which the hook has inserted probes.
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
        // The loader is looked up last, because the names of only a few classes match.
        let loader = jni.framed(|jni| {
            let loader = jvmti.class_loader(jni, class).ok()?;
            Some(instrumentation.origin(jni, loader, name).loader)
        });
        let registry = &instrumentation.hook.registry;
        let is_known = |loader: Loader| registry.known(loader.number, name).is_some();
        (is_folded || loader.flatten().is_some_and(is_known)) && jvmti.is_modifiable(class)
    }
}
