//! Hidden classes: `Lookup.defineHiddenClass`, and up to JDK 14 what
//! `Unsafe.defineAnonymousClass` makes.
//!
//! A copy has the ids of the class that the same loader has under the name in
//! its bytes: one row, as where the class was rewritten on disk, and no more
//! memory the more copies there are. The VM does not retransform hidden classes,
//! so one that was defined before the agent could act stays as it was; a note
//! names it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::symbol::java_name;
use loadhook_settings::Filter;

use crate::agent::{Agent, Tracker};
use crate::instrument::hook::Origin;
use crate::jvm::class_definers::{self as natives, Function};
use crate::jvm::jni::{Jni, Reference};
use crate::jvm::jvmti::{Jvmti, MethodKey};
use crate::jvm::sys::event;

/// The natives that define hidden classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Definer {
    ClassLoader,
    Unsafe,
}

/// Hidden classes of different code that are instrumented: each has ids for
/// good, and programs that generate code may make them without end.
const MOST_DIFFERENT: usize = 10_000;

/// Names in a note.
const MOST_NAMED: usize = 20;

/// Natives that are bound before we know which one we look for: some 200.
const MOST_BOUND: usize = 10_000;

/// Parts of the names of the classes that the JDK spins in the program's own
/// packages: for lambdas, callers of caller-sensitive methods,
/// `switch` over patterns, and interfaces made of method handles.
const SPUN: [&str; 4] = ["$$Lambda", "InjectedInvoker", "$$TypeSwitch", "MHProxy"];

thread_local! {
    /// True while this thread allocates an array for instrumented bytes, which is
    /// no allocation of the program.
    static ALLOCATES: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread allocates for the agent, not for the program.
pub(crate) fn allocates() -> bool {
    ALLOCATES.get()
}

/// The way to the program's hidden classes, and those that are not counted.
#[derive(Default)]
pub(crate) struct Hidden {
    binding: Mutex<Binding>,
    is_active: AtomicBool,
    /// Hashes of loader and bytes of those that went through the hook.
    seen: Mutex<HashSet<u64>>,
    hasher: RandomState,
    /// Names of those that are not counted, by the reason.
    unseen: Mutex<BTreeMap<&'static str, Names>>,
}

/// How far the search for the native is.
enum Binding {
    /// The natives bound so far: which is ours cannot be asked yet.
    Unknown(Vec<(MethodKey, Function)>),
    /// It is not bound yet.
    Awaited(Definer, MethodKey),
    /// It is bound, and is to be bound again.
    Early(Definer),
    Over,
}

impl Default for Binding {
    fn default() -> Self {
        Binding::Unknown(Vec::new())
    }
}

#[derive(Default)]
struct Names {
    named: BTreeSet<String>,
    /// How many more were met, the same perhaps.
    others: u64,
}

impl Names {
    fn add(&mut self, name: String) {
        if self.named.len() < MOST_NAMED || self.named.contains(&name) {
            self.named.insert(name);
        } else {
            self.others += 1;
        }
    }
}

const TOO_EARLY: &str = "they were defined before the agent could act";
const TOO_MANY: &str = "10,000 different ones came before";
const NO_ROOM: &str = "the heap was nearly full";
const NO_WAY: &str = "this JVM shows them to no agent";

impl Hidden {
    fn lock(&self) -> MutexGuard<'_, Binding> {
        // Each change is one assignment or push.
        self.binding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether hidden classes go through the hook.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Acquire)
    }

    /// A native is bound: says which one it is if ours is to take its place.
    pub(crate) fn bound(&self, method: MethodKey, function: Function) -> Option<Definer> {
        let mut binding = self.lock();
        match &mut *binding {
            Binding::Unknown(bound) if bound.len() < MOST_BOUND => {
                bound.push((method, function));
                None
            }
            // The one that we look for may be among those not kept: a note says so.
            Binding::Unknown(_) => {
                *binding = Binding::Over;
                None
            }
            Binding::Awaited(definer, awaited) if *awaited == method => Some(*definer),
            _ => None,
        }
    }

    /// Ours is in its place. A native that another agent binds later is that
    /// one's.
    pub(crate) fn is_bound(&self, jvmti: Jvmti) {
        *self.lock() = Binding::Over;
        let _ = jvmti.notify(event::NATIVE_METHOD_BIND, false);
    }

    /// `VMInit`: finds the native that this JDK has.
    pub(crate) fn begin(&self, jvmti: Jvmti, jni: Jni<'_>, tracker: &Tracker) {
        let definers = [Definer::ClassLoader, Definer::Unsafe];
        let found = definers
            .into_iter()
            .find_map(|definer| Some((definer, natives::method(jni, definer)?)));
        let is_early = {
            let mut binding = self.lock();
            let next = match (&*binding, found) {
                (Binding::Unknown(bound), Some((definer, method))) => {
                    // The last one holds.
                    match bound.iter().rfind(|(bound, _)| *bound == method) {
                        Some((_, function)) => {
                            natives::keep(definer, *function);
                            Binding::Early(definer)
                        }
                        None => Binding::Awaited(definer, method),
                    }
                }
                _ => Binding::Over,
            };
            let is_early = matches!(next, Binding::Early(_));
            self.is_active
                .store(!matches!(next, Binding::Over), Ordering::Release);
            *binding = next;
            is_early
        };
        if is_early {
            tracker.bind(jni);
            if matches!(*self.lock(), Binding::Early(_)) {
                self.is_active.store(false, Ordering::Release);
            }
            self.is_bound(jvmti);
        }
    }

    /// Binds the native again, called by the tracker.
    pub(crate) fn bind(&self, jni: Jni<'_>) {
        let Binding::Early(definer) = *self.lock() else {
            return;
        };
        if natives::bind(jni, definer).is_ok() {
            *self.lock() = Binding::Over;
        }
    }

    fn unseen(&self, why: &'static str, name: &[u8]) {
        let mut unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
        unseen.entry(why).or_default().add(java_name(name));
    }

    /// Whether a hidden class is one of so many that they can be counted.
    fn is_in_limit(&self, origin: Origin, bytes: &[u8]) -> bool {
        let hash = self.hasher.hash_one((origin.loader, bytes));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.contains(&hash) || seen.len() < MOST_DIFFERENT && seen.insert(hash)
    }

    /// A hidden class was loaded before the agent could act.
    pub(crate) fn was_early(&self, agent: &Agent, jni: Jni<'_>, class: Reference, name: &[u8]) {
        if is_loaded_and_wanted(agent, jni, class, name) {
            self.unseen(TOO_EARLY, name);
        }
    }

    /// There is no way to the native.
    pub(crate) fn give_up(&self) {
        *self.lock() = Binding::Over;
    }

    /// What a profile says of hidden classes that were not counted.
    pub(crate) fn notes(&self, agent: &Agent, jni: Jni<'_>) -> Vec<String> {
        if agent.hook.options().rewrites() && !self.is_active() {
            let _ = jni.framed(|| {
                jni.ensure_local_capacity();
                for class in agent.jvmti.loaded_classes().unwrap_or_default() {
                    let signature = agent.jvmti.class_signature(class).unwrap_or_default();
                    let name = signature.strip_prefix(b"L");
                    let name = name.and_then(|name| plain_name(name.strip_suffix(b";")?));
                    if let Some(name) = name
                        && is_loaded_and_wanted(agent, jni, class, name)
                    {
                        self.unseen(NO_WAY, name);
                    }
                }
            });
        }
        let unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
        unseen.iter().map(|(why, names)| note(why, names)).collect()
    }
}

