//! Ids of instrumented methods and allocation sites.
//!
//! An id belongs to a method of a class with certain bytes in loaders of one kind. Copies of a class in loaders of one
//! kind share their ids. A class keeps its ids when the hook gets it again because an agent retransforms it, even if
//! another agent has changed the code of its methods. Retransformation can neither add nor remove methods. [`Copies`]
//! decides which classes share ids.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use loadhook_rewrite::class::Member;
use loadhook_rewrite::symbol::{first_line, java_name, line_at, source_file, text};
use loadhook_rewrite::{Allocation, ClassFile, Site};

use super::copies::{Copies, Hashers, SharedIds};
use super::loaders::Loader;
use super::numbered_names::without_numbers;
use super::past_ids::{PastIds, SiteKey};
use crate::locks::lock;

/// An instrumented method.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) id: u32,
    pub(crate) name: Arc<str>,
    pub(crate) descriptor: Arc<str>,
    /// The line of the method's first instruction.
    pub(crate) line: Option<u16>,
}

/// An instruction of an instrumented method that allocates. Its id differs from all ids of methods.
#[derive(Clone, Debug)]
pub(crate) struct SiteSymbol {
    pub(crate) id: u32,
    /// The id of the method that contains the instruction.
    pub(crate) method: u32,
    pub(crate) line: Option<u16>,
    pub(crate) bci: u16,
    /// The allocated type, as Java writes it.
    pub(crate) type_name: Arc<str>,
    pub(crate) is_array: bool,
}

/// A class with instrumented methods.
#[derive(Clone, Debug)]
pub(crate) struct ClassSymbols {
    /// The loader of the class's first copy.
    pub(crate) loader: Loader,
    /// The number of the loader of the class's latest copy.
    pub(crate) latest: u32,
    /// The number of loaders that had a copy.
    pub(crate) loaders: u32,
    /// True if this entry stands for different classes, whose names differ only in numbers.
    pub(crate) is_folded: bool,
    /// The name of the class as Java writes it: `com.example.Service`.
    pub(crate) name: Arc<str>,
    pub(crate) source_file: Option<Arc<str>>,
    /// The instrumented methods in the order of their ids.
    pub(crate) methods: Vec<Symbol>,
    pub(crate) sites: Vec<SiteSymbol>,
}

/// The class of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassOfMethod {
    /// The same as [`ClassSymbols::name`].
    pub(crate) name: Arc<str>,
    /// The same as [`ClassSymbols::is_folded`].
    pub(crate) is_folded: bool,
    pub(crate) is_constructor: bool,
}

/// The constructors of the classes of one name.
#[derive(Debug, Default)]
pub(crate) struct ConstructorIds {
    pub(crate) ids: Vec<u32>,
    /// True if a class of this name is folded. See [`ClassSymbols::is_folded`].
    pub(crate) is_folded: bool,
}

#[derive(Default)]
struct Classes {
    copies: Copies,
    by_site: HashMap<SiteKey, u32>,
    /// The first id and the symbols of each class.
    all: Vec<(u32, ClassSymbols)>,
    /// The indexes of the classes in `all` by first id.
    by_first_id: BTreeMap<u32, usize>,
    past: PastIds,
    /// The names of classes and methods, each stored once, because a class in several loaders has the same names in
    /// each.
    names: HashSet<Arc<str>>,
}

impl Classes {
    /// Returns the stored copy of a name, after storing the name if it is new.
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

/// The classes that were instrumented.
pub(crate) struct Registry {
    classes: Mutex<Classes>,
    hashers: Hashers,
}

/// A class in the registry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    index: usize,
    first_id: u32,
}

impl Entry {
    /// Returns the id of the method that is at this position in the class file.
    pub(crate) fn id(self, method: u16) -> u32 {
        self.first_id + u32::from(method)
    }
}

impl Registry {
    #[cfg(test)]
    pub(crate) fn new() -> Self {
        Registry::after(PastIds::default())
    }

