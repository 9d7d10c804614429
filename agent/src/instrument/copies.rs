//! Which classes are one: copies, and what stands for classes that come and go.
//!
//! A class is known by its bytes and the kind of its loader; while the loader is
//! there, by its name and methods too, since other agents can change its bytes.
//! Nothing is kept for a copy whose loader is gone.
//!
//! Generated classes, `Script17` behind `Script16`, are no copies. When many
//! that differ by numbers in their names only are gone, further ones are folded:
//! they share the ids of one, called `Script#`. What a program does not name so
//! ends at a limit.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::symbol::{java_name, text};
use loadhook_text::count;

use crate::instrument::loader_kinds::MOST_GONE;
use crate::instrument::loaders::Loader;
use crate::instrument::numbered_names::without_numbers;

/// Classes that are gone and have rows of their own: some 50 MB of names. Further
/// ones of loaders that come and go stay as they are.
const MOST_ALONE: u32 = 1 << 15;

/// Two hashes with keys of their own: one collision in 2^128, and only then would
/// two classes share ids.
type Wide = [u64; 2];

#[derive(Default)]
pub(crate) struct Hashers([RandomState; 2]);

/// Hashes that tell a class from others.
pub(crate) struct Identity {
    bytes: Wide,
    name: u64,
    /// Names and descriptors of the methods, in their order.
    methods: u64,
}

impl Hashers {
    fn wide(&self, write: impl Fn(&mut dyn Hasher)) -> Wide {
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

    /// The names of a class and its methods, without numbers.
    pub(crate) fn pattern(&self, class: &ClassFile<'_>) -> Wide {
        let mut names = vec![without_numbers(&java_name(class.name()))];
        for method in class.methods() {
            names.push(without_numbers(&text(method.name())));
            names.push(without_numbers(&text(method.descriptor())));
        }
        self.wide(|mut hasher| names.hash(&mut hasher))
    }
}

/// Where a class is among those known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It has come before.
    Known(usize),
    /// Another one, whose ids it shares.
    Copy(usize),
    /// Its own, the next.
    New,
    /// The next, for this class and those of its pattern.
    Folded,
    /// None: there is no room.
    None,
}

/// A class with ids.
struct Class {
    /// Its pattern and the kind of its loader; `None` if it was counted among those
    /// that are gone, or stands for its pattern itself.
    pattern: Option<(u32, Wide)>,
    /// Loaders that are there and have it.
    alive: u32,
}

/// Classes of one pattern, of loaders of one kind.
#[derive(Default)]
struct Pattern {
    gone: u32,
    /// The one that stands for all.
    into: Option<usize>,
}

/// A loader's classes by name, each with its methods and index.
type Named = HashMap<u64, Vec<(u64, usize)>>;

#[derive(Default)]
pub(crate) struct Copies {
    by_bytes: HashMap<(u32, Wide), usize>,
    by_loader: HashMap<u32, Named>,
    /// By index.
    all: Vec<Class>,
    patterns: HashMap<(u32, Wide), Pattern>,
    /// Classes that are gone and have ids of their own.
    alone: u32,
    folded: u64,
    left_alone: u64,
}

impl Copies {
    /// The place of a class; a new one has the index `next`.
    pub(crate) fn place(
        &mut self,
        loader: Loader,
        identity: &Identity,
        next: usize,
        pattern: impl FnOnce() -> Wide,
    ) -> Place {
        let here = self.by_loader.get(&loader.number);
        let same_name = here.and_then(|named| named.get(&identity.name));
        let is_it = |(methods, _): &&(u64, usize)| *methods == identity.methods;
        if let Some((_, index)) = same_name.and_then(|classes| classes.iter().find(is_it)) {
            return Place::Known(*index);
        }
        let key = (loader.kind, identity.bytes);
        let place = match self.by_bytes.get(&key) {
            Some(index) => Place::Copy(*index),
            None if loader.stays() => self.own(key, None),
            None => self.mortal(key, (loader.kind, pattern())),
        };
        let index = match place {
            Place::None => {
                self.left_alone += 1;
                return place;
            }
            Place::Copy(index) | Place::Known(index) => index,
            Place::New | Place::Folded => next,
        };
        if let Some(class) = self.all.get_mut(index) {
            class.alive += 1;
        }
        let named = self.by_loader.entry(loader.number).or_default();
        let same_name = named.entry(identity.name).or_default();
        same_name.push((identity.methods, index));
        place
    }

    /// A class with ids of its own.
    fn own(&mut self, key: (u32, Wide), pattern: Option<(u32, Wide)>) -> Place {
        self.by_bytes.insert(key, self.all.len());
        self.all.push(Class { pattern, alive: 0 });
        Place::New
    }

    /// A class of a loader that may go.
    fn mortal(&mut self, key: (u32, Wide), pattern: (u32, Wide)) -> Place {
        let next = self.all.len();
        let of_pattern = self.patterns.get_mut(&pattern);
        if let Some(of_pattern) = of_pattern.filter(|known| known.gone >= MOST_GONE) {
            self.folded += 1;
            if let Some(index) = of_pattern.into {
                return Place::Copy(index);
            }
            of_pattern.into = Some(next);
            self.all.push(Class {
                pattern: None,
                alive: 0,
            });
            return Place::Folded;
        }
        match self.alone < MOST_ALONE {
            true => self.own(key, Some(pattern)),
            false => Place::None,
        }
    }

    /// The class of this name that came from a loader last.
    pub(crate) fn known(&self, loader: u32, name: u64) -> Option<usize> {
        let same_name = self.by_loader.get(&loader)?.get(&name)?;
        same_name.last().map(|(_, index)| *index)
    }

    /// A loader is gone.
    pub(crate) fn forget(&mut self, loader: u32) {
        let classes = self.by_loader.remove(&loader).unwrap_or_default();
        for (_, index) in classes.into_values().flatten() {
            let Some(class) = self.all.get_mut(index) else {
                continue;
            };
            class.alive = class.alive.saturating_sub(1);
            // Each class counts once.
            if class.alive == 0
                && let Some(pattern) = class.pattern.take()
            {
                self.patterns.entry(pattern).or_default().gone += 1;
                self.alone += 1;
            }
        }
    }

    /// Notes for the profile: folded classes, and those left alone.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.folded > 0 {
            notes.push(format!(
                "{} classes of loaders that come and go share rows, with # for the numbers in their \
                 names: {MOST_GONE} like each were gone before",
                count(self.folded)
            ));
        }
        if self.left_alone > 0 {
            notes.push(format!(
                "{} classes were not instrumented: {} others with names of their own were loaded and \
                 gone before; --exclude the generated ones to see the rest",
                count(self.left_alone),
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

    /// Neither equal nor of one pattern, and gone: their number is bounded, and
    /// what stays, as the program's own, is not concerned.
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
            match copies.place(loader, &identity(number.into()), new, pattern) {
                Place::New => new += 1,
                place => assert_eq!((place, new), (Place::None, MOST_ALONE as usize)),
            }
            copies.forget(loader.number);
        }
        assert!(copies.by_loader.is_empty());
        assert_eq!(copies.left_alone, u64::from(MOST_ALONE));
        let app = Loader { number: 2, kind: 2 };
        let own = identity(1 << 40);
        assert_eq!(copies.place(app, &own, new, || [0; 2]), Place::New);
        assert_eq!(
            copies.place(app, &own, new + 1, || [0; 2]),
            Place::Known(new)
        );
        assert_eq!(copies.notes().len(), 1);
    }
}
