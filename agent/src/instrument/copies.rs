//! Decides which classes share the ids of their methods: copies of a class, and folded classes.
//!
//! A class is identified by its bytes and the kind of its loader. As long as its loader is alive, the class is also
//! identified by its name and methods, because other agents can change its bytes. A copy takes no memory once its
//! loader was collected.
//!
//! Generated classes such as `Script16` and `Script17` are no copies. But after many classes whose names differ only in
//! their numbers have been unloaded, further such classes are folded: they share the ids of one class, called
//! `Script#`. For generated classes whose names differ in other ways, there is a limit ([`MOST_ALONE`]).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::symbol::{java_name, text};
use loadhook_text::count;

use super::loader_kinds::MOST_GONE;
use super::loaders::Loader;
use super::numbered_names::without_numbers;

/// The maximum number of unloaded classes that share no ids. Their names take about 50 MB. After this number, new
/// classes of loaders that may be collected are not instrumented.
const MOST_ALONE: u32 = 1 << 15;

/// The maximum number of classes of one loader that are remembered as not instrumented. A class that is not remembered
/// is counted again each time it is loaded.
const MOST_REFUSED: usize = 1 << 10;

/// Two hashes with different keys. Classes share ids by mistake only if both hashes are equal by chance: once in 2^128.
pub(super) type WideHash = [u64; 2];

/// Makes the hashes by which classes are compared.
#[derive(Clone, Default)]
pub(crate) struct Hashers([RandomState; 2]);

/// Hashes that distinguish a class from others.
pub(crate) struct Identity {
    pub(super) bytes: WideHash,
    name: u64,
    /// Hash of the names and descriptors of the methods, in their order.
    methods: u64,
}

impl Hashers {
    fn wide(&self, write: impl Fn(&mut dyn Hasher)) -> WideHash {
        [0, 1].map(|at| {
            let mut hasher = self.0[at].build_hasher();
            write(&mut hasher);
            hasher.finish()
        })
    }

    pub(crate) fn identity(&self, class: &ClassFile<'_>) -> Identity {
        let mut methods = self.0[0].build_hasher();
        for method in class.methods() {
            method.name().hash(&mut methods);
            method.descriptor().hash(&mut methods);
        }
        Identity {
            bytes: self.wide(|hasher| hasher.write(class.bytes())),
            name: self.name(class.name()),
            methods: methods.finish(),
        }
    }

    pub(crate) fn name(&self, name: &[u8]) -> u64 {
        self.0[0].hash_one(name)
    }

    /// Returns the hash of the names of a class and of its methods, in which each number is replaced by `#`. Classes
    /// with equal hashes can be folded.
    pub(crate) fn pattern(&self, class: &ClassFile<'_>) -> WideHash {
        let mut names = vec![without_numbers(&java_name(class.name()))];
        for method in class.methods() {
            names.push(without_numbers(&text(method.name())));
            names.push(without_numbers(&text(method.descriptor())));
        }
        self.wide(|mut hasher| names.hash(&mut hasher))
    }
}

/// The ids that a class gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedIds {
    /// The class with this index was loaded again and keeps its ids.
    Known(usize),
    /// The class gets the ids of the class with this index: it is a copy of that class, or is folded into it.
    Copy(usize),
    /// New ids for this class.
    New,
    /// New ids for this class, which further classes of its pattern will share.
    Folded,
    /// No ids, because too many classes have been unloaded. The class is not instrumented.
    None,
}

/// A class with ids.
struct Class {
    /// The kind of the class's loader, and the class's pattern. `None` if the class was already counted as unloaded, if
    /// further classes are folded into it, or if it is never unloaded.
    pattern: Option<(u32, WideHash)>,
    /// The number of live loaders that have the class.
    alive: u32,
}

/// The classes of one pattern whose loaders are of one kind. `gone` is the number of these classes that were unloaded.
#[derive(Default)]
struct Pattern {
    gone: u32,
    /// Index of the class into which further classes of the pattern are folded.
    into: Option<usize>,
}

/// The classes of a loader that have ids, by the hash of the name. A pair has the hash of the methods, and the index of
/// the class.
type Named = HashMap<u64, Vec<(u64, usize)>>;

/// The classes seen so far.
#[derive(Default)]
pub(crate) struct Copies {
    by_bytes: HashMap<(u32, WideHash), usize>,
    by_loader: HashMap<u32, Named>,
    /// For each loader, its classes without ids. A pair has the hash of the name and the hash of the methods.
    refused: HashMap<u32, HashSet<(u64, u64)>>,
    /// All classes with ids; the maps above have indexes into this list.
    all: Vec<Class>,
    patterns: HashMap<(u32, WideHash), Pattern>,
    /// The number of unloaded classes that share no ids.
    alone: u32,
    /// Number of classes that were folded.
    folded: u64,
    /// The number of classes that were not instrumented at their first loading.
    not_instrumented: u64,
}