fn note(why: &str, Names { named, others }: &Names) -> String {
    let mut list: Vec<&str> = named.iter().map(String::as_str).collect();
    let more = format!("{others} more");
    if *others > 0 {
        list.push(&more);
    }
    format!(
        "hidden classes of these names ran and are not counted, since {why}: {}",
        list.join(", ")
    )
}

/// Whether a hidden class, called `name` without its address, would have been
/// instrumented.
fn is_loaded_and_wanted(agent: &Agent, jni: Jni<'_>, class: Reference, name: &[u8]) -> bool {
    let loader = agent.jvmti.class_loader(class);
    loader.is_ok_and(|loader| wanted(agent, jni, loader, name).is_some())
}

/// Where a hidden class comes from, if it may be instrumented.
fn wanted(agent: &Agent, jni: Jni<'_>, loader: Reference, name: &[u8]) -> Option<Origin> {
    let filter = &agent.hook.options().filter;
    if !filter.class_name(name) {
        return None;
    }
    let origin = agent.loaders.origin(agent.jvmti, jni, loader, name);
    (agent.hook.wants(origin) && is_programs(filter, origin, name)).then_some(origin)
}

/// Whether a hidden class is the program's own, or one that the JDK spins and a
/// pattern names. The JDK's are as many as there are lambdas, and what is in
/// them is no code of anybody's.
fn is_programs(filter: &Filter, origin: Origin, name: &[u8]) -> bool {
    let simple = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let simple = String::from_utf8_lossy(simple);
    let spun = SPUN.into_iter().find(|mark| simple.contains(mark));
    // `LambdaForm$MH` and its like: by what is before the `$`.
    let spun = spun.or_else(|| origin.is_jdk.then(|| simple.split('$').next())?);
    spun.is_none_or(|mark| filter.has_word(name, mark))
}

