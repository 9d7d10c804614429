//! Frames of stacks in Loadhook's own JSON.

use serde_json::{Value, json};

use crate::model::{Frame, Profile};

/// Returns a frame of a stack as a JSON object.
pub(super) fn frame(profile: &Profile, frame: &Frame) -> Value {
    let method = &profile.methods[frame.method as usize];
    json!({
        "class": &*method.class,
        "method": &*method.name,
        "descriptor": &*method.descriptor,
        "file": method.file.as_deref(),
        "line": frame.line,
        "bci": frame.bci,
    })
}
