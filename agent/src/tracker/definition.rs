//! Definition of the tracker's classes, once in a JVM. An agent that comes later finds them.

use std::sync::OnceLock;

use thiserror::Error;

use super::classes::{NAME, classes};
use super::client::TrackerClient;
use crate::jvm::jni::{Jni, JniError};

/// The tracker of this JVM, once it is defined.
static CLIENT: OnceLock<TrackerClient> = OnceLock::new();

/// The reason why there is no tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotDefined {
    /// Another copy of this library has defined the classes, and they call the functions of that copy.
    #[error(
        "another copy of this library was loaded into this JVM earlier; load that copy instead (its path is in /proc/PID/maps)"
    )]
    OtherCopy,
    /// The JVM refused a class, or lacks a method of it.
    #[error("internal error: the tracker class cannot be defined; nothing is instrumented")]
    Failed,
}

/// Finds the tracker. Defines its classes in `java.base` if no agent has done it before.
pub(crate) fn tracker(jni: Jni<'_>) -> Result<&'static TrackerClient, NotDefined> {
    if let Some(client) = CLIENT.get() {
        return Ok(client);
    }
    let defined = jni.framed(|jni| {
        let mut tracker = Err(NotDefined::Failed);
        let mut is_first = true;
        for (name, bytes) in classes() {
            let class = jni
                .define_boot_class(&name, &bytes)
                .map_err(|error| match error {
                    // A class of this name exists.
                    JniError::Thrown if is_first => NotDefined::OtherCopy,
                    _ => NotDefined::Failed,
                })?;
            is_first = false;
            if name == NAME {
                tracker = Ok(class);
            }
        }
        TrackerClient::find(jni, tracker?).map_err(|_| NotDefined::Failed)
    });
    let client = defined.unwrap_or(Err(NotDefined::Failed))?;
    Ok(CLIENT.get_or_init(|| client))
}
