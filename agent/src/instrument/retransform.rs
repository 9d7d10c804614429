//! Classes that were loaded before the agent could act.

use super::hidden_classes;
use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::{Jni, Reference};

/// Classes in one request: the VM stops all threads for each.
const BATCH: usize = 512;

/// Sends the loaded classes that may be wanted through the hook.
pub(crate) fn loaded_classes(agent: &Agent, jni: Jni<'_>) {
    let refused = jni.framed(|| {
        let classes = match agent.jvmti.loaded_classes() {
            Ok(classes) => classes,
            Err(error) => {
                diagnostics::once(&format!(
                    "classes loaded before the agent are not instrumented: {error}"
                ));
                return 0;
            }
        };
        let wanted: Vec<Reference> = classes
            .into_iter()
            .filter(|&class| is_wanted(agent, jni, class))
            .collect();
        wanted
            .chunks(BATCH)
            .map(|batch| retransform(agent, batch))
            .sum()
    });
    if let Some(refused) = refused.filter(|&refused| refused != 0) {
        diagnostics::once(&format!(
            "the JVM refused to change {refused} loaded classes; they are not instrumented"
        ));
    }
}

fn is_wanted(agent: &Agent, jni: Jni<'_>, class: Reference) -> bool {
    let Ok(signature) = agent.jvmti.class_signature(class) else {
        return false;
    };
    // Neither arrays nor primitive types.
    let name = signature
        .strip_prefix(b"L")
        .and_then(|name| name.strip_suffix(b";"));
    let Some(name) = name else {
        return false;
    };
    if let Some(plain) = hidden_classes::plain_name(name)
        && !agent.jvmti.is_modifiable(class)
    {
        agent.hidden.was_early(agent, jni, class, plain);
        return false;
    }
    if !agent.hook.options().filter.class_name(name) {
        return false;
    }
    let Ok(loader) = agent.jvmti.class_loader(class) else {
        return false;
    };
    let origin = agent.loaders.origin(agent.jvmti, jni, loader, name);
    agent.hook.wants(origin) && agent.jvmti.is_modifiable(class)
}

/// Retransforms a batch; one class that the VM refuses makes it refuse all,
/// so halves are tried until it stands alone. How many were refused.
fn retransform(agent: &Agent, batch: &[Reference]) -> usize {
    if batch.is_empty() || agent.jvmti.retransform(batch).is_ok() {
        return 0;
    }
    if batch.len() == 1 {
        return 1;
    }
    let (first, second) = batch.split_at(batch.len() / 2);
    retransform(agent, first) + retransform(agent, second)
}
