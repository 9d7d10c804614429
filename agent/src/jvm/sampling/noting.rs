//! Notes classes and their methods, so that samples can name the methods.
//!
//! At `VMInit`, the loaded classes are only listed, because noting them takes milliseconds. The sampler's thread notes
//! them a little later. Until then, the signal handler writes the address of a method that is not in the table.

use std::time::{Duration, Instant};

use super::class_methods::{ClassMethods, class_methods, generate_events, lasts};
use super::engine::{Engine, Thing};
use super::noted::ToNote;
use super::sample::MethodNumber;
use crate::jvm::jni::Jni;
use crate::jvm::reference::{Local, Weak};
use crate::jvm::sys::event;
use crate::locks::lock;

/// Maximum number of listed classes that one call notes.
const STEP: usize = 64;

impl Engine {
    /// Lists the classes that are loaded at `VMInit`, for [`note_some`](Self::note_some).
    pub(super) fn list_loaded_classes(&self, jni: Jni<'_>) {
        self.shared.methods.begin_filling();
        let classes = jni.framed(|jni| {
            jni.ensure_local_capacity();
            let classes = self.jvmti.loaded_classes(jni).unwrap_or_default();
            let kept = classes.into_iter().map(|class| jni.global(class));
            kept.filter_map(Result::ok).collect()
        });
        *lock(&self.to_note) = ToNote {
            classes: classes.unwrap_or_default(),
            is_begun: true,
        };
    }

    /// Notes some of the listed classes. Returns whether there are more. Only one thread at a time may call this.
    pub(super) fn note_some(&self, jni: Jni<'_>) -> bool {
        let (some, is_last) = {
            let mut to_note = lock(&self.to_note);
            if !to_note.is_begun {
                return false;
            }
            let rest = to_note.classes.len().saturating_sub(STEP);
            let some = to_note.classes.split_off(rest);
            to_note.is_begun = rest > 0;
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
            self.shared.methods.end_filling();
            if self.known().continuation_entry.is_some() {
                // Code of `Continuation.enterSpecial` that the JVM reported before was taken for an ordinary method. So
                // the JVM must report the code again.
                generate_events(self.jvmti, event::COMPILED_METHOD_LOAD);
            }
        }
        !is_last
    }

    /// Notes all listed classes that are not noted yet.
    pub(super) fn note_rest(&self, jni: Jni<'_>) {
        while self.note_some(jni) {}
    }

    /// Deletes the references to the listed classes. Called when there will be no samples.
    pub(super) fn forget_listed(&self, jni: Jni<'_>) {
        let to_note = std::mem::take(&mut *lock(&self.to_note));
        let noted = self.take_retired_classes();
        for class in to_note.classes.into_iter().chain(noted) {
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
