//! Classes that were given to the hook, which may have given them probes, and that the JVM may not list yet.
//!
//! The JVM lists a class when it is defined. Between the hook and that moment it loads the superclass, for which Java
//! code of a class loader may take any time. So whoever changes all classes with probes must wait for these classes.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use loadhook_rewrite::ClassFile;

use super::loaders::Loader;
use crate::locks::lock;

/// The time for which a class is waited for. A class may never come, because its definition can fail, or because it was
/// unloaded before the JVM listed it.
const LONGEST: Duration = Duration::from_secs(1);

/// The maximum number of classes that are remembered.
const MOST: usize = 1 << 14;

/// A class that was given to the hook.
#[derive(Clone, Debug)]
struct Given {
    at: Instant,
    loader: Loader,
    /// The internal name.
    name: Box<[u8]>,
}

impl Given {
    fn is_awaited(&self) -> bool {
        self.at.elapsed() < LONGEST
    }
}

/// The classes that were given to the hook lately, the oldest first.
#[derive(Default)]
pub(crate) struct UnderWay(Mutex<VecDeque<Given>>);

impl UnderWay {
    /// Notes a class that is being loaded, before the hook reads the choice of methods. So a class that is noted after
    /// the choice was replaced gets its probes by the new choice. `name` is its internal name, or empty if the program
    /// has not told the JVM a name.
    pub(crate) fn note(&self, loader: Loader, name: &[u8], bytes: &[u8]) {
        let name: Box<[u8]> = if name.is_empty() {
            // The JVM refuses a malformed class.
            let Ok(class) = ClassFile::parse(bytes) else {
                return;
            };
            class.name().into()
        } else {
            name.into()
        };
        let mut given = lock(&self.0);
        while given.len() >= MOST || given.front().is_some_and(|first| !first.is_awaited()) {
            given.pop_front();
        }
        given.push_back(Given {
            at: Instant::now(),
            loader,
            name,
        });
    }

    /// The classes that are waited for from now on.
    pub(super) fn awaited(&self) -> Awaited {
        Awaited(lock(&self.0).iter().cloned().collect())
    }
}

/// Classes that the JVM has not listed since they were given to the hook.
pub(super) struct Awaited(Vec<Given>);

impl Awaited {
    /// Notes that the JVM has listed a class of this internal name. `loader` returns its loader, and is called only if
    /// the class may be an awaited one.
    pub(super) fn note_listed(&mut self, name: &[u8], loader: impl FnOnce() -> Option<Loader>) {
        if self.0.iter().any(|given| *given.name == *name)
            && let Some(loader) = loader()
        {
            self.0
                .retain(|given| given.loader != loader || *given.name != *name);
        }
    }

    /// Returns whether any class is still waited for.
    pub(super) fn has_any(&mut self) -> bool {
        self.0.retain(Given::is_awaited);
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loader(number: u32) -> Loader {
        Loader { number, kind: 3 }
    }

    #[test]
    fn a_class_is_awaited_until_its_loader_has_it() {
        let under_way = UnderWay::default();
        under_way.note(loader(3), b"a/B", b"");
        let mut awaited = under_way.awaited();
        awaited.note_listed(b"a/C", || panic!("the name differs"));
        awaited.note_listed(b"a/B", || Some(loader(4)));
        assert!(awaited.has_any());
        awaited.note_listed(b"a/B", || Some(loader(3)));
        assert!(!awaited.has_any());
    }

    #[test]
    fn a_class_without_a_name_is_found_by_its_own() {
        let under_way = UnderWay::default();
        let bytes = include_bytes!("../../../rewrite/doc/Greeter.class");
        under_way.note(loader(3), b"", bytes);
        under_way.note(loader(3), b"", b"no class");
        let mut awaited = under_way.awaited();
        awaited.note_listed(b"Greeter", || Some(loader(3)));
        assert!(!awaited.has_any());
    }

    #[test]
    fn a_class_that_never_comes_is_given_up() {
        let under_way = UnderWay::default();
        let at = Instant::now().checked_sub(LONGEST).expect("a past moment");
        let name = b"a/B"[..].into();
        let loader = loader(3);
        lock(&under_way.0).push_back(Given { at, loader, name });
        assert!(!under_way.awaited().has_any());
        for _ in 0..MOST + 5 {
            under_way.note(loader, b"a/C", b"");
        }
        assert_eq!(under_way.awaited().0.len(), MOST);
    }
}
