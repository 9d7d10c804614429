//! The work of the JIT compiler, from the JVM's events until the reader of samples takes it.

use std::sync::Mutex;

use crate::jvm::jvmti::MethodKey;
use crate::locks::lock;

/// Maximum number of events that wait. A reader takes them ten times a second.
const MOST: usize = 1 << 17;

/// Calls of a method that the compiler has replaced by the method's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inlined<M> {
    pub(crate) method: M,
    /// Number of calls from the compiled method to this one; 1 if the compiled method calls it itself.
    pub(crate) depth: u32,
    /// Number of places with such a call.
    pub(crate) calls: u32,
}

/// A piece of work. Methods are given by `M`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JitEvent<M> {
    /// A method was compiled.
    Compiled {
        method: M,
        /// Bytes of its code.
        size: u32,
        inlined: Vec<Inlined<M>>,
    },
    /// The code of a method was discarded.
    Discarded { method: M },
}

impl<M> JitEvent<M> {
    /// The event with other names for methods.
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
pub(super) struct JitEvents(Mutex<Vec<JitEvent<MethodKey>>>);

impl JitEvents {
    /// Adds an event, unless too many wait.
    pub(super) fn add(&self, event: JitEvent<MethodKey>) {
        let mut events = lock(&self.0);
        if events.len() < MOST {
            events.push(event);
        }
    }

    pub(super) fn take(&self) -> Vec<JitEvent<MethodKey>> {
        std::mem::take(&mut lock(&self.0))
    }
}
