//! Keeps the names of the threads that wait, and of the methods on their stacks.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use loadhook_profile::{Profile, ThreadKind};

use crate::frames::profile_parts::{self, ProfileMethods};
use crate::frames::resolve::{self, type_name};
use crate::frames::symbol::{CopyLoaders, ResolvedFrame};
use crate::instrument::instrumentation::Instrumentation;
use crate::instrument::loaders::Loader;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Local;
use crate::locks::{lock, read, write};
use crate::threads::fields::ThreadFields;
use crate::threads::groups::{OTHERS, VIRTUAL_THREADS, without_numbers};
use crate::tracker::is_trackers;

/// The package of locks, whose methods call `LockSupport` for the program.
const LOCKS: &str = "java.util.concurrent.locks.";

/// Maximum number of frames whose names are kept. From this number of threads on, the names of threads that end are
/// forgotten. A limit is needed because a program may load classes and start threads for ever.
const MOST_NAMES: usize = 200_000;

/// The identity of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub(super) id: u64,
    pub(super) is_virtual: bool,
}

/// A platform thread whose name was read.
#[derive(Clone)]
struct Seen {
    name: String,
    has_ended: bool,
}

/// Names of threads that wait or own monitors, and of the methods on their stacks. A name is read from the JVM at once,
/// because later the class may be unloaded or the thread may have ended.
#[derive(Default)]
pub(super) struct Names {
    /// Set before the events of monitors are enabled.
    fields: OnceLock<ThreadFields>,
    /// Methods and lines of frames; `None` for frames that the JVM does not name. An `RwLock`, because each thread that
    /// parks looks up all frames of its stack, which nearly always are known already.
    frames: RwLock<HashMap<StackFrame, Option<ResolvedFrame>>>,
    /// Platform threads by id.
    threads: Mutex<HashMap<u64, Seen>>,
}

impl Names {
    /// Looks up the fields of threads. Returns whether they were found.
    ///
    /// Must not be called in an event: the look-up would call the class loader of the waiting method, and the loader
    /// may itself wait for a monitor.
    pub(super) fn find_fields(&self, jni: Jni<'_>) -> bool {
        let found = ThreadFields::find(jni);
        found.is_some_and(|fields| self.fields.set(fields).is_ok())
    }

    /// Returns the identity of a thread, and keeps the name of a platform thread. Names of virtual threads are not
    /// kept, because there may be millions.
    pub(super) fn thread(&self, jni: Jni<'_>, thread: Local<'_>) -> Option<Who> {
        let fields = self.fields.get()?;
        let id = fields.id(jni, thread)?;
        let is_virtual = fields.is_virtual(jni, thread);
        if !is_virtual && !lock(&self.threads).contains_key(&id) {
            // The name is read before the lock is taken, because no lock is held during a call of the JVM.
            let seen = Seen {
                name: fields.name(jni, thread),
                has_ended: false,
            };
            lock(&self.threads).insert(id, seen);
        }
        Some(Who { id, is_virtual })
    }

    /// Forgets a thread that has ended. Returns the thread's id and name if the name was kept.
    pub(super) fn forget(&self, jni: Jni<'_>, thread: Local<'_>) -> Option<(u64, String)> {
        let id = self.fields.get()?.id(jni, thread)?;
        Some((id, lock(&self.threads).remove(&id)?.name))
    }

    /// Notes the end of a thread, and forgets the thread's name if there are too many names. Returns the thread's id if
    /// the name was kept.
    pub(super) fn thread_ends(&self, jni: Jni<'_>, thread: Local<'_>) -> Option<u64> {
        let id = self.fields.get()?.id(jni, thread)?;
        let mut threads = lock(&self.threads);
        if threads.len() < MOST_NAMES {
            threads.get_mut(&id)?.has_ended = true;
        } else {
            threads.remove(&id)?;
        }
        Some(id)
    }

    /// Keeps the names of frames that are on the stack of a thread.
    pub(super) fn keep(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        frames: &[StackFrame],
    ) {
        let unknown = nameless(&read(&self.frames), frames);
        for frame in unknown {
            let found = resolve::frame(instrumentation, jni, frame, None);
            write(&self.frames).insert(frame, found);
        }
    }

