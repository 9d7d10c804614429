//! Retransforms classes that were loaded before the agent could instrument them.

use loadhook_rewrite::symbol::java_name;
use loadhook_settings::attach::AttachFigures;

use super::hidden_classes::HiddenClasses;
use super::hidden_names::plain_name;
use super::instrumentation::Instrumentation;
use super::pace::Pace;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};

/// Retransforms the loaded classes that the choice of methods may select. Ends early if `goes_on` returns false.
pub(crate) fn loaded_classes(
    instrumentation: &Instrumentation,
    hidden_classes: &HiddenClasses,
    jni: Jni<'_>,
    mut pace: Pace,
    goes_on: &dyn Fn() -> bool,
) -> AttachFigures {
    let jvmti = instrumentation.jvmti;
    // The references are global, because with many local references, JDK 11 with `-Xcheck:jni` prints warnings when the
    // hook runs.
    let wanted = jni.framed(|jni| {
        jni.ensure_local_capacity();
        let classes = jvmti.loaded_classes(jni).unwrap_or_else(|error| {
            diagnostics::once(&format!(
                "classes loaded before the agent are not instrumented: {error}"
            ));
            Vec::new()
        });
        let wanted = classes
            .into_iter()
            .filter(|&class| is_wanted(instrumentation, hidden_classes, jni, class));
        wanted
            .filter_map(|class| jni.global(class).ok())
            .collect::<Vec<Global>>()
    });
    let wanted = wanted.unwrap_or_default();
    let refused = change(jvmti, &wanted, &mut pace, goes_on).len();
    let changed = wanted.len() - refused;
    for class in wanted {
        jni.delete_global(class);
    }
    if refused != 0 && goes_on() {
        diagnostics::once(&format!(
            "the JVM refused to change {refused} loaded classes; they are not instrumented"
        ));
    }
    pace.figures(changed, refused)
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
    let watch = instrumentation.hook.watch();
    if !watch.may_name(name) {
        return false;
    }
    let Ok(loader) = jvmti.class_loader(jni, class) else {
        return false;
    };
    let origin = instrumentation.origin(jni, loader, name);
    watch.wants(origin) && jvmti.is_modifiable(class)
}

/// Returns the loaded classes whose Java names `is_wanted` accepts, each with this name. Hidden classes are left out,
/// because the JVM does not retransform them.
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

/// Retransforms classes in requests of the size that `pace` chooses. Returns the positions in `classes` of the classes
/// that were not changed.
pub(super) fn change(
    jvmti: Jvmti,
    classes: &[Global],
    pace: &mut Pace,
    goes_on: &dyn Fn() -> bool,
) -> Vec<usize> {
    pace.expect(classes.len());
    let mut refused = Vec::new();
    let mut at = 0;
    while at < classes.len() && goes_on() {
        let end = classes.len().min(at + pace.size());
        let batch = classes.get(at..end).unwrap_or_default();
        let batch: Vec<Local<'_>> = batch.iter().map(|class| class.local()).collect();
        let here = pace.request(|| retransform(jvmti, &batch, goes_on));
        refused.extend(here.into_iter().map(|place| at + place));
        at = end;
    }
    refused.extend(at..classes.len());
    refused
}

/// Retransforms a batch of classes. Returns the positions in the batch of the classes that were not changed. If the JVM
/// refuses one class, it refuses the whole batch. So halves of the batch are tried, down to single classes. Once
/// `goes_on` returns false, nothing more is tried.
pub(super) fn retransform(
    jvmti: Jvmti,
    batch: &[Local<'_>],
    goes_on: &dyn Fn() -> bool,
) -> Vec<usize> {
    unchanged(batch, &|batch| {
        goes_on() && jvmti.retransform(batch).is_ok()
    })
}

/// Returns the positions in a batch of the items that `change` refuses.
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
