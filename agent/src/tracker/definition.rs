//! Defines the tracker's classes, once in a JVM. A later agent uses the same classes.

use std::sync::OnceLock;

use loadhook_tracker::BOOT_CLASSES;
use thiserror::Error;

use super::classes::NAME;
use super::client::TrackerClient;
use crate::jvm::jni::{Jni, JniError};

/// The tracker of this JVM, once it is defined.
static CLIENT: OnceLock<TrackerClient> = OnceLock::new();

/// The reason why there is no tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotDefined {
    /// Another copy of this library has defined the classes, whose native methods call the functions of that copy.
    #[error(
        "another copy of this library was loaded into this JVM earlier; load that copy instead (its path is in /proc/PID/maps)"
    )]
    OtherCopy,
    /// The heap has no room for an agent. The classes are not defined in this case, because a class whose
    /// initialisation has failed can never be used.
    #[error("the heap is nearly full; give the JVM more heap (-Xmx), or try again later")]
    HeapFull,
    /// The JVM has refused a class, or a method of the class was not found.
    #[error("internal error: the tracker class cannot be defined; nothing is instrumented")]
    Failed,
}

/// Number of `long`s for which the heap must have room before an agent is attached: 1 MB.
const ROOM: i32 = 1 << 17;

/// Fails if the heap of a running program has no room for an agent.
pub(crate) fn check_heap(jni: Jni<'_>) -> Result<(), NotDefined> {
    let has_room = jni.framed(|jni| jni.new_long_array(ROOM).is_ok());
    if has_room == Some(true) {
        Ok(())
    } else {
        Err(NotDefined::HeapFull)
    }
}

/// Returns the tracker. Defines its classes in `java.base` if no earlier agent has defined them.
pub(crate) fn tracker(jni: Jni<'_>) -> Result<&'static TrackerClient, NotDefined> {
    if let Some(client) = CLIENT.get() {
        return Ok(client);
    }
    let defined = jni.framed(|jni| {
        // The definition of each class makes a local reference.
        jni.ensure_local_capacity();
        let mut tracker = Err(NotDefined::Failed);
        let mut is_first = true;
        for (name, bytes) in BOOT_CLASSES {
            let class = jni
                .define_boot_class(name, bytes)
                .map_err(|error| match error {
                    // The exception shows that a class of this name exists already.
                    JniError::Thrown if is_first => NotDefined::OtherCopy,
                    _ => NotDefined::Failed,
                })?;
            is_first = false;
            if *name == NAME {
                tracker = Ok(class);
            }
        }
        TrackerClient::find(jni, tracker?).map_err(|_| NotDefined::Failed)
    });
    let client = defined.unwrap_or(Err(NotDefined::Failed))?;
    Ok(CLIENT.get_or_init(|| client))
}
