//! Instruments hidden classes (`Lookup.defineHiddenClass`; up to JDK 14 `Unsafe.defineAnonymousClass`).
//!
//! The bytes of a hidden class contain a name. The hidden class shares its ids with the class that has this name in the
//! same loader. So both are one row in the profile, as in a program that was rewritten on disk, and copies take no
//! further memory.
//!
//! The JVM does not retransform hidden classes. A note in the profile names those that were defined before the agent
//! could act.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loadhook_instrument::Traced;
use loadhook_rewrite::ClassFile;
use loadhook_rewrite::symbol::java_name;
use loadhook_settings::Filter;

use super::hidden_names::plain_name;
use super::instrumentation::Instrumentation;
use super::loaders::Origin;
use super::watch::Watch;
use crate::jvm::class_definers::{self as definers, Definer, Function};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{Jvmti, MethodKey};
use crate::jvm::reference::Local;
use crate::jvm::sys::event;
use crate::locks::lock;
use crate::tracker::heap_reserve::HeapReserve;

/// The maximum number of different hidden classes that are instrumented. The ids of each class are kept for ever, and a
/// program may generate hidden classes without end.
const MOST_DIFFERENT: usize = 10_000;

/// The maximum number of names in a note.
const MOST_NAMED: usize = 20;

/// The maximum number of bound native methods that are remembered until the one that defines hidden classes is known.
/// Usually there are about 200.
const MOST_BOUND: usize = 10_000;

/// Parts of the names of the classes that the JDK generates in the program's own packages: for lambdas, callers of
/// caller-sensitive methods, `switch` over patterns, and interfaces made of method handles.
const GENERATED_BY_JDK: [&str; 4] = ["$$Lambda", "InjectedInvoker", "$$TypeSwitch", "MHProxy"];

