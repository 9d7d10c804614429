//! The methods of the stacks that wait for monitors, and the threads.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use loadhook_profile::{Method, Profile, ThreadKind};

use crate::frames::profile_parts::{self, ProfileMethods};
use crate::frames::resolve::{self, type_name};
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Local;
use crate::locks::lock;
use crate::threads::fields::ThreadFields;

/// A method and a line in it.
type Place = (Method, Option<u32>);

/// A thread that was seen.
#[derive(Clone)]
struct Seen {
    name: String,
    kind: ThreadKind,
}

/// Names of methods and threads that were seen. The JVM is asked at once: a class may be unloaded and a thread may end.
#[derive(Default)]
pub(super) struct Names {
    /// Set before the events of monitors are enabled.
    fields: OnceLock<ThreadFields>,
    /// Methods and lines of frames; `None` for frames that the JVM does not name.
    frames: Mutex<HashMap<StackFrame, Option<Place>>>,
    threads: Mutex<HashMap<u64, Seen>>,
}

impl Names {
    /// Looks up the fields of threads. Returns whether they were found.
    ///
    /// They are not looked up in an event: that would call the class loader of the waiting method, which may wait for
    /// a monitor itself.
    pub(super) fn find_fields(&self, jni: Jni<'_>) -> bool {
        let found = ThreadFields::find(jni);
        found.is_some_and(|fields| self.fields.set(fields).is_ok())
    }

    /// The id of a thread, whose name is kept.
    pub(super) fn thread(&self, jni: Jni<'_>, thread: Local<'_>) -> Option<u64> {
        let fields = self.fields.get()?;
        let id = fields.id(jni, thread)?;
        let is_known = lock(&self.threads).contains_key(&id);
        if !is_known {
            // The JVM is asked without the lock.
            let kind = if fields.is_virtual(jni, thread) {
                ThreadKind::Virtual
            } else {
                ThreadKind::Platform
            };
            let name = fields.name(jni, thread);
            lock(&self.threads).insert(id, Seen { name, kind });
        }
        Some(id)
    }

    /// Notes the end of a thread. Returns its id if it was seen.
    pub(super) fn thread_ends(&self, jni: Jni<'_>, thread: Local<'_>) -> Option<u64> {
        let id = self.fields.get()?.id(jni, thread)?;
        lock(&self.threads).get_mut(&id)?.kind = ThreadKind::Ended;
        Some(id)
    }

    /// Keeps the names of frames that are on the stack of a thread.
    pub(super) fn keep(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        frames: &[StackFrame],
    ) {
        for frame in frames {
            if lock(&self.frames).contains_key(frame) {
                continue;
            }
            let found = resolve::frame(instrumentation, jni, *frame, None);
            let named = found.map(|found| {
                let symbol = found.symbol;
                let method = Method {
                    file: symbol.file.clone(),
                    line: symbol.line,
                    ..Method::new(&symbol.class, &symbol.name, &symbol.descriptor)
                };
                (method, found.line)
            });
            lock(&self.frames).insert(*frame, named);
        }
    }

    /// The frames as places in methods of a profile.
    pub(super) fn places(
        &self,
        frames: &[StackFrame],
        methods: &mut ProfileMethods,
        profile: &mut Profile,
    ) -> Vec<(u32, Option<u32>)> {
        let names = lock(&self.frames);
        let known = frames.iter().filter_map(|frame| names.get(frame)?.as_ref());
        let place = |(method, line): &Place| (methods.number(profile, method.clone()), *line);
        known.map(place).collect()
    }

    /// The index of a thread in a profile.
    pub(super) fn index(&self, id: u64, profile: &mut Profile) -> u32 {
        let seen = lock(&self.threads).get(&id).cloned();
        let seen = seen.unwrap_or(Seen {
            name: String::new(),
            kind: ThreadKind::Ended,
        });
        let id = (seen.kind != ThreadKind::Ended).then_some(id);
        profile_parts::thread(profile, &seen.name.into(), id, seen.kind)
    }
}

/// The descriptor of an object's class: `Ljava/lang/Object;`.
pub(super) fn descriptor(jvmti: Jvmti, jni: Jni<'_>, object: Local<'_>) -> Vec<u8> {
    let found = jni.framed(|jni| {
        let class = jni.class_of(object).ok()?;
        jvmti.class_signature(class).ok()
    });
    found.flatten().unwrap_or_default()
}

/// The name of the class of an object: `java.lang.Object`.
pub(super) fn class_name(jvmti: Jvmti, jni: Jni<'_>, object: Local<'_>) -> String {
    type_name(&descriptor(jvmti, jni, object))
}