    /// Returns a note that methods are missing in stacks; `None` if there was room for all names.
    pub(super) fn note(&self) -> Option<&'static str> {
        let is_full = read(&self.frames).len() >= MOST_NAMES;
        is_full.then_some(
            "some methods are missing in the stacks of waits for locks, because there was no room for more names of methods",
        )
    }

    /// Returns a stack without its innermost frames in our probes and in the package of locks. The frames left out are
    /// the same for all locks. In a trace of only a few frames they would hide the program's methods.
    pub(super) fn outside_of_locks<'s>(&self, frames: &'s [StackFrame]) -> &'s [StackFrame] {
        let names = read(&self.frames);
        let is_inside = |frame: &StackFrame| {
            let named = names.get(frame).and_then(Option::as_ref);
            named.is_none_or(|named| {
                let class = &named.symbol.class;
                is_trackers(class) || class.starts_with(LOCKS)
            })
        };
        let inside = frames.iter().take_while(|frame| is_inside(frame)).count();
        frames.get(inside..).unwrap_or_default()
    }

    /// Returns the class loaders of all methods whose names are kept.
    pub(super) fn loaders(&self) -> BTreeSet<Loader> {
        let names = read(&self.frames);
        let frames = names.values().flatten();
        let loader = |frame: &ResolvedFrame| Loader {
            number: frame.loader,
            kind: frame.symbol.kind,
        };
        frames.map(loader).collect()
    }

    /// Returns the method of each frame, by its number in the profile, and the frame's line. Frames without a name are
    /// left out. `loaders` has the names of class loaders by number.
    pub(super) fn places(
        &self,
        frames: &[StackFrame],
        loaders: &HashMap<u32, String>,
        methods: &mut ProfileMethods,
        profile: &mut Profile,
    ) -> Vec<(u32, Option<u32>)> {
        let names = read(&self.frames);
        let known = frames.iter().filter_map(|frame| names.get(frame)?.as_ref());
        let place = |frame: &ResolvedFrame| {
            let copies = CopyLoaders {
                first: frame.loader,
                loaders: 1,
            };
            let method = profile_parts::method(&frame.symbol, copies, loaders);
            (methods.number(profile, method), frame.line)
        };
        known.map(place).collect()
    }

    /// Returns whether a thread is virtual.
    pub(super) fn is_virtual(&self, jni: Jni<'_>, thread: Local<'_>) -> bool {
        let fields = self.fields.get();
        fields.is_some_and(|fields| fields.is_virtual(jni, thread))
    }

    /// Returns the name of a thread that holds a lock, in which `#` stands for numbers.
    pub(super) fn holder(&self, jni: Jni<'_>, thread: Local<'_>) -> Option<Arc<str>> {
        if self.is_virtual(jni, thread) {
            return Some(VIRTUAL_THREADS.into());
        }
        let fields = self.fields.get()?;
        Some(without_numbers(&fields.name(jni, thread)).into())
    }

    /// Returns the index of a thread in a profile. Adds the thread if the profile does not have it.
    pub(super) fn index(&self, who: Who, profile: &mut Profile) -> u32 {
        if who.is_virtual {
            let name = VIRTUAL_THREADS.into();
            return profile_parts::thread(profile, &name, None, ThreadKind::Virtual);
        }
        let seen = lock(&self.threads).get(&who.id).cloned();
        let (name, id, kind) = match seen {
            Some(seen) if !seen.has_ended => (seen.name, Some(who.id), ThreadKind::Platform),
            Some(seen) => (seen.name, None, ThreadKind::Ended),
            // The thread has ended since its waits were copied, or there were too many threads.
            None => (OTHERS.to_owned(), None, ThreadKind::Ended),
        };
        profile_parts::thread(profile, &name.into(), id, kind)
    }
}

/// Returns the frames whose names must be looked up: the frames that are not in `names`, or no frames if there is no
/// room for further names.
fn nameless<T>(names: &HashMap<StackFrame, T>, frames: &[StackFrame]) -> Vec<StackFrame> {
    if names.len() >= MOST_NAMES {
        return Vec::new();
    }
    let unknown = frames.iter().filter(|frame| !names.contains_key(*frame));
    unknown.copied().collect()
}

/// Returns the descriptor of an object's class, for example `Ljava/lang/Object;`.
pub(super) fn descriptor(jvmti: Jvmti, jni: Jni<'_>, object: Local<'_>) -> Vec<u8> {
    let found = jni.framed(|jni| {
        let class = jni.class_of(object).ok()?;
        jvmti.class_signature(class).ok()
    });
    found.flatten().unwrap_or_default()
}

/// Returns the name of an object's class, for example `java.lang.Object`.
pub(super) fn class_name(jvmti: Jvmti, jni: Jni<'_>, object: Local<'_>) -> String {
    type_name(&descriptor(jvmti, jni, object))
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;
    use crate::jvm::sys::FrameInfo;

    #[test]
    fn names_have_a_bound() {
        let frame = |number: usize| {
            StackFrame::of(&FrameInfo {
                method: null_mut(),
                location: number as i64,
            })
        };
        let mut names: HashMap<StackFrame, ()> = HashMap::new();
        names.insert(frame(0), ());
        let frames = [0, MOST_NAMES].map(frame);
        assert_eq!(nameless(&names, &frames), frames[1..]);
        names.extend((0..MOST_NAMES).map(|number| (frame(number), ())));
        assert!(nameless(&names, &frames).is_empty());
    }
}