thread_local! {
    /// True while this thread allocates an array for instrumented bytes. That is not an allocation of the program.
    static IS_ALLOCATING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread allocates for the agent, not for the program.
pub(crate) fn is_allocating() -> bool {
    IS_ALLOCATING.get()
}

/// The state of replacing the native method that defines hidden classes, and the names of the hidden classes that are
/// not instrumented.
#[derive(Default)]
pub(crate) struct HiddenClasses {
    binding: Mutex<Binding>,
    is_active: AtomicBool,
    /// True if the agent was attached to a running program.
    is_attached: AtomicBool,
    /// During a pause, the choice of methods for the time after the pause. A hidden class that is defined during the
    /// pause gets its probes at once by this choice, because it cannot get them later.
    after_pause: Mutex<Option<Arc<Watch>>>,
    /// For each hidden class that was instrumented, the hash of its loader and bytes.
    given: Mutex<HashSet<u64>>,
    hasher: RandomState,
    /// Names of classes that were not instrumented, by the reason why.
    not_instrumented: Mutex<BTreeMap<&'static str, Names>>,
}

/// Progress of binding the native method that defines hidden classes to its replacement.
enum Binding {
    /// The native method is not known yet, because JNI cannot be used yet. Holds the native methods that were bound so
    /// far.
    Unknown(Vec<(MethodKey, Function)>),
    /// The native method is known, and is not bound yet.
    Awaited(Definer, MethodKey),
    /// The native method was bound to the original function before the method was known. It is to be bound again.
    BoundEarly(Definer),
    /// The native method is bound to the replacement, or the agent has given up.
    Done,
}

impl Default for Binding {
    fn default() -> Self {
        Binding::Unknown(Vec::new())
    }
}

/// Names of classes for a note.
#[derive(Default)]
struct Names {
    named: BTreeSet<String>,
    /// Number of classes that are not in `named`. Classes of one name may be counted several times.
    others: u64,
}

impl Names {
    /// Adds the name of a class that was just seen.
    fn add(&mut self, name: String) {
        if self.named.len() < MOST_NAMED || self.named.contains(&name) {
            self.named.insert(name);
        } else {
            self.others += 1;
        }
    }

    /// Adds the names of all classes that are loaded at this moment. Earlier calls may have added the same classes, so
    /// the number of further classes is replaced, not summed.
    fn add_loaded(&mut self, names: BTreeSet<String>) {
        let before = std::mem::take(&mut self.others);
        for name in names {
            self.add(name);
        }
        self.others = self.others.max(before);
    }

    fn note(&self, reason: &str) -> String {
        let mut list: Vec<&str> = self.named.iter().map(String::as_str).collect();
        let more = format!("{} more", self.others);
        if self.others > 0 {
            list.push(&more);
        }
        format!(
            "hidden classes of these names ran and are not counted, since {reason}: {}",
            list.join(", ")
        )
    }
}

const TOO_EARLY: &str = "they were defined before the agent could act";
const TOO_MANY: &str = "10,000 other hidden classes were instrumented before";
const NO_ROOM: &str = "the heap was nearly full";
const NOT_SHOWN: &str = "this JVM reports them to no agent";
const ATTACHED: &str =
    "the JVM does not report them to an attached agent; loadhook run counts them";

impl HiddenClasses {
    /// Returns whether hidden classes are instrumented.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Acquire)
    }

    /// Notes that a native method is being bound to a function. If the method defines hidden classes, and its
    /// replacement is to be bound instead, returns the definer for which the replacement is made.
    pub(crate) fn native_bound(&self, method: MethodKey, function: Function) -> Option<Definer> {
        let mut binding = lock(&self.binding);
        match &mut *binding {
            Binding::Unknown(bound) if bound.len() < MOST_BOUND => {
                bound.push((method, function));
                None
            }
            // The list is full, so the method that defines hidden classes could be missing in it. A note says so.
            Binding::Unknown(_) => {
                *binding = Binding::Done;
                None
            }
            Binding::Awaited(definer, awaited) if *awaited == method => Some(*definer),
            _ => None,
        }
    }

    /// Ends the search for the native method, because the replacement is bound. Another agent may still bind the native
    /// method later.
    pub(crate) fn replacement_bound(&self, jvmti: Jvmti) {
        *lock(&self.binding) = Binding::Done;
        let _ = jvmti.notify(event::NATIVE_METHOD_BIND, false);
    }

    /// Finds the native method of this JDK that defines hidden classes, at `VMInit`. If the method is bound already,
    /// calls `bind_definer`, which must make code of the boot loader call [`bind_again`](Self::bind_again).
    pub(crate) fn begin(&self, jvmti: Jvmti, jni: Jni<'_>, bind_definer: impl FnOnce()) {
        let candidates = [Definer::ClassLoader, Definer::Unsafe];
        let found = candidates
            .into_iter()
            .find_map(|definer| Some((definer, definers::method(jni, definer)?)));
        let is_early = {
            let mut binding = lock(&self.binding);
            let next = match (&*binding, found) {
                (Binding::Unknown(bound), Some((definer, method))) => {
                    // If the method was bound several times, the last one counts.
                    match bound.iter().rfind(|(bound, _)| *bound == method) {
                        Some((_, function)) => {
                            definers::keep(definer, *function);
                            Binding::BoundEarly(definer)
                        }
                        None => Binding::Awaited(definer, method),
                    }
                }
                _ => Binding::Done,
            };
            let is_early = matches!(next, Binding::BoundEarly(_));
            self.is_active
                .store(!matches!(next, Binding::Done), Ordering::Release);
            *binding = next;
            is_early
        };
        if is_early {
            bind_definer();
            if matches!(*lock(&self.binding), Binding::BoundEarly(_)) {
                self.is_active.store(false, Ordering::Release);
            }
            self.replacement_bound(jvmti);
        }
    }

    /// Binds the native method to its replacement. The tracker calls this.
    pub(crate) fn bind_again(&self, jni: Jni<'_>) {
        let Binding::BoundEarly(definer) = *lock(&self.binding) else {
            return;
        };
        if definers::bind(jni, definer).is_ok() {
            *lock(&self.binding) = Binding::Done;
        }
    }

    /// Gives up instrumenting hidden classes.
    pub(crate) fn give_up(&self) {
        *lock(&self.binding) = Binding::Done;
    }

    /// Gives up instrumenting hidden classes, because the agent is attached: the native method that defines them was
    /// bound long ago.
    pub(crate) fn give_up_attached(&self) {
        self.is_attached.store(true, Ordering::Relaxed);
        self.give_up();
    }

    /// Returns whether the agent was attached to a running program.
    pub(crate) fn is_attached(&self) -> bool {
        self.is_attached.load(Ordering::Relaxed)
    }

    /// Begins a pause, or changes the choice of methods for the time after the pause.
    pub(crate) fn pause(&self, instrumentation: &Instrumentation, filter: Filter) {
        let watch = Watch::new(filter, Traced::none(), instrumentation.hook.options());
        *lock(&self.after_pause) = Some(Arc::new(watch));
    }

    /// Ends a pause.
    pub(crate) fn resume(&self) {
        *lock(&self.after_pause) = None;
    }

    /// Returns the choice of methods for hidden classes that are defined now.
    fn watch(&self, instrumentation: &Instrumentation) -> Arc<Watch> {
        let after_pause = lock(&self.after_pause).clone();
        after_pause.unwrap_or_else(|| instrumentation.hook.watch())
    }

    fn reason_if_attached(&self) -> Option<&'static str> {
        self.is_attached().then_some(ATTACHED)
    }

    fn note_not_instrumented(&self, reason: &'static str, name: &[u8]) {
        let mut not_instrumented = lock(&self.not_instrumented);
        let names = not_instrumented.entry(reason).or_default();
        names.add(java_name(name));
    }

    /// Notes a hidden class that was loaded before the agent could act, if the class would have been instrumented.
    /// `name` is the class's name without the address. A class whose definition the agent has seen is left out, because
    /// it has probes.
    pub(crate) fn note_early(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        class: Local<'_>,
        name: &[u8],
    ) {
        let reason = self.reason_if_attached().unwrap_or(TOO_EARLY);
        let registry = &instrumentation.hook.registry;
        let is_new = |origin: Origin| registry.known(origin.loader.number, name).is_none();
        if class_origin(instrumentation, jni, class, name).is_some_and(is_new) {
            self.note_not_instrumented(reason, name);
        }
    }

    /// Returns whether a hidden class may be instrumented, within the limit of different classes.
    fn is_within_limit(&self, origin: Origin, bytes: &[u8]) -> bool {
        let hash = self.hasher.hash_one((origin.loader, bytes));
        let mut given = lock(&self.given);
        given.contains(&hash) || given.len() < MOST_DIFFERENT && given.insert(hash)
    }

    /// Instruments a hidden class that is about to be defined. Returns a new `byte[]` and its length, or `None` if the
    /// class stays as it is.
    pub(crate) fn instrument<'f>(
        &self,
        instrumentation: &Instrumentation,
        reserve: Option<&HeapReserve>,
        jni: Jni<'f>,
        loader: Local<'_>,
        bytes: &[u8],
    ) -> Option<(Local<'f>, i32)> {
        // A malformed class stays as it is, so that the JVM refuses it with its own error.
        let class = ClassFile::parse(bytes).ok()?;
        let watch = self.watch(instrumentation);
        let origin = wanted_origin(instrumentation, &watch, jni, loader, class.name())?;
        if !self.is_within_limit(origin, bytes) {
            self.note_not_instrumented(TOO_MANY, class.name());
            return None;
        }
        let hook = &instrumentation.hook;
        let instrumented = hook.instrument_hidden(&watch, origin, bytes)?;
        let has_room =
            reserve.is_some_and(|reserve| reserve.has_room_for_array(jni, instrumented.len()));
        IS_ALLOCATING.set(true);
        let array = has_room.then(|| jni.new_byte_array(&instrumented).ok());
        IS_ALLOCATING.set(false);
        let array = array.flatten();
        if array.is_none() {
            self.note_not_instrumented(NO_ROOM, class.name());
        }
        array
    }

    /// Returns notes for the profile about hidden classes that were not instrumented, one note for each reason.
    pub(crate) fn notes(&self, instrumentation: &Instrumentation, jni: Jni<'_>) -> Vec<String> {
        let is_missed = instrumentation.hook.options().rewrites() && !self.is_active();
        if is_missed && let Some(names) = loaded_names(instrumentation, jni) {
            let mut not_instrumented = lock(&self.not_instrumented);
            if !names.is_empty() {
                not_instrumented
                    .entry(self.reason_if_attached().unwrap_or(NOT_SHOWN))
                    .or_default()
                    .add_loaded(names);
            }
        }
        let not_instrumented = lock(&self.not_instrumented);
        let notes = not_instrumented
            .iter()
            .map(|(reason, names)| names.note(reason));
        notes.collect()
    }
}

