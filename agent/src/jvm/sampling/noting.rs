//! Notes classes and their methods, so that samples can name the methods.
//!
//! At `VMInit`, the loaded classes are only listed, because noting them takes milliseconds. When the sampler's thread
//! first reads samples, a tenth of a second later, it notes these classes, and those that were prepared meanwhile. Until
//! then, the signal handler writes the address of a method that is not in the table. If the program ends before, only
//! the classes in its samples are noted.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::class_methods::{CONTINUATION, ClassMethods, class_methods, generate_events, lasts};
use super::engine::{Engine, Thing};
use super::holders::ClassName;
use super::inlining::InlinedFrame;
use super::noted::Stage;
use super::raw_frame::RawFrame;
use super::sample::MethodNumber;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::MethodKey;
use crate::jvm::reference::{Global, Local, Weak};
use crate::jvm::sys::event;
use crate::jvm::vm::has_virtual_threads;
use crate::locks::lock;

/// Maximum number of listed classes that one call notes.
const STEP: usize = 64;

/// Listed classes by their names.
type ListedClasses = HashMap<ClassName, Vec<Global>>;

/// The search for the classes to which the frames of the last samples belong.
#[derive(Default)]
pub(super) struct Search {
    /// The listed classes that were not found yet; `None` before the first address.
    listed: Option<ListedClasses>,
    /// Methods of compiled frames that were searched for.
    keys: HashSet<MethodKey>,
    /// Addresses of methods that were searched for.
    addresses: HashSet<usize>,
}

