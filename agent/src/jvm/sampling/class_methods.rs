//! Reads the methods of a class from the JVM: for each method, its id and the address of HotSpot's `Method`.
//! Interpreted frames name their methods by this address.

use std::ffi::c_int;

use super::memory::SafeMemory;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{Jvmti, MethodKey};
use crate::jvm::reference::Local;

/// The descriptor of the class whose method `enterSpecial` begins each stack of a virtual thread.
pub(super) const CONTINUATION: &[u8] = b"Ljdk/internal/vm/Continuation;";

/// The methods of a class.
pub(super) struct ClassMethods {
    /// For each method, its id and the address of HotSpot's `Method`.
    pub(super) methods: Vec<(MethodKey, usize)>,
    /// True if the class is never unloaded.
    pub(super) stays: bool,
    /// The method `Continuation.enterSpecial`, if the class is `Continuation`.
    pub(super) continuation_entry: Option<MethodKey>,
}

/// Returns the methods of classes. A class is left out if it has no methods, is not prepared, or cannot be read.
pub(super) fn class_methods<'f>(
    jvmti: Jvmti,
    memory: &SafeMemory,
    classes: &[Local<'f>],
) -> Vec<(Local<'f>, ClassMethods)> {
    let mut found: Vec<(Local<'f>, Vec<MethodKey>)> = Vec::new();
    for class in classes {
        let keys = jvmti.class_methods(*class).unwrap_or_default();
        if !keys.is_empty() {
            found.push((*class, keys));
        }
    }
    // Up to JDK 25, a method id points to a word with the address of HotSpot's `Method`. On a JVM in which this is
    // different, this read or the self-check fails.
    let address_of = |key: &MethodKey| key.0.expose_provenance();
    let ids: Vec<usize> = found
        .iter()
        .flat_map(|(_, keys)| keys)
        .map(address_of)
        .collect();
    // One call reads the addresses for all classes. If it fails, the addresses are read class by class.
    let all = memory.words(&ids);
    let mut at = 0;
    let mut read = Vec::new();
    for (class, keys) in found {
        let behind = at + keys.len();
        let addresses = match &all {
            Some(all) => all.get(at..behind).map(<[usize]>::to_vec),
            None => memory.words(&ids[at..behind]),
        };
        at = behind;
        let methods = addresses.and_then(|addresses| of_class(jvmti, class, keys, addresses));
        read.extend(methods.map(|methods| (class, methods)));
    }
    read
}

fn of_class(
    jvmti: Jvmti,
    class: Local<'_>,
    keys: Vec<MethodKey>,
    addresses: Vec<usize>,
) -> Option<ClassMethods> {
    let signature = jvmti.class_signature(class).ok()?;
    let is_boot = jvmti.is_of_boot_loader(class);
    let continuation_entry = if signature == CONTINUATION {
        keys.iter().copied().find(|key| {
            let names = jvmti.method_name(*key);
            names.is_ok_and(|(name, _)| name == b"enterSpecial")
        })
    } else {
        None
    };
    Some(ClassMethods {
        methods: keys.into_iter().zip(addresses).collect(),
        stays: is_boot && !is_hidden(&signature),
        continuation_entry,
    })
}

/// Returns whether a class stays loaded until the JVM ends: it is not hidden, and its loader is the boot, platform or
/// application loader.
pub(super) fn lasts(jvmti: Jvmti, jni: Jni<'_>, class: Local<'_>) -> bool {
    let (Ok(signature), Ok(loader)) =
        (jvmti.class_signature(class), jvmti.class_loader(jni, class))
    else {
        return false;
    };
    let is_common = || {
        let class = jni.class_of(loader).ok()?;
        let name = jvmti.class_signature(class).ok()?;
        Some(COMMON_LOADERS.contains(&&*name))
    };
    !is_hidden(&signature) && (loader.is_null() || is_common() == Some(true))
}

/// The class of the platform loader, and the class of the application loader.
const COMMON_LOADERS: [&[u8]; 2] = [
    b"Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;",
    b"Ljdk/internal/loader/ClassLoaders$AppClassLoader;",
];

/// Returns whether a descriptor belongs to a hidden class. A hidden class may be unloaded before its loader. The JVM
/// appends an address to the name of a hidden class: after a `.`, or up to JDK 14 after a `/`.
fn is_hidden(signature: &[u8]) -> bool {
    let last = signature.rsplit(|byte| *byte == b'/').next();
    signature.contains(&b'.')
        || last.is_some_and(|last| last.first().is_some_and(u8::is_ascii_digit))
}

/// Makes the JVM send this event for each piece of generated code that exists already.
pub(super) fn generate_events(jvmti: Jvmti, event: c_int) -> bool {
    jvmti.generate_events(event).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_classes_are_known_by_their_names() {
        assert!(is_hidden(
            b"Ljava/lang/invoke/LambdaForm$MH.0x00007f0001000000;"
        ));
        assert!(is_hidden(
            b"Ljava/lang/invoke/LambdaForm$DMH/0x0000000800060840;"
        ));
        assert!(is_hidden(b"LMain$$Lambda$1/803040000;"));
        assert!(!is_hidden(b"Ljava/lang/String;"));
        assert!(!is_hidden(b"LMain$1;"));
    }
}
