//! Waits for locks in Loadhook's own JSON.

use serde_json::{Value, json};

use super::frames_json;
use crate::analysis::lock_places::chosen_waits;
use crate::analysis::options::{Options, Sort};
use crate::model::{Holder, LockWait, Locks, Profile};

/// Returns the waits as JSON, the longest first, or with [`Sort::Calls`] the most frequent.
pub(super) fn locks(profile: &Profile, locks: &Locks, options: &Options<'_>) -> Value {
    let stack = |frame: Option<u32>| -> Vec<Value> {
        let frames = locks.path(frame);
        frames
            .map(|frame| frames_json::frame(profile, frame))
            .collect()
    };
    let holder =
        |holder: &Holder| json!({ "thread": &*holder.thread, "stack": stack(holder.frame) });
    let mut waits: Vec<&LockWait> = chosen_waits(profile, locks, options).collect();
    waits.sort_by_key(|wait| {
        let weight = match options.sort {
            Sort::Calls => wait.count,
            _ => wait.ns,
        };
        std::cmp::Reverse(weight)
    });
    waits.truncate(options.top.unwrap_or(usize::MAX));
    let wait = |wait: &&LockWait| {
        let thread = &profile.threads[wait.thread as usize];
        json!({
            "kind": wait.kind.as_str(),
            "contended": wait.kind.is_contention(),
            "class": &*wait.class,
            "thread": &*thread.name,
            "thread_id": thread.id,
            "stack": stack(wait.frame),
            "holder": wait.holder.as_ref().map(holder),
            "count": wait.count,
            "delay_ns": wait.ns,
        })
    };
    json!({ "waits": waits.iter().map(wait).collect::<Vec<_>>() })
}
