//! Which id stands for which method.
//!
//! Ids belong to loader, class bytes and method: a class that comes through
//! the hook again, for a retransformation by us or another agent, has the ids
//! it had. So it has if the other agent has changed its methods' code since;
//! which methods it has, nobody can change.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loadhook_rewrite::class::Member;
use loadhook_rewrite::symbol::{first_line, java_name, line_at, source_file, text};
use loadhook_rewrite::{Allocation, ClassFile, Site};

/// An instrumented method.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) id: u32,
    pub(crate) name: Arc<str>,
    pub(crate) descriptor: Arc<str>,
    /// The line of its first instruction.
    pub(crate) line: Option<u16>,
}

/// An instruction that allocates, of an instrumented method. Its id is no
/// method's.
#[derive(Clone, Debug)]
pub(crate) struct SiteSymbol {
    pub(crate) id: u32,
    /// The id of its method.
    pub(crate) method: u32,
    pub(crate) line: Option<u16>,
    pub(crate) bci: u16,
    /// As Java writes it.
    pub(crate) type_name: Arc<str>,
    pub(crate) is_array: bool,
}

/// A class with instrumented methods.
#[derive(Clone, Debug)]
pub(crate) struct ClassSymbols {
    /// The number of its loader; 0 is the boot loader.
    pub(crate) loader: u32,
    /// As Java writes it: `com.example.Service`.
    pub(crate) name: Arc<str>,
    pub(crate) source_file: Option<Arc<str>>,
    /// By id.
    pub(crate) methods: Vec<Symbol>,
    pub(crate) sites: Vec<SiteSymbol>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    loader: u32,
    /// Two hashes of the bytes: one collision in 2^128, and only then would
    /// two classes share ids.
    bytes: [u64; 2],
}

/// A class whatever its code: its loader, and a hash of its name and the names
/// and descriptors of its methods, in their order.
type Shape = (u32, u64);

/// A method's id, the offset in its code and the type: another agent may have
/// changed the code since.
type SiteKey = (u32, u16, Arc<str>);

#[derive(Default)]
struct Classes {
    by_key: HashMap<Key, usize>,
    by_shape: HashMap<Shape, usize>,
    by_site: HashMap<SiteKey, u32>,
    /// First id and symbols, in the order of the ids.
    all: Vec<(u32, ClassSymbols)>,
    next: u32,
    /// Names that classes share, those of one in many loaders above all.
    names: HashSet<Arc<str>>,
}

impl Classes {
    fn at(&self, index: Option<&usize>) -> Option<Entry> {
        let index = *index?;
        let first_id = self.all.get(index)?.0;
        Some(Entry { index, first_id })
    }

    /// The name that is there already, if it is.
    fn shared(&mut self, name: Arc<str>) -> Arc<str> {
        match self.names.get(&name) {
            Some(known) => known.clone(),
            None => {
                self.names.insert(name.clone());
                name
            }
        }
    }
}

/// All classes that were instrumented.
pub(crate) struct Registry {
    classes: Mutex<Classes>,
    hashers: [RandomState; 2],
}

/// A class's place in the registry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    index: usize,
    first_id: u32,
}

impl Entry {
    /// The id of the method at this position of the class.
    pub(crate) fn id(self, method: u16) -> u32 {
        self.first_id + u32::from(method)
    }
}

impl Registry {
    pub(crate) fn new() -> Self {
        Registry {
            classes: Mutex::default(),
            hashers: [RandomState::new(), RandomState::new()],
        }
    }

    fn lock(&self) -> MutexGuard<'_, Classes> {
        // Each change is one push or insert: whole even after a panic.
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of `class`, made when it is seen first.
    pub(crate) fn entry(&self, loader: u32, class: &ClassFile<'_>) -> Entry {
        let hash = |hasher: &RandomState| hasher.hash_one(class.bytes());
        let key = Key {
            loader,
            bytes: [hash(&self.hashers[0]), hash(&self.hashers[1])],
        };
        let mut classes = self.lock();
        if let Some(entry) = classes.at(classes.by_key.get(&key)) {
            return entry;
        }
        let shape = (loader, self.shape(class));
        if let Some(entry) = classes.at(classes.by_shape.get(&shape)) {
            classes.by_key.insert(key, entry.index);
            return entry;
        }
        let name = classes.shared(java_name(class.name()).into());
        let source_file = source_file(class).map(|file| classes.shared(file.into()));
        let (index, first_id) = (classes.all.len(), classes.next);
        classes.next = first_id.wrapping_add(class.methods().len() as u32);
        classes.all.push((
            first_id,
            ClassSymbols {
                loader,
                name,
                source_file,
                methods: Vec::new(),
                sites: Vec::new(),
            },
        ));
        classes.by_key.insert(key, index);
        classes.by_shape.insert(shape, index);
        Entry { index, first_id }
    }

