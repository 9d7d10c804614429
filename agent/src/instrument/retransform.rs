//! Classes that were loaded before the agent could instrument them.

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
        wanted
            .chunks(BATCH)
            .map(|batch| retransform(jvmti, batch))
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

/// Retransforms a batch and returns the number of classes that were refused. One class that the JVM refuses makes it
/// refuse the batch, so halves are tried until the class is alone.
fn retransform(jvmti: Jvmti, batch: &[Local<'_>]) -> usize {
    if batch.is_empty() || jvmti.retransform(batch).is_ok() {
        return 0;
    }
    if batch.len() == 1 {
        return 1;
    }
    let (first, second) = batch.split_at(batch.len() / 2);
    retransform(jvmti, first) + retransform(jvmti, second)
}
