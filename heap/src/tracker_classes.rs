//! Recognises the classes of Loadhook's tracker by their names.

use crate::survey::Survey;

/// Number and bytes of the profiler's own objects that a view leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of objects.
    pub instances: u64,
    /// The bytes of the objects in memory.
    pub bytes: u64,
}

/// Returns whether this is the internal name of a tracker class, or of an array of tracker objects.
pub(crate) fn is_tracker(name: &[u8]) -> bool {
    let element = name.iter().position(|byte| *byte != b'[').unwrap_or(0);
    let class = match &name[element..] {
        [b'L', class @ ..] if element > 0 => class,
        class => class,
    };
    class.starts_with(b"java/lang/$Loadhook") || class.starts_with(b"loadhook/")
}

impl Survey {
    /// Returns for each class whether it belongs to the tracker; `None` if the dump has no tracker
    /// class.
    pub(crate) fn tracker_classes(&self) -> Option<Vec<bool>> {
        let classes = 0..self.classes.len() as u32;
        let is_tracker: Vec<bool> = classes
            .map(|class| is_tracker(self.internal_name(class)))
            .collect();
        is_tracker.contains(&true).then_some(is_tracker)
    }
}
