//! Keeps track of methods whose classes are redefined, by Loadhook or by another agent.
//!
//! A redefinition gives each method of a class a new address. A call that is under way keeps its old code at the old
//! address. To JVM TI, the old version of a changed method is another method with an id of its own. An old version with
//! the same bytecode has none. So an address is noted before the JVM replaces it, and the new address as soon as the
//! JVM has made it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::engine::{Engine, Thing};
use super::noted::Redefined;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::MethodKey;
use crate::jvm::reference::{Global, Local};
use crate::locks::lock;

/// The longest time between the call of the class-load hook and the end of the redefinition. The JVM calls the hook for
/// all classes of a request before it replaces the first one. On a busy machine 30 s were seen. The JVM may refuse a
/// redefinition without an event.
const LONGEST: Duration = Duration::from_secs(120);

/// The number of threads whose stacks are read at a time. The JVM stops all threads meanwhile.
const THREADS: usize = 64;

/// The maximum number of frames of a stack in which old versions are looked for.
const FRAMES: i32 = 2048;

impl Engine {
    /// Handles a class that is about to be redefined: notes its methods if their present addresses are not noted.
    /// [`note_redefined_classes`](Self::note_redefined_classes) notes them again at their new addresses. Until then,
    /// the handler writes addresses that it does not find.
    pub(super) fn begin_redefinition(&self, jni: Jni<'_>, class: Local<'_>) {
        let first = self
            .jvmti
            .class_methods(class)
            .and_then(|methods| methods.first().copied());
        let address = first.and_then(|method| self.address_of(method));
        let (Some(method), Some(address)) = (first, address) else {
            return;
        };
        if self.noted_address(method) != Some(address) {
            self.note_classes(jni, &[class]);
        }
        let Ok(class) = jni.global(class) else {
            return;
        };
        let since = Instant::now();
        let is_listed = {
            let mut redefined = lock(&self.redefined);
            self.shared.methods.begin_filling();
            // A class is listed already if the JVM has refused its redefinition.
            let mut listed = redefined.iter_mut();
            let same = listed.find(|it| it.method == method && it.address == address);
            let is_listed = same.map(|it| it.since = since).is_some();
            if !is_listed {
                redefined.push(Redefined {
                    class,
                    method,
                    address,
                    since,
                });
            }
            is_listed
        };
        if is_listed {
            jni.delete_global(class);
        }
    }

    /// Notes the classes whose redefinition has ended since the last call. Only one thread at a time may call this.
    pub(super) fn note_redefined_classes(&self, jni: Jni<'_>) {
        // The classes stay listed until they are noted, for `has_unnoted_versions`.
        let under_way = lock(&self.redefined).clone();
        if under_way.is_empty() {
            return;
        }
        let addresses = self.present_addresses(&under_way);
        let is_waiting = |(class, present): (&Redefined, &Option<usize>)| {
            *present == Some(class.address) && class.since.elapsed() < LONGEST
        };
        let listed = || under_way.iter().zip(&addresses);
        let stay: Vec<bool> = listed().map(is_waiting).collect();
        let over = listed().zip(&stay).filter(|(_, stays)| !**stays);
        let moved = over.map(|(listed, _)| listed);
        let moved = moved.filter(|(class, present)| self.is_unnoted(class, **present));
        let moved: Vec<_> = moved.map(|(class, _)| class.class.local()).collect();
        jni.framed(|jni| {
            jni.ensure_local_capacity();
            self.note_classes(jni, &moved);
        });
        // Others were added meanwhile, behind these, and a redefinition of one of these may have begun anew. Only this
        // thread takes classes away.
        let mut seen = under_way.iter().zip(stay);
        let mut gone = Vec::new();
        lock(&self.redefined).retain(|now| {
            let next = seen.next();
            let stays = next.is_none_or(|(then, stays)| stays || then.since != now.since);
            if !stays {
                gone.push(now.class);
            }
            stays
        });
        self.end_filling();
        for class in gone {
            jni.delete_global(class);
        }
    }

    /// Returns whether a class has been redefined and is not noted yet. The addresses of its new methods are not in the
    /// table then. The table may even have them for other methods: for old versions, which the JVM has freed.
    pub(super) fn has_unnoted_versions(&self) -> bool {
        let under_way = lock(&self.redefined).clone();
        if under_way.is_empty() {
            return false;
        }
        let addresses = self.present_addresses(&under_way);
        let mut classes = under_way.iter().zip(addresses);
        classes.any(|(class, present)| {
            present != Some(class.address) && self.is_unnoted(class, present)
        })
    }