    fn shape(&self, class: &ClassFile<'_>) -> u64 {
        let mut hasher = self.hashers[0].build_hasher();
        class.name().hash(&mut hasher);
        for method in class.methods() {
            method.name().hash(&mut hasher);
            method.descriptor().hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Adds the methods of a class that were instrumented.
    pub(crate) fn define(&self, entry: Entry, methods: Vec<Symbol>) {
        let mut classes = self.lock();
        for mut method in methods {
            let known = classes
                .all
                .get(entry.index)
                .map(|(_, class)| &class.methods);
            // They come in the order of their ids, mostly each once.
            let place = known.map(|known| known.binary_search_by_key(&method.id, |m| m.id));
            if let Some(Err(at)) = place {
                method.name = classes.shared(method.name);
                method.descriptor = classes.shared(method.descriptor);
                if let Some((_, class)) = classes.all.get_mut(entry.index) {
                    class.methods.insert(at, method);
                }
            }
        }
    }

    /// The id of an allocation site of the method with this symbol, which is
    /// defined with it.
    pub(crate) fn site(
        &self,
        entry: Entry,
        symbol: Symbol,
        method: &Member<'_, '_>,
        site: &Site<'_>,
    ) -> u32 {
        let type_name = self.lock().shared(site.allocation.type_name().into());
        let key = (symbol.id, site.bci, type_name.clone());
        if let Some(id) = self.lock().by_site.get(&key) {
            return *id;
        }
        let line = line_at(method, site.bci);
        let method = symbol.id;
        self.define(entry, vec![symbol]);
        let mut classes = self.lock();
        if let Some(id) = classes.by_site.get(&key) {
            // Another thread was faster.
            return *id;
        }
        let id = classes.next;
        classes.next = id.wrapping_add(1);
        if let Some((_, class)) = classes.all.get_mut(entry.index) {
            class.sites.push(SiteSymbol {
                id,
                method,
                line,
                bci: site.bci,
                type_name,
                is_array: !matches!(site.allocation, Allocation::Object(_)),
            });
        }
        classes.by_site.insert(key, id);
        id
    }

    /// A copy of everything defined so far.
    pub(crate) fn classes(&self) -> Vec<ClassSymbols> {
        let classes = self.lock();
        let defined = classes.all.iter().map(|(_, class)| class);
        defined
            .filter(|class| !class.methods.is_empty())
            .cloned()
            .collect()
    }
}

impl Symbol {
    pub(crate) fn of(id: u32, method: &Member<'_, '_>) -> Self {
        Symbol {
            id,
            name: text(method.name()).into(),
            descriptor: text(method.descriptor()).into(),
            line: first_line(method),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Redeployed a thousand times, a class has its names once; each copy has
    /// ids of its own, the same whenever it comes.
    #[test]
    fn copies_of_a_class_share_their_names() {
        let bytes = include_bytes!("../../rewrite/doc/Greeter.class");
        let class = ClassFile::parse(bytes).expect("a class");
        let registry = Registry::new();
        for _ in 0..2 {
            for loader in 0..1000 {
                let entry = registry.entry(loader, &class);
                let symbol = |m: Member<'_, '_>| Symbol::of(entry.id(m.index()), &m);
                registry.define(entry, class.methods().map(symbol).collect());
            }
        }
        let classes = registry.classes();
        let all = || classes.iter().flat_map(|class| &class.methods);
        let ids: HashSet<u32> = all().map(|method| method.id).collect();
        assert_eq!(classes.len(), 1000);
        assert_eq!(ids.len(), all().count());
        let names = |at: usize| {
            let class = &classes[at];
            let methods = class.methods.iter();
            let methods = methods.flat_map(|m| [m.name.as_ptr(), m.descriptor.as_ptr()]);
            let mut names: Vec<_> = methods.collect();
            names.push(class.name.as_ptr());
            names
        };
        assert!(names(0).len() > 3);
        assert!((1..1000).all(|at| names(at) == names(0)));
    }
}
