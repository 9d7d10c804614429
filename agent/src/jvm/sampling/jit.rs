//! Keeps events of the JIT compiler until the reader of samples takes them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use loadhook_text::units;

use crate::jvm::jvmti::MethodKey;
use crate::locks::lock;

/// Maximum number of events that are kept. The reader takes them ten times a second.
const MOST: usize = 1 << 17;

/// A method that the compiler has inlined: its calls were replaced by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inlined<M> {
    pub(crate) method: M,
    /// Number of calls from the compiled method down to this method; 1 if the compiled method calls it directly.
    pub(crate) depth: u32,
    /// Number of places where a call of the method was replaced.
    pub(crate) calls: u32,
}

/// An event of the JIT compiler. `M` is the type by which methods are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JitEvent<M> {
    /// A method was compiled.
    Compiled {
        method: M,
        /// Size of the generated code in bytes.
        size: u32,
        inlined: Vec<Inlined<M>>,
    },
    /// The code of a method was discarded.
    Discarded { method: M },
}

impl<M> JitEvent<M> {
    /// Converts the names of the event's methods by `name`.
    pub(crate) fn map<N>(self, mut name: impl FnMut(M) -> N) -> JitEvent<N> {
        match self {
            JitEvent::Compiled {
                method,
                size,
                inlined,
            } => JitEvent::Compiled {
                method: name(method),
                size,
                inlined: inlined
                    .into_iter()
                    .map(|inlined| Inlined {
                        method: name(inlined.method),
                        depth: inlined.depth,
                        calls: inlined.calls,
                    })
                    .collect(),
            },
            JitEvent::Discarded { method } => JitEvent::Discarded {
                method: name(method),
            },
        }
    }
}

/// The events that were not taken yet.
#[derive(Default)]
pub(super) struct JitEvents {
    waiting: Mutex<Vec<JitEvent<MethodKey>>>,
    /// Number of events for which there was no room.
    lost: AtomicU64,
}

impl JitEvents {
    /// Adds an event. If too many events wait, the event is only counted as lost.
    pub(super) fn add(&self, event: JitEvent<MethodKey>) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < MOST {
            waiting.push(event);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn take(&self) -> Vec<JitEvent<MethodKey>> {
        std::mem::take(&mut lock(&self.waiting))
    }

    /// Returns the note about events for which there was no room.
    pub(super) fn note(&self) -> Option<String> {
        let lost = self.lost.load(Ordering::Relaxed);
        (lost > 0).then(|| {
            format!(
                "{} of the JIT compiler could not be recorded, since too many came at once: the numbers of \
                 compilations and of discarded code are too small",
                units::counted(lost, "event", "events")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_without_room_are_counted() {
        let events = JitEvents::default();
        let method = MethodKey::unknown(1);
        for _ in 0..MOST {
            events.add(JitEvent::Discarded { method });
        }
        assert_eq!(events.note(), None);
        events.add(JitEvent::Discarded { method });
        assert_eq!(events.take().len(), MOST);
        events.add(JitEvent::Discarded { method });
        assert_eq!(events.take().len(), 1);
        let note = events.note().expect("an event is lost");
        assert!(note.starts_with("1 event of the JIT compiler"), "{note}");
    }
}