    /// Returns the present address of a method of each class; `None` for an address that cannot be read.
    fn present_addresses(&self, classes: &[Redefined]) -> Vec<Option<usize>> {
        let ids = classes.iter().map(|class| class.method.0);
        let ids: Vec<usize> = ids.map(|id| id.expose_provenance()).collect();
        let memory = self.cache().memory();
        match memory.words(&ids) {
            Some(addresses) => addresses.into_iter().map(Some).collect(),
            // One address that cannot be read keeps the others from being read together.
            None => ids.iter().map(|id| memory.word(*id)).collect(),
        }
    }

    /// Returns whether a class is not noted with its present methods. `present` is the present address of its method.
    fn is_unnoted(&self, class: &Redefined, present: Option<usize>) -> bool {
        present.is_some() && self.noted_address(class.method) != present
    }

    /// Makes the handler write no unknown addresses any more, unless the table of methods may still lack some: methods
    /// of listed classes, of classes that are being redefined, or of classes that are not noted because too many have
    /// been unloaded.
    pub(super) fn end_filling(&self) {
        let redefined = lock(&self.redefined);
        let is_done = lock(&self.to_note).is_done;
        if is_done && redefined.is_empty() && !self.known().methods.is_full() {
            self.shared.methods.end_filling();
        }
    }

    /// Takes the references to classes that are being redefined. Called when no samples are read any more.
    pub(super) fn take_redefined(&self) -> Vec<Global> {
        let redefined = std::mem::take(&mut *lock(&self.redefined));
        redefined.into_iter().map(|class| class.class).collect()
    }

    /// Notes the old versions of methods that are under way in any thread. An agent that left before, or another agent,
    /// may have redefined their classes, and the JVM lists only the present versions. Finds only versions with an id of
    /// their own: those whose bytecode has changed.
    pub(super) fn note_versions_under_way(&self, jni: Jni<'_>) {
        let threads = self.jvmti.threads(jni).unwrap_or_default();
        for threads in threads.chunks(THREADS) {
            let stacks = self.jvmti.stacks(jni, threads, FRAMES).unwrap_or_default();
            let frames = stacks.iter().flat_map(|stack| &stack.frames);
            let methods: HashSet<MethodKey> = frames.map(|frame| frame.method).collect();
            for method in methods {
                self.note_version(jni, method);
            }
        }
    }

    /// Notes a method of a frame on a stack if it is the old version of a noted method. Returns the id of the noted
    /// method; `method` itself if it is none.
    pub(super) fn note_version(&self, jni: Jni<'_>, method: MethodKey) -> MethodKey {
        let is_noted = self.is_version_noted(method);
        let present = if is_noted {
            None
        } else {
            jni.framed(|jni| self.present_version(jni, method))
                .flatten()
        };
        let mut known = self.known();
        if let (Some(present), Some(address)) = (present, self.address_of(method)) {
            let old = known
                .methods
                .note_old(&self.shared.methods, present, method, address);
            if let Some(table) = old {
                self.retire(&mut known, Thing::Table(table));
            }
        }
        known.methods.present(method)
    }

    /// Returns whether a method of a frame is noted. If its id is that of an old version, checks that the JVM has not
    /// given the id to another old version meanwhile.
    fn is_version_noted(&self, method: MethodKey) -> bool {
        let known = self.known();
        let number = known.methods.of_key(method);
        if !known.methods.is_old(method) {
            return number.is_some();
        }
        let address = self.address_of(method);
        address.and_then(|address| self.shared.methods.find(address)) == number
    }

    /// Returns the id of the present version of a method; `None` if `method` is the present version.
    fn present_version(&self, jni: Jni<'_>, method: MethodKey) -> Option<MethodKey> {
        let class = self.jvmti.declaring_class(jni, method).ok()?;
        let all = self.jvmti.class_methods(class)?;
        if all.contains(&method) {
            return None;
        }
        let name = self.jvmti.method_name(method).ok()?;
        all.into_iter()
            .find(|one| self.jvmti.method_name(*one).as_ref() == Ok(&name))
    }

    /// Returns the present address of a method whose class is loaded.
    fn address_of(&self, method: MethodKey) -> Option<usize> {
        self.cache().memory().word(method.0.expose_provenance())
    }

    fn noted_address(&self, method: MethodKey) -> Option<usize> {
        let known = self.known();
        known.methods.address(known.methods.of_key(method)?)
    }
}