/// Returns the names of loaded hidden classes that would have been instrumented; `None` without memory for the list.
fn loaded_names(instrumentation: &Instrumentation, jni: Jni<'_>) -> Option<BTreeSet<String>> {
    let jvmti = instrumentation.jvmti;
    jni.framed(|jni| {
        jni.ensure_local_capacity();
        let mut names = BTreeSet::new();
        for class in jvmti.loaded_classes(jni).unwrap_or_default() {
            let signature = jvmti.class_signature(class).unwrap_or_default();
            let name = signature.strip_prefix(b"L");
            let plain = name.and_then(|name| plain_name(name.strip_suffix(b";")?));
            if let Some(plain) = plain
                && class_origin(instrumentation, jni, class, plain).is_some()
            {
                names.insert(java_name(plain));
            }
        }
        names
    })
}

/// Returns the origin of a loaded hidden class; `None` if the class is not to be instrumented. `name` is the class's
/// name without the address.
fn class_origin(
    instrumentation: &Instrumentation,
    jni: Jni<'_>,
    class: Local<'_>,
    name: &[u8],
) -> Option<Origin> {
    let loader = instrumentation.jvmti.class_loader(jni, class).ok()?;
    let watch = instrumentation.hook.watch();
    wanted_origin(instrumentation, &watch, jni, loader, name)
}

