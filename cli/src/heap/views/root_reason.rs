//! The reason why an object is a GC root.

use loadhook_heap::{Frame, ProfilerObjects, Root, RootKind, Thread};

use super::super::source::Source;
use super::threads;
use crate::output::say;

/// The reason why an object is a GC root.
pub(in crate::heap) struct RootReason {
    pub(in crate::heap) root: Option<Root>,
    /// The thread that the root belongs to, if the dump has it.
    pub(in crate::heap) thread: Option<Thread>,
}

/// Returns whether a root names the thread that it belongs to.
fn belongs_to_thread(root: Root) -> bool {
    use RootKind::{JavaFrame, JniLocal, NativeStack, ThreadBlock, ThreadObject};
    matches!(
        root.kind,
        JavaFrame | JniLocal | NativeStack | ThreadBlock | ThreadObject
    )
}

impl RootReason {
    /// Reads the threads of the dump if the root belongs to a thread. If the threads cannot be
    /// read, the root's thread is not named.
    pub(super) fn read(root: Option<Root>, source: &Source) -> RootReason {
        if root.is_some_and(belongs_to_thread) {
            match threads::read_source(source, ProfilerObjects::Shown) {
                Ok((found, _)) => return RootReason::among(root, &found.threads),
                Err(error) => say!("warning: {error:#}; the root's thread is not named"),
            }
        }
        RootReason { root, thread: None }
    }

    /// Makes the reason, with the thread that the root belongs to among `threads`.
    pub(in crate::heap) fn among(root: Option<Root>, threads: &[Thread]) -> RootReason {
        let root_of_thread = root.filter(|root| belongs_to_thread(*root));
        let thread = root_of_thread.and_then(|root| {
            let mut threads = threads.iter();
            threads.find(|thread| thread.serial == root.thread).cloned()
        });
        RootReason { root, thread }
    }

    /// Returns the frame with the variable that is the root.
    pub(in crate::heap) fn frame(&self) -> Option<&Frame> {
        let root = self
            .root
            .filter(|root| root.kind != RootKind::ThreadObject)?;
        self.thread.as_ref()?.frames.get(root.frame as usize)
    }

    /// Returns the kind of the root in words.
    pub(in crate::heap) fn kind(&self) -> &'static str {
        let Some(root) = &self.root else {
            return "unknown";
        };
        match root.kind {
            RootKind::Unknown => "unknown",
            RootKind::JniGlobal => "global reference of native code",
            RootKind::JniLocal => "local reference of native code",
            RootKind::JavaFrame => "variable of a thread",
            RootKind::NativeStack => "native stack",
            RootKind::StickyClass => "class of the bootstrap loader",
            RootKind::ThreadBlock => "thread block",
            RootKind::MonitorUsed => "monitor in use",
            RootKind::ThreadObject => "thread",
        }
    }
}
