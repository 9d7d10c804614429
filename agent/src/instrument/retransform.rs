//! Classes that were loaded before the agent could instrument them.

use loadhook_rewrite::symbol::java_name;

use super::hidden_classes::HiddenClasses;
use super::hidden_names::plain_name;
use super::instrumentation::Instrumentation;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;

/// Classes in one request. The JVM stops all threads for each request.
const BATCH: usize = 512;

/// Retransforms the loaded classes that may have to be instrumented.
pub(crate) fn loaded_classes(
    instrumentation: &Instrumentation,
    hidden_classes: &HiddenClasses,
    jni: Jni<'_>,
) {
    let jvmti = instrumentation.jvmti;
    let refused = jni.framed(|jni| {
        let classes = match jvmti.loaded_classes(jni) {
            Ok(classes) => classes,
            Err(error) => {
                diagnostics::once(&format!(
                    "classes loaded before the agent are not instrumented: {error}"
                ));
                return 0;
            }
        };
        let wanted: Vec<Local<'_>> = classes
            .into_iter()
            .filter(|&class| is_wanted(instrumentation, hidden_classes, jni, class))
            .collect();
        let batches = wanted.chunks(BATCH);
        batches
            .map(|batch| retransform(jvmti, batch, &|| true).len())
            .sum()
    });
    if let Some(refused) = refused.filter(|&refused| refused != 0) {
        diagnostics::once(&format!(
            "the JVM refused to change {refused} loaded classes; they are not instrumented"
        ));
    }
}

fn is_wanted(
    instrumentation: &Instrumentation,
    hidden_classes: &HiddenClasses,
    jni: Jni<'_>,
    class: Local<'_>,
) -> bool {
    let jvmti = instrumentation.jvmti;
    let Ok(signature) = jvmti.class_signature(class) else {
        return false;
    };
    // Arrays and primitive types are skipped.
    let name = signature
        .strip_prefix(b"L")
        .and_then(|name| name.strip_suffix(b";"));
    let Some(name) = name else {
        return false;
    };
    if let Some(plain) = plain_name(name)
        && !jvmti.is_modifiable(class)
    {
        hidden_classes.note_early(instrumentation, jni, class, plain);
        return false;
    }
    if !instrumentation.hook.options().filter.class_name(name) {
        return false;
    }
    let Ok(loader) = jvmti.class_loader(jni, class) else {
        return false;
    };
    let origin = instrumentation.origin(jni, loader, name);
    instrumentation.hook.wants(origin) && jvmti.is_modifiable(class)
}

/// The classes of the Java names that `is_wanted` accepts, with these names. Hidden classes, which the JVM does not
/// retransform, are left out.
pub(super) fn classes_named<'f>(
    jvmti: Jvmti,
    jni: Jni<'f>,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<(String, Local<'f>)> {
    let classes = jvmti.loaded_classes(jni).unwrap_or_default();
    let wanted = classes.into_iter().filter_map(|class| {
        let signature = jvmti.class_signature(class).ok()?;
        let name = signature.strip_prefix(b"L")?.strip_suffix(b";")?;
        let name = java_name(name);
        (is_wanted(&name) && jvmti.is_modifiable(class)).then_some((name, class))
    });
    wanted.collect()
}

/// Retransforms a batch and returns the places of the classes that were not changed. One class that the JVM refuses makes
/// it refuse the batch, so halves are tried until the class is alone. Once `goes_on` returns false, no more are tried.
pub(super) fn retransform(
    jvmti: Jvmti,
    batch: &[Local<'_>],
    goes_on: &dyn Fn() -> bool,
) -> Vec<usize> {
    unchanged(batch, &|batch| {
        goes_on() && jvmti.retransform(batch).is_ok()
    })
}

/// The places in a batch of the items that `change` refuses.
fn unchanged<T>(batch: &[T], change: &dyn Fn(&[T]) -> bool) -> Vec<usize> {
    if batch.is_empty() || change(batch) {
        return Vec::new();
    }
    if batch.len() == 1 {
        return vec![0];
    }
    let half = batch.len() / 2;
    let (first, second) = batch.split_at(half);
    let mut refused = unchanged(first, change);
    refused.extend(unchanged(second, change).iter().map(|at| at + half));
    refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_refused_class_is_found_by_halves() {
        let refused = |batch: &[u32]| !batch.contains(&3) && !batch.contains(&6);
        assert_eq!(unchanged(&[1, 2, 3, 4, 5, 6, 7], &refused), [2, 5]);
        assert_eq!(unchanged(&[], &refused), [0; 0]);
    }

    #[test]
    fn nothing_is_changed_after_the_end() {
        let changes = Cell::new(0);
        let change = |batch: &[u32]| {
            let goes_on = changes.get() < 3;
            changes.set(changes.get() + u32::from(goes_on));
            goes_on && !batch.contains(&1)
        };
        assert_eq!(
            unchanged(&[1, 2, 3, 4, 5, 6, 7, 8], &change),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
    }
}