/// The name in the bytes of a hidden class, from the VM's internal name; `None`
/// of another class. The VM's has an address behind a dot, with JDK 11 an
/// address or a number behind a slash: another one in every run.
pub(crate) fn plain_name(name: &[u8]) -> Option<&[u8]> {
    let separator = name.iter().rposition(|byte| matches!(byte, b'.' | b'/'));
    match separator.map(|at| name.split_at(at)) {
        Some((class, [_, b'0', b'x', ..])) => Some(class),
        Some((class, [b'/', first, rest @ ..]))
            if first.is_ascii_digit() && rest.iter().all(u8::is_ascii_digit) =>
        {
            Some(class)
        }
        _ => None,
    }
}

/// The internal name of any class, without an address.
pub(crate) fn without_address(name: &[u8]) -> &[u8] {
    plain_name(name).unwrap_or(name)
}

/// The class that a hidden one is to be made of, in a `byte[]`, and its length.
pub(crate) fn instrumented(
    agent: &Agent,
    jni: Jni<'_>,
    loader: Reference,
    bytes: &[u8],
) -> Option<(Reference, i32)> {
    // One that cannot be read is refused by the VM, in its own words.
    let class = ClassFile::parse(bytes).ok()?;
    let origin = wanted(agent, jni, loader, class.name())?;
    if !agent.hidden.is_in_limit(origin, bytes) {
        agent.hidden.unseen(TOO_MANY, class.name());
        return None;
    }
    let instrumented = agent
        .hook
        .instrument(origin, bytes, |len| Some(vec![0; len]))?;
    let has_room = agent
        .tracker
        .get()
        .is_some_and(|tracker| tracker.heap.has_room_for(jni, instrumented.len()));
    ALLOCATES.set(true);
    let array = has_room.then(|| jni.new_byte_array(&instrumented).ok());
    ALLOCATES.set(false);
    let array = array.flatten();
    if array.is_none() {
        agent.hidden.unseen(NO_ROOM, class.name());
    }
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_jdk_spins_is_nobodys() {
        let is_programs = |patterns: &str, is_jdk, name: &str| {
            let mut filter = Filter::new();
            if !patterns.is_empty() {
                filter.include(patterns).expect("patterns");
            }
            let origin = Origin {
                loader: crate::instrument::loaders::Loader { number: 2, kind: 2 },
                is_jdk,
            };
            is_programs(&filter, origin, name.as_bytes())
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
                    is_programs(patterns, false, name),
                    expected,
                    "{patterns} {name}"
                );
            }
        }
        assert!(is_programs("**$$Lambda*", false, "a/B$$Lambda"));
        assert!(!is_programs("c.**$$Lambda*", false, "a/B$$Lambda"));
        let form = "java/lang/invoke/LambdaForm$MH";
        assert!(!is_programs("**", true, form));
        assert!(!is_programs("java.lang.invoke.**", true, form));
        assert!(is_programs("java.lang.invoke.LambdaForm**", true, form));
        assert!(is_programs("", false, "a/Script"));
        assert!(is_programs("**", false, "a/Script$1"));
    }

    #[test]
    fn addresses_are_no_part_of_a_name() {
        for (name, plain) in [
            ("a/B.0x00007f00", "a/B"),
            ("a/B/0x00000001", "a/B"),
            ("a/B/2047526627", "a/B"),
            ("a/B", "a/B"),
            ("B", "B"),
            ("a/0xy/B", "a/0xy/B"),
        ] {
            assert_eq!(without_address(name.as_bytes()), plain.as_bytes());
        }
    }

    #[test]
    fn the_native_is_awaited_once_it_is_known() {
        let hidden = Hidden::default();
        let [first, other] = [1, 2].map(MethodKey::unknown);
        let function = Function::unknown(7);
        assert_eq!(hidden.bound(first, function), None);
        let is_kept = match &*hidden.lock() {
            Binding::Unknown(bound) => bound[..] == [(first, function)],
            _ => false,
        };
        assert!(is_kept, "it is not known yet which one is ours");
        *hidden.lock() = Binding::Awaited(Definer::ClassLoader, first);
        assert_eq!(hidden.bound(other, function), None);
        let definer = hidden.bound(first, function);
        assert_eq!(definer, Some(Definer::ClassLoader));
        *hidden.lock() = Binding::Over;
        assert_eq!(hidden.bound(first, function), None, "another agent's");
    }

    #[test]
    fn notes_are_short() {
        let mut names = Names::default();
        for number in 0..MOST_NAMED + 3 {
            names.add(format!("a.B{number:02}"));
            names.add("a.B00".to_owned());
        }
        let note = note(TOO_EARLY, &names);
        assert!(note.starts_with("hidden classes of these names ran and are not counted, since "));
        assert!(
            note.contains("act: a.B00, a.B01, ") && note.ends_with(", a.B19, 3 more"),
            "{note}"
        );
    }
}