/// Returns the origin of a hidden class; `None` if the class is not to be instrumented.
fn wanted_origin(
    instrumentation: &Instrumentation,
    watch: &Watch,
    jni: Jni<'_>,
    loader: Local<'_>,
    name: &[u8],
) -> Option<Origin> {
    if !watch.filter.class_name(name) {
        return None;
    }
    let origin = instrumentation.origin(jni, loader, name);
    let is_wanted = watch.watches(origin) && is_of_program(&watch.filter, origin, name);
    is_wanted.then_some(origin)
}

/// Returns whether a hidden class belongs to the program. A class that the JDK generates, for example for a lambda,
/// does not, unless a pattern names it.
fn is_of_program(filter: &Filter, origin: Origin, name: &[u8]) -> bool {
    let simple = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let simple = String::from_utf8_lossy(simple);
    let mark = GENERATED_BY_JDK
        .into_iter()
        .find(|mark| simple.contains(mark));
    // `LambdaForm$MH` and similar names are recognised by the part before the `$`.
    let mark = mark.or_else(|| origin.is_jdk.then(|| simple.split('$').next())?);
    mark.is_none_or(|mark| filter.has_word(name, mark))
}

#[cfg(test)]
mod tests {
    use super::super::loaders::Loader;
    use super::*;

    #[test]
    fn classes_generated_by_the_jdk_are_not_of_the_program() {
        let is_of_program = |patterns: &str, is_jdk, name: &str| {
            let mut filter = Filter::new();
            if !patterns.is_empty() {
                filter.include(patterns).expect("the patterns are valid");
            }
            let origin = Origin {
                loader: Loader { number: 2, kind: 2 },
                is_jdk,
            };
            is_of_program(&filter, origin, name.as_bytes())
        };
        for name in [
            "a/B$$Lambda$14",
            "a/B$$Lambda",
            "InjectedInvoker",
            "a/B$$InjectedInvoker",
            "a/B$$TypeSwitch",
            "jdk/MHProxy1/Runnable$MHProxy",
        ] {
            for (patterns, expected) in [("", false), ("**", false), ("a.B*", false)] {
                assert_eq!(
                    is_of_program(patterns, false, name),
                    expected,
                    "{patterns} {name}"
                );
            }
        }
        assert!(is_of_program("**$$Lambda*", false, "a/B$$Lambda"));
        assert!(!is_of_program("c.**$$Lambda*", false, "a/B$$Lambda"));
        let form = "java/lang/invoke/LambdaForm$MH";
        assert!(!is_of_program("**", true, form));
        assert!(!is_of_program("java.lang.invoke.**", true, form));
        assert!(is_of_program("java.lang.invoke.LambdaForm**", true, form));
        assert!(is_of_program("", false, "a/Script"));
        assert!(is_of_program("**", false, "a/Script$1"));
    }

    #[test]
    fn the_native_is_awaited_once_it_is_known() {
        let hidden = HiddenClasses::default();
        let [first, other] = [1, 2].map(MethodKey::unknown);
        let function = Function::unknown(7);
        assert_eq!(hidden.native_bound(first, function), None);
        let is_kept = match &*lock(&hidden.binding) {
            Binding::Unknown(bound) => bound[..] == [(first, function)],
            _ => false,
        };
        assert!(
            is_kept,
            "the method is remembered until the right one is known"
        );
        *lock(&hidden.binding) = Binding::Awaited(Definer::ClassLoader, first);
        assert_eq!(hidden.native_bound(other, function), None);
        let definer = hidden.native_bound(first, function);
        assert_eq!(definer, Some(Definer::ClassLoader));
        *lock(&hidden.binding) = Binding::Done;
        assert_eq!(
            hidden.native_bound(first, function),
            None,
            "another agent may bind the method later"
        );
    }

    #[test]
    fn notes_are_short() {
        let mut names = Names::default();
        for number in 0..MOST_NAMED + 3 {
            names.add(format!("a.B{number:02}"));
            names.add("a.B00".to_owned());
        }
        let note = names.note(TOO_EARLY);
        assert!(note.starts_with("hidden classes of these names ran and are not counted, since "));
        assert!(
            note.contains("act: a.B00, a.B01, ") && note.ends_with(", a.B19, 3 more"),
            "{note}"
        );
    }

    #[test]
    fn loaded_classes_are_not_counted_again_at_each_snapshot() {
        let loaded = |count: usize| (0..count).map(|number| format!("a.B{number:02}")).collect();
        let mut names = Names::default();
        for (count, others) in [(10, 0), (25, 5), (25, 5), (30, 10), (3, 10)] {
            names.add_loaded(loaded(count));
            assert_eq!(names.others, others, "{count}");
        }
        assert_eq!(names.named.len(), MOST_NAMED);
    }
}