impl Engine {
    /// Lists the classes that are loaded, for [`note_listed`](Self::note_listed).
    pub(super) fn list_loaded_classes(&self, jni: Jni<'_>) {
        self.shared.methods.begin_filling();
        // From now on, classes that are prepared are appended to the list.
        {
            let mut to_note = lock(&self.to_note);
            to_note.stage = Stage::Listing;
            to_note.is_done = false;
        }
        let classes: Option<Vec<Global>> = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let classes = self.jvmti.loaded_classes(jni).unwrap_or_default();
            let kept = classes.into_iter().map(|class| jni.global(class));
            kept.filter_map(Result::ok).collect()
        });
        let classes = classes.unwrap_or_default();
        lock(&self.to_note).classes.extend(classes);
    }

    /// Notes the class `Continuation` before all others, so that the code of its method `enterSpecial` is known as soon
    /// as the JVM reports it. The class is taken from the list, because a search by JNI would initialise it. If it is
    /// not linked yet, no virtual thread has run, and `ClassPrepare` notes it.
    pub(super) fn note_continuation(&self, jni: Jni<'_>) {
        if !self.awaits_continuation() {
            return;
        }
        let listed = lock(&self.to_note).classes.clone();
        let is_it = |class: &Global| self.is_continuation(class.local());
        if let Some(class) = listed.into_iter().find(is_it) {
            jni.framed(|jni| self.note_classes(jni, &[class.local()]));
        }
    }

    /// Returns whether the JVM has the class `Continuation` and it is not noted.
    fn awaits_continuation(&self) -> bool {
        self.known().continuation_entry.is_none() && has_virtual_threads()
    }

    fn is_continuation(&self, class: Local<'_>) -> bool {
        let signature = self.jvmti.class_signature(class);
        signature.is_ok_and(|signature| signature == CONTINUATION)
    }

    /// Handles `ClassPrepare`: notes the class, or lists it.
    pub(super) fn prepared(&self, jni: Jni<'_>, class: Local<'_>) {
        let stage = lock(&self.to_note).stage;
        if stage == Stage::BeforeList {
            return;
        }
        if stage == Stage::Listing
            && !(self.awaits_continuation() && self.is_continuation(class))
            && let Ok(reference) = jni.global(class)
        {
            let mut to_note = lock(&self.to_note);
            if to_note.stage == Stage::Listing {
                to_note.classes.push(reference);
                return;
            }
            drop(to_note);
            jni.delete_global(reference);
        }
        self.note_classes(jni, &[class]);
        self.check_own_stack(jni);
    }

    /// Handles a class that is about to be redefined. Without samples, nothing is noted.
    pub(super) fn note_before_redefinition(&self, jni: Jni<'_>, class: Local<'_>) {
        let stage = lock(&self.to_note).stage;
        if stage != Stage::BeforeList {
            self.begin_redefinition(jni, class);
        }
    }

    /// Notes all listed classes. Only one thread at a time may call this.
    pub(super) fn note_listed(&self, jni: Jni<'_>) {
        let before = self.known().continuation_entry;
        let has_listed = self.has_listed_classes();
        while self.note_some(jni) {}
        if has_listed && self.is_late.load(Ordering::Relaxed) {
            jni.framed(|jni| {
                jni.ensure_local_capacity();
                self.note_versions_under_way(jni);
            });
        }
        if before.is_none() && self.known().continuation_entry.is_some() {
            // Code of `Continuation.enterSpecial` that the JVM reported before was taken for an ordinary method. So the
            // JVM must report the code again.
            generate_events(self.jvmti, event::COMPILED_METHOD_LOAD);
        }
    }

    /// Notes some of the listed classes. Returns whether there are more.
    fn note_some(&self, jni: Jni<'_>) -> bool {
        let (some, is_last) = {
            let mut to_note = lock(&self.to_note);
            if to_note.stage != Stage::Listing {
                return false;
            }
            let rest = to_note.classes.len().saturating_sub(STEP);
            let some = to_note.classes.split_off(rest);
            if rest == 0 {
                to_note.stage = Stage::Noting;
            }
            (some, rest == 0)
        };
        let classes: Vec<Local<'_>> = some.iter().map(|class| class.local()).collect();
        // The frame is needed to free the local references to the classes' loaders.
        jni.framed(|jni| {
            jni.ensure_local_capacity();
            self.note_classes(jni, &classes);
        });
        self.retire(&mut self.known(), Thing::Classes(some));
        if is_last {
            lock(&self.to_note).is_done = true;
            self.end_filling();
        }
        !is_last
    }

    /// Returns whether classes are listed that are not noted yet.
    pub(super) fn has_listed_classes(&self) -> bool {
        lock(&self.to_note).stage == Stage::Listing
    }

    /// Notes those listed classes to which the frames of a sample belong. `search` has the results of earlier calls, so
    /// that no method is searched for twice.
    pub(super) fn note_classes_of(&self, jni: Jni<'_>, frames: &[u64], search: &mut Search) {
        let Some(holders) = self.shared.structs.holders else {
            return;
        };
        let memory = self.cache().memory();
        for method in self.unnoted_methods(frames, &mut search.keys) {
            if !search.addresses.insert(method) || self.shared.methods.find(method).is_some() {
                // The method's class may have been noted for an earlier method.
                continue;
            }
            let listed = search.listed.get_or_insert_with(|| self.listed_by_name());
            let classes = holders
                .name(memory, method)
                .and_then(|name| listed.remove(&name));
            let classes = classes.iter().flatten();
            let classes: Vec<Local<'_>> = classes.map(|class| class.local()).collect();
            jni.framed(|jni| self.note_classes(jni, &classes));
        }
    }

    /// Returns the addresses of those methods in the frames of a sample that are not noted. Leaves out methods of
    /// compiled frames that are in `tried`, and adds the others to it.
    fn unnoted_methods(&self, frames: &[u64], tried: &mut HashSet<MethodKey>) -> Vec<usize> {
        let known = self.known();
        let memory = self.cache().memory();
        let mut methods = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            let code = match RawFrame::of(*frame) {
                RawFrame::Method(address) | RawFrame::Entry(address) => {
                    methods.push(address);
                    None
                }
                RawFrame::Compiled { code, offset } => Some((code, offset)),
                RawFrame::Address(pc) => self.compiled_at(pc, index == 0),
                RawFrame::Interpreted { .. } | RawFrame::Stub(_) => None,
            };
            let Some((code, offset)) = code else {
                continue;
            };
            if let Some(compiled) = known.codes.compiled(code) {
                for InlinedFrame { method, .. } in compiled.frames_at(offset) {
                    if known.methods.of_key(method).is_none() && tried.insert(method) {
                        methods.extend(memory.word(method.0.expose_provenance()));
                    }
                }
            }
        }
        methods
    }

    fn listed_by_name(&self) -> ListedClasses {
        let classes = lock(&self.to_note).classes.clone();
        let mut listed = ListedClasses::new();
        for class in classes {
            let descriptor = self
                .jvmti
                .class_signature(class.local())
                .unwrap_or_default();
            if let Some(name) = ClassName::of_descriptor(&descriptor) {
                listed.entry(name).or_default().push(class);
            }
        }
        listed
    }

    /// Deletes the references to the listed classes. Called when there will be no samples.
    pub(super) fn forget_listed(&self, jni: Jni<'_>) {
        let to_note = std::mem::take(&mut *lock(&self.to_note));
        let noted = self.take_retired_classes();
        let redefined = self.take_redefined();
        for class in to_note.classes.into_iter().chain(noted).chain(redefined) {
            jni.delete_global(class);
        }
    }

    /// Notes classes and their methods, even classes that were noted before. If too many classes have been unloaded,
    /// only classes that are never unloaded are noted.
    pub(super) fn note_classes(&self, jni: Jni<'_>, classes: &[Local<'_>]) {
        if !self.known().methods.is_full() {
            self.note_all(jni, classes);
            return;
        }
        // The methods of other classes stay unknown. From now on, the handler writes the addresses of unknown methods.
        self.shared.methods.begin_filling();
        let lasts = |class: &Local<'_>| jni.framed(|jni| lasts(self.jvmti, jni, *class));
        let lasting = classes.iter().filter(|class| lasts(class) == Some(true));
        self.note_all(jni, &lasting.copied().collect::<Vec<_>>());
    }

    fn note_all(&self, jni: Jni<'_>, classes: &[Local<'_>]) {
        for (class, methods) in class_methods(self.jvmti, self.cache().memory(), classes) {
            self.note_methods(jni, class, &methods);
        }
    }

    fn note_methods(&self, jni: Jni<'_>, class: Local<'_>, methods: &ClassMethods) {
        let weak = if methods.stays {
            None
        } else {
            match jni.weak(class) {
                Ok(weak) => Some(weak),
                Err(_) => return,
            }
        };
        let mut known = self.known();
        if let Some(entry) = methods.continuation_entry {
            known.continuation_entry = Some(entry);
        }
        let (old, is_new) = known
            .methods
            .note(&self.shared.methods, weak, &methods.methods);
        for table in old {
            self.retire(&mut known, Thing::Table(table));
        }
        drop(known);
        if !is_new && let Some(weak) = weak {
            jni.delete_weak(weak);
        }
    }

    /// Notes all classes again if `unknown`, the number of samples with unknown interpreted methods, is at least 20,
    /// but not more often than every 5 s. A redefined class has its methods at other addresses, and the JVM sends no
    /// event for a redefinition.
    pub(super) fn note_redefined(&self, jni: Jni<'_>, unknown: u32) {
        /// A smaller number of samples with unknown methods is ignored, because it may have other causes.
        const CHANCE: u32 = 20;
        const PAUSE: Duration = Duration::from_secs(5);
        if unknown < CHANCE {
            return;
        }
        let now = Instant::now();
        {
            let mut known = self.known();
            let is_soon = |at: Instant| now.saturating_duration_since(at) < PAUSE;
            if known.noted_again.is_some_and(is_soon) {
                return;
            }
            known.noted_again = Some(now);
        }
        jni.framed(|jni| {
            jni.ensure_local_capacity();
            let classes = self.jvmti.loaded_classes(jni).unwrap_or_default();
            for some in classes.chunks(STEP) {
                self.note_classes(jni, some);
            }
        });
    }

    /// Forgets unloaded classes. Each call checks some of the classes. Returns the numbers of the forgotten methods
    /// that samples have shown.
    pub(super) fn forget_gone(&self, jni: Jni<'_>) -> Vec<MethodNumber> {
        let to_check: Vec<(u32, Weak)> = self.known().methods.classes_to_check();
        let mut numbers = Vec::new();
        for (class, weak) in to_check {
            if !jni.is_gone(weak) {
                continue;
            }
            let mut known = self.known();
            let gone = known.methods.forget(&self.shared.methods, class);
            if let Some(gone) = gone {
                numbers.extend(gone.numbers);
                self.retire(&mut known, Thing::Methods(gone.methods));
                drop(known);
                jni.delete_weak(gone.weak);
            }
        }
        numbers
    }
}
