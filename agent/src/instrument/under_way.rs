//! Remembers the classes that the hook has got, and that the JVM may not list yet.
//!
//! The JVM lists a class from its definition on. Between the call of the hook and the definition, the JVM loads the
//! superclass, and the Java code of a class loader may take any time for this. So code that changes loaded classes must
//! wait for these classes.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use loadhook_rewrite::ClassFile;

use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::locks::lock;

/// The longest wait for a class. The JVM may never list the class: its definition can fail, or it can be unloaded
/// first.
const LONGEST: Duration = Duration::from_secs(1);

/// The maximum number of classes that are remembered.
const MOST: usize = 1 << 14;

/// The identity hash code of a class loader; 0 for the boot loader. Rarely, two loaders have the same hash code. Then
/// the wait for a class may be too short.
///
/// A [`Loader`](super::loaders::Loader) is not used here, because the agent would then keep data about each loader,
/// even if none of its classes has probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoaderHash(i32);

impl LoaderHash {
    pub(crate) fn of(jvmti: Jvmti, loader: Local<'_>) -> Self {
        // JVM TI has no hash code of null.
        let is_boot = loader.is_null();
        LoaderHash(if is_boot { 0 } else { jvmti.hash_code(loader) })
    }
}

/// A class that the hook has got.
#[derive(Debug)]
struct Given {
    at: Instant,
    loader: LoaderHash,
    /// The internal name.
    name: Box<[u8]>,
}

/// Returns whether a class that the hook got at the time `at` is still awaited.
fn is_awaited(at: Instant) -> bool {
    at.elapsed() < LONGEST
}

/// The classes that the hook has got lately, the oldest first.
#[derive(Default)]
pub(crate) struct UnderWay(Mutex<VecDeque<Given>>);

impl UnderWay {
    /// Notes a class that is being loaded. Must be called before the hook reads the choice of methods: then a class
    /// that is noted after a change of the choice gets its probes by the new choice. `name` is the internal name of the
    /// class, or empty if the program has given the JVM no name.
    pub(crate) fn note(&self, loader: LoaderHash, name: &[u8], bytes: &[u8]) {
        let name: Box<[u8]> = if name.is_empty() {
            // A malformed class is not noted, because the JVM refuses it.
            let Ok(class) = ClassFile::parse(bytes) else {
                return;
            };
            class.name().into()
        } else {
            name.into()
        };
        let mut given = lock(&self.0);
        while given.len() >= MOST || given.front().is_some_and(|first| !is_awaited(first.at)) {
            given.pop_front();
        }
        given.push_back(Given {
            at: Instant::now(),
            loader,
            name,
        });
    }

    /// Returns the classes that must be awaited from now on.
    pub(super) fn awaited(&self) -> Awaited {
        let mut awaited = Awaited::default();
        for given in lock(&self.0).iter().filter(|given| is_awaited(given.at)) {
            let of_name = awaited.0.entry(given.name.clone()).or_default();
            of_name.push((given.at, given.loader));
        }
        awaited
    }
}

/// Classes that the JVM has not listed since the hook got them. For each internal name, pairs of the time of the hook
/// call and the loader.
#[derive(Default)]
pub(super) struct Awaited(HashMap<Box<[u8]>, Vec<(Instant, LoaderHash)>>);

impl Awaited {
    /// Notes that the JVM has listed a class of this internal name. `loader` returns the class's loader. It is called
    /// only if the class may be awaited.
    pub(super) fn note_listed(&mut self, name: &[u8], loader: impl FnOnce() -> Option<LoaderHash>) {
        let Some(of_name) = self.0.get_mut(name) else {
            return;
        };
        if let Some(loader) = loader() {
            of_name.retain(|(_, awaited)| *awaited != loader);
        }
        if of_name.is_empty() {
            self.0.remove(name);
        }
    }

    /// Returns whether any class is still awaited.
    pub(super) fn has_any(&mut self) -> bool {
        self.0.retain(|_, of_name| {
            of_name.retain(|(at, _)| is_awaited(*at));
            !of_name.is_empty()
        });
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_awaited_until_its_loader_has_it() {
        let under_way = UnderWay::default();
        under_way.note(LoaderHash(3), b"a/B", b"");
        under_way.note(LoaderHash(5), b"a/B", b"");
        let mut awaited = under_way.awaited();
        awaited.note_listed(b"a/C", || panic!("the name differs"));
        awaited.note_listed(b"a/B", || Some(LoaderHash(4)));
        awaited.note_listed(b"a/B", || Some(LoaderHash(5)));
        assert!(awaited.has_any());
        awaited.note_listed(b"a/B", || Some(LoaderHash(3)));
        assert!(!awaited.has_any());
    }

    #[test]
    fn a_class_without_a_name_is_found_by_its_own() {
        let under_way = UnderWay::default();
        let bytes = include_bytes!("../../../rewrite/doc/Greeter.class");
        under_way.note(LoaderHash(3), b"", bytes);
        under_way.note(LoaderHash(3), b"", b"no class");
        let mut awaited = under_way.awaited();
        awaited.note_listed(b"Greeter", || Some(LoaderHash(3)));
        assert!(!awaited.has_any());
    }

    #[test]
    fn a_class_that_never_comes_is_given_up() {
        let at = Instant::now().checked_sub(LONGEST).expect("a past moment");
        let name: Box<[u8]> = b"a/B"[..].into();
        let loader = LoaderHash(3);
        let mut awaited = Awaited(HashMap::from([(name.clone(), vec![(at, loader)])]));
        assert!(!awaited.has_any());
        let under_way = UnderWay::default();
        lock(&under_way.0).push_back(Given { at, loader, name });
        assert!(!under_way.awaited().has_any());
        for _ in 0..MOST + 5 {
            under_way.note(loader, b"a/C", b"");
        }
        assert_eq!(lock(&under_way.0).len(), MOST);
    }
}