impl Copies {
    /// Adds a class and returns the ids that it gets. A class with new ids gets the index `next`. `pattern` returns the
    /// hash of the class's [pattern](Hashers::pattern). A class without ids may get ids when it is loaded again,
    /// because its pattern may be folded by then.
    pub(crate) fn add(
        &mut self,
        loader: Loader,
        identity: &Identity,
        next: usize,
        pattern: impl FnOnce() -> WideHash,
    ) -> SharedIds {
        let here = self.by_loader.get(&loader.number);
        let same_name = here.and_then(|named| named.get(&identity.name));
        let is_it = |(methods, _): &&(u64, usize)| *methods == identity.methods;
        if let Some((_, index)) = same_name.and_then(|classes| classes.iter().find(is_it)) {
            return SharedIds::Known(*index);
        }
        let key = (loader.kind, identity.bytes);
        let ids = match self.by_bytes.get(&key) {
            Some(index) => SharedIds::Copy(*index),
            None if loader.stays() => self.add_alone(key, None),
            None => self.add_unloadable(key, (loader.kind, pattern())),
        };
        let index = match ids {
            SharedIds::None => {
                self.count_refused(loader.number, identity);
                return ids;
            }
            SharedIds::Copy(index) | SharedIds::Known(index) => index,
            SharedIds::New | SharedIds::Folded => next,
        };
        if let Some(class) = self.all.get_mut(index) {
            class.alive += 1;
        }
        let named = self.by_loader.entry(loader.number).or_default();
        let same_name = named.entry(identity.name).or_default();
        same_name.push((identity.methods, index));
        ids
    }

    /// Counts a class that gets no ids, unless it was counted at an earlier loading.
    fn count_refused(&mut self, loader: u32, identity: &Identity) {
        let refused = self.refused.entry(loader).or_default();
        let class = (identity.name, identity.methods);
        let is_remembered = if refused.len() < MOST_REFUSED {
            !refused.insert(class)
        } else {
            refused.contains(&class)
        };
        self.not_instrumented += u64::from(!is_remembered);
    }

    /// Adds a class with new ids.
    fn add_alone(&mut self, key: (u32, WideHash), pattern: Option<(u32, WideHash)>) -> SharedIds {
        let index = self.all.len();
        self.all.push(Class { pattern, alive: 0 });
        self.by_bytes.insert(key, index);
        SharedIds::New
    }

    /// Adds a class whose loader may be collected.
    fn add_unloadable(&mut self, key: (u32, WideHash), pattern: (u32, WideHash)) -> SharedIds {
        let next = self.all.len();
        let of_pattern = self.patterns.get_mut(&pattern);
        if let Some(of_pattern) = of_pattern.filter(|known| known.gone >= MOST_GONE) {
            self.folded += 1;
            if let Some(index) = of_pattern.into {
                return SharedIds::Copy(index);
            }
            self.all.push(Class {
                pattern: None,
                alive: 0,
            });
            of_pattern.into = Some(next);
            return SharedIds::Folded;
        }
        if self.alone < MOST_ALONE {
            self.add_alone(key, Some(pattern))
        } else {
            SharedIds::None
        }
    }

    /// Returns the indexes of all classes with ids, each with a hash: of the class's bytes, or of the pattern if
    /// further classes are folded into the class.
    pub(super) fn by_hash(&self) -> impl Iterator<Item = (WideHash, usize)> {
        let folded = self
            .patterns
            .iter()
            .filter_map(|((_, hash), pattern)| Some((*hash, pattern.into?)));
        let by_bytes = self.by_bytes.iter();
        by_bytes
            .map(|((_, hash), index)| (*hash, *index))
            .chain(folded)
    }

    /// Returns the index of the last class of this name that a loader has loaded.
    pub(crate) fn latest(&self, loader: u32, name: u64) -> Option<usize> {
        let same_name = self.by_loader.get(&loader)?.get(&name)?;
        same_name.last().map(|(_, index)| *index)
    }

    /// Forgets the classes of a collected loader.
    pub(crate) fn forget(&mut self, loader: u32) {
        self.refused.remove(&loader);
        let classes = self.by_loader.remove(&loader).unwrap_or_default();
        for (_, index) in classes.into_values().flatten() {
            let Some(class) = self.all.get_mut(index) else {
                continue;
            };
            class.alive = class.alive.saturating_sub(1);
            // Each class is counted once.
            if class.alive == 0
                && let Some(pattern) = class.pattern.take()
            {
                self.patterns.entry(pattern).or_default().gone += 1;
                self.alone += 1;
            }
        }
    }

