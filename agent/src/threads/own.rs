//! The agent's own threads. They are no part of a profile, and lie outside the thread groups of the program.

use std::ffi::CStr;
use std::sync::Mutex;

use crate::jvm::jni::{Jni, JniError};
use crate::jvm::jni_calls::Argument;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};
use crate::locks::lock;

/// The threads that the agent has started.
#[derive(Default)]
pub(crate) struct OwnThreads(Mutex<Vec<Global>>);

impl OwnThreads {
    /// Starts a thread. Returns whether it was started.
    ///
    /// The thread is in the JVM's own thread group, because programs count and enumerate the threads of theirs.
    pub(crate) fn start(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        name: &CStr,
        body: impl FnOnce(Jni<'_>) + Send + 'static,
    ) -> bool {
        let started = jni.framed(|jni| {
            let class = jni.find_class(c"java/lang/Thread")?;
            let group = jvmti
                .system_thread_group(jni)
                .map_err(|_| JniError::Refused)?;
            let arguments = [group, jni.new_string(name)?].map(Argument::Object);
            let descriptor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
            let thread = jni.new_object(class, descriptor, &arguments)?;
            // The thread is noted before it runs, because its start posts an event.
            let known = jni.global(thread)?;
            lock(&self.0).push(known);
            jvmti
                .run_agent_thread(thread, Box::new(body))
                .map_err(|_| JniError::Refused)
        });
        matches!(started, Some(Ok(())))
    }

    /// Returns whether a thread is one of the agent's.
    pub(crate) fn contains(&self, jni: Jni<'_>, thread: Local<'_>) -> bool {
        // The list is copied, because no lock is held while the JVM is called.
        let known = lock(&self.0).clone();
        known.iter().any(|own| jni.is_same(*own, thread))
    }
}