    /// Makes a registry that gives a class the ids that an earlier agent gave it, and new ids to other classes.
    pub(crate) fn after_earlier_agents() -> Self {
        Registry::after(PastIds::copied())
    }

    fn after(past: PastIds) -> Self {
        let hashers = past.hashers.clone();
        let classes = Classes {
            past,
            ..Classes::default()
        };
        Registry {
            classes: Mutex::new(classes),
            hashers,
        }
    }

    /// Keeps the ids for the next agent. Called when this agent leaves.
    pub(crate) fn leave(&self) {
        self.past().keep();
    }

    fn past(&self) -> PastIds {
        let classes = self.lock();
        let mut past = classes.past.clone();
        let by_hash = classes.copies.by_hash();
        let first_ids = by_hash.filter_map(|(hash, index)| Some((hash, classes.all.get(index)?.0)));
        let sites = classes.by_site.iter().map(|(key, id)| (key.clone(), *id));
        past.add(first_ids, sites);
        past
    }

    fn lock(&self) -> MutexGuard<'_, Classes> {
        lock(&self.classes)
    }

    /// Returns the entry of a class, and true if the entry is new. Returns `None` if the class is not to be
    /// instrumented, because too many classes have been loaded and unloaded.
    pub(crate) fn entry(&self, loader: Loader, class: &ClassFile<'_>) -> Option<(Entry, bool)> {
        let identity = self.hashers.identity(class);
        // Each index in `copies` must exist in `all`. So the class is read first: a failure there must
        // not leave an index in `copies` without its class in `all`.
        let (name, source_file) = (java_name(class.name()), source_file(class));
        let mut classes = self.lock();
        if classes.past.are_used_up() {
            return None;
        }
        let next = classes.all.len();
        let ids = classes
            .copies
            .add(loader, &identity, next, || self.hashers.pattern(class));
        let (index, is_folded) = match ids {
            SharedIds::Known(index) => (index, None),
            SharedIds::Copy(index) => {
                if let Some((_, known)) = classes.all.get_mut(index) {
                    known.latest = loader.number;
                    known.loaders += 1;
                }
                (index, None)
            }
            SharedIds::New => (next, Some(false)),
            SharedIds::Folded => (next, Some(true)),
            SharedIds::None => return None,
        };
        if let Some(is_folded) = is_folded {
            let name = if is_folded {
                without_numbers(&name)
            } else {
                name
            };
            let name = classes.shared(name.into());
            let source_file = source_file.map(|file| classes.shared(file.into()));
            let methods = class.methods().len() as u32;
            let first_id = classes.past.first_id(methods, || match is_folded {
                true => self.hashers.pattern(class),
                false => identity.bytes,
            });
            classes.by_first_id.insert(first_id, next);
            classes.all.push((
                first_id,
                ClassSymbols {
                    loader,
                    latest: loader.number,
                    loaders: 1,
                    is_folded,
                    name,
                    source_file,
                    methods: Vec::new(),
                    sites: Vec::new(),
                },
            ));
        }
        let first_id = classes.all.get(index)?.0;
        Some((Entry { index, first_id }, is_folded.is_some()))
    }

    /// Finds the last class of this internal name that this loader has loaded. Returns the loader of the first copy of
    /// the class, and the name of the class in the profile.
    pub(crate) fn known(&self, loader: u32, name: &[u8]) -> Option<(Loader, Arc<str>)> {
        let classes = self.lock();
        let index = classes.copies.latest(loader, self.hashers.name(name))?;
        let (_, class) = classes.all.get(index)?;
        Some((class.loader, class.name.clone()))
    }

    /// Returns whether no class has ever got ids.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().all.is_empty()
    }

    /// Returns the number of classes with instrumented methods. Copies of a class count once.
    pub(crate) fn count(&self) -> usize {
        let classes = self.lock();
        let all = classes.all.iter();
        all.filter(|(_, class)| !class.methods.is_empty()).count()
    }

    /// Returns the class of the method with this id.
    pub(crate) fn class_of(&self, id: u32) -> Option<ClassOfMethod> {
        let classes = self.lock();
        let (_, index) = classes.by_first_id.range(..=id).next_back()?;
        let (_, class) = classes.all.get(*index)?;
        let method = class.methods.binary_search_by_key(&id, |method| method.id);
        let method = method.ok().and_then(|at| class.methods.get(at));
        Some(ClassOfMethod {
            name: class.name.clone(),
            is_folded: class.is_folded,
            is_constructor: method.is_some_and(|method| &*method.name == "<init>"),
        })
    }

    /// Returns the constructors of each class that has methods, by the class's name.
    pub(crate) fn constructors(&self) -> HashMap<Arc<str>, ConstructorIds> {
        let classes = self.lock();
        let mut all: HashMap<Arc<str>, ConstructorIds> = HashMap::new();
        for (_, class) in &classes.all {
            if !class.methods.is_empty() {
                let of_class = all.entry(class.name.clone()).or_default();
                of_class.is_folded |= class.is_folded;
                let methods = class.methods.iter();
                let constructors = methods.filter(|method| &*method.name == "<init>");
                of_class.ids.extend(constructors.map(|method| method.id));
            }
        }
        all
    }

    /// Returns the method with this id as `com.example.Service::handle`.
    pub(crate) fn method_name(&self, id: u32) -> Option<String> {
        let classes = self.lock();
        let (_, index) = classes.by_first_id.range(..=id).next_back()?;
        let (_, class) = classes.all.get(*index)?;
        let at = class.methods.binary_search_by_key(&id, |method| method.id);
        let method = class.methods.get(at.ok()?)?;
        Some(format!("{}::{}", class.name, method.name))
    }

    /// Forgets the classes of a collected loader.
    pub(crate) fn forget(&self, loader: u32) {
        self.lock().copies.forget(loader);
    }

    /// Returns notes for the profile about folded classes and classes that are not instrumented.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.lock().copies.notes()
    }

    /// Adds the methods of a class that were instrumented.
    pub(crate) fn define(&self, entry: Entry, methods: Vec<Symbol>) {
        let mut classes = self.lock();
        for mut method in methods {
            let known = classes
                .all
                .get(entry.index)
                .map(|(_, class)| &class.methods);
            // Usually each method is added once, in the order of ids.
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

    /// Returns the id of an allocation site in the method `symbol`. Defines the method, too.
    pub(crate) fn site(
        &self,
        entry: Entry,
        symbol: Symbol,
        method: &Member<'_, '_>,
        site: &Site<'_>,
    ) -> u32 {
        let type_name = {
            let mut classes = self.lock();
            let is_folded = classes
                .all
                .get(entry.index)
                .is_some_and(|(_, class)| class.is_folded);
            let name = site.allocation.type_name();
            let name = if is_folded {
                without_numbers(&name)
            } else {
                name
            };
            classes.shared(name.into())
        };
        let key = (symbol.id, site.bci.0, type_name.clone());
        if let Some(id) = self.lock().by_site.get(&key) {
            return *id;
        }
        let line = line_at(method, site.bci);
        let method = symbol.id;
        self.define(entry, vec![symbol]);
        let mut classes = self.lock();
        if let Some(id) = classes.by_site.get(&key) {
            // Another thread has already added the site.
            return *id;
        }
        let id = classes.past.site(&key);
        if let Some((_, class)) = classes.all.get_mut(entry.index) {
            class.sites.push(SiteSymbol {
                id,
                method,
                line,
                bci: site.bci.0,
                type_name,
                is_array: !matches!(site.allocation, Allocation::Object(_)),
            });
        }
        classes.by_site.insert(key, id);
        id
    }

    /// Returns a copy of all classes, methods and sites defined so far.
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
    /// Makes the symbol of a method that has this id.
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
mod tests;