    /// Returns notes for the profile about folded classes and classes that are not instrumented.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.folded > 0 {
            notes.push(format!(
                "{} classes of loaders that come and go share rows with classes of similar names \
                 (# stands for the numbers in the names), because {MOST_GONE} such classes had been unloaded",
                count(self.folded)
            ));
        }
        if self.not_instrumented > 0 {
            notes.push(format!(
                "{} classes were not instrumented, because {} classes with names of their own had been \
                 unloaded before; exclude generated classes (--exclude) to have the others counted",
                count(self.not_instrumented),
                count(u64::from(MOST_ALONE))
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(number: u64) -> Identity {
        Identity {
            bytes: [number, 0],
            name: number,
            methods: 0,
        }
    }

    /// The limit is for unloaded classes that differ from each other in bytes and pattern. Classes
    /// of loaders that are never collected, such as the program's own, are not limited.
    #[test]
    fn classes_that_are_gone_have_a_limit() {
        let mut copies = Copies::default();
        let mut new = 0;
        for number in 0..2 * MOST_ALONE {
            let loader = Loader {
                number: 3 + number,
                kind: 3,
            };
            let pattern = || [u64::from(number), 0];
            match copies.add(loader, &identity(number.into()), new, pattern) {
                SharedIds::New => new += 1,
                ids => assert_eq!((ids, new), (SharedIds::None, MOST_ALONE as usize)),
            }
            copies.forget(loader.number);
        }
        assert!(copies.by_loader.is_empty());
        assert_eq!(copies.not_instrumented, u64::from(MOST_ALONE));
        let app = Loader { number: 2, kind: 2 };
        let own = identity(1 << 40);
        assert_eq!(copies.add(app, &own, new, || [0; 2]), SharedIds::New);
        assert_eq!(
            copies.add(app, &own, new + 1, || [0; 2]),
            SharedIds::Known(new)
        );
        assert_eq!(copies.notes().len(), 1);
    }

    #[test]
    fn a_class_that_is_not_instrumented_is_counted_once() {
        let mut copies = Copies {
            alone: MOST_ALONE,
            ..Copies::default()
        };
        let class = identity(1);
        for number in [3, 3, 4, 3] {
            let loader = Loader { number, kind: 3 };
            let ids = copies.add(loader, &class, 0, || [9, 0]);
            assert_eq!(ids, SharedIds::None, "{number}");
            assert_eq!(copies.latest(number, class.name), None);
        }
        assert_eq!(
            copies.not_instrumented, 2,
            "a class counts once for each loader"
        );
        copies.forget(3);
        copies.forget(4);
        assert!(copies.by_loader.is_empty() && copies.refused.is_empty());
    }

    /// Classes beyond the limit are not instrumented and take no memory, even if a loader generates classes without
    /// end.
    #[test]
    fn few_classes_that_are_not_instrumented_are_remembered() {
        let mut copies = Copies {
            alone: MOST_ALONE,
            ..Copies::default()
        };
        let loader = Loader { number: 3, kind: 3 };
        let more = 10;
        let classes = MOST_REFUSED as u64 + more;
        for round in 1..3 {
            for number in 0..classes {
                let ids = copies.add(loader, &identity(number), 0, || [number, 0]);
                assert_eq!(ids, SharedIds::None, "{number}");
            }
            let counted = MOST_REFUSED as u64 + round * more;
            assert_eq!(
                copies.not_instrumented, counted,
                "each round adds the classes beyond the limit"
            );
        }
        assert_eq!(copies.refused[&3].len(), MOST_REFUSED);
        assert!(copies.by_loader.is_empty() && copies.patterns.is_empty());
    }

    #[test]
    fn a_class_that_was_not_instrumented_is_tried_again() {
        let mut copies = Copies::default();
        let pattern = || [9, 0];
        // The loaders of these classes stay alive until the limit is reached.
        for number in 0..MOST_GONE {
            let loader = Loader {
                number: 10 + number,
                kind: 3,
            };
            let class = identity(100 + u64::from(number));
            let ids = copies.add(loader, &class, number as usize, pattern);
            assert_eq!(ids, SharedIds::New);
        }
        copies.alone = MOST_ALONE;
        let loader = Loader { number: 3, kind: 3 };
        let next = MOST_GONE as usize;
        let add = |copies: &mut Copies| copies.add(loader, &identity(1), next, pattern);
        assert_eq!(add(&mut copies), SharedIds::None);
        for number in 0..MOST_GONE {
            copies.forget(10 + number);
        }
        assert_eq!(add(&mut copies), SharedIds::Folded);
        assert_eq!(copies.latest(3, 1), Some(next));
        assert_eq!(add(&mut copies), SharedIds::Known(next));
    }
}
