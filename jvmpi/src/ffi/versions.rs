//! Methods that were retransformed while they ran. The frame of such a call has a method id of its own, which no
//! `CLASS_LOAD` contains. The layer replaces that id by the id of the class's present method.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::{Jvmti, MethodKey};

use super::layer;

/// The present method by each method id that was looked up.
static CURRENT: RwLock<Option<HashMap<MethodKey, MethodKey>>> = RwLock::new(None);

/// Returns the present method for the method id in a frame.
pub(super) fn current(method: MethodKey) -> MethodKey {
    {
        let known = CURRENT.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = known.as_ref().and_then(|known| known.get(&method)) {
            return *current;
        }
    }
    let (Some(jvmti), Some(jni)) = (layer::jvmti(), layer::current_jni()) else {
        return method;
    };
    let current = if jvmti.is_obsolete(method) {
        let found = jni.framed(|jni| present(jvmti, jni, method));
        found.flatten().unwrap_or(method)
    } else {
        method
    };
    let mut known = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(method, current);
    current
}

/// Finds the present method with the class, name and descriptor of `old`.
fn present(jvmti: Jvmti, jni: Jni<'_>, old: MethodKey) -> Option<MethodKey> {
    let class = jvmti.declaring_class(jni, old).ok()?;
    let name = jvmti.method_name(old).ok()?;
    let methods = jvmti.class_methods(class)?;
    methods
        .into_iter()
        .find(|method| jvmti.method_name(*method).is_ok_and(|it| it == name))
}
