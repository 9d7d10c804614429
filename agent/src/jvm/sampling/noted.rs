//! The noted methods of prepared classes. They are found by their ids, which compiled frames have, and by their
//! addresses, which interpreted frames have.
//!
//! A method id may be passed to JVM TI only while the method's class is loaded. So there is a weak reference to each
//! class that may be unloaded. When the class is gone, the class and its methods are forgotten.
//!
//! The JVM keeps about nine bytes for each method of a noted class, even after the class is gone. So after [`MAX_GONE`]
//! methods of unloaded classes, only classes that are never unloaded are noted.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::method_table::{MethodTable, OldTable};
use super::sample::MethodNumber;
use super::spread::Spread;
use crate::jvm::jvmti::MethodKey;
use crate::jvm::reference::{Global, Weak};

/// A noted method.
#[derive(Clone, Copy)]
struct Method {
    key: MethodKey,
    class: u32,
    /// The address of HotSpot's `Method`, by which the interpreter knows the method.
    address: usize,
    number: Option<MethodNumber>,
}

/// A noted class.
struct Class {
    /// A reference to the class; `None` if the class is never unloaded.
    weak: Option<Weak>,
    methods: Vec<u32>,
    /// Addresses that methods of the class had before it was retransformed, each with the number of the method. The
    /// address that was left longest ago comes first.
    old: VecDeque<(usize, u32)>,
    /// Ids of old versions of the class's methods, see [`NotedMethods::note_old`].
    old_keys: Vec<MethodKey>,
}

/// The maximum number of old addresses that are kept for a class.
const MAX_OLD: usize = 4096;

/// After this number of methods of unloaded classes, only classes that are never unloaded are noted.
const MAX_GONE: usize = 1 << 20;

/// The class of a method.
#[derive(Clone, Copy)]
pub(super) enum ClassOf {
    /// The class is never unloaded.
    Stays,
    /// The class may be unloaded. It is loaded as long as the object of this reference is not gone.
    Weak(Weak),
}

/// The time in the life of an engine that decides how a class is noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// No classes have been listed. The list will have all classes that are prepared now.
    #[default]
    BeforeList,
    /// Classes are listed, and noted later.
    Listing,
    /// The listed classes are noted, and classes are noted when they are prepared.
    Noting,
}

/// The classes that are loaded or prepared and not noted yet.
#[derive(Default)]
pub(super) struct ToNote {
    /// Global references, which keep the classes loaded, because samples may name methods of these classes by address.
    pub(super) classes: Vec<Global>,
    pub(super) stage: Stage,
    /// True if all listed classes are noted.
    pub(super) is_done: bool,
}

/// A class that is being redefined.
#[derive(Clone, Copy)]
pub(super) struct Redefined {
    pub(super) class: Global,
    /// The id of one of its methods, and the address of that method before the redefinition.
    pub(super) method: MethodKey,
    pub(super) address: usize,
    pub(super) since: Instant,
}

/// The methods and classes noted so far.
#[derive(Default)]
pub(super) struct NotedMethods {
    methods: Vec<Option<Method>>,
    by_key: HashMap<MethodKey, u32, Spread>,
    classes: Vec<Option<Class>>,
    /// Free places in `methods` and `classes`, which are used again.
    free_methods: Vec<u32>,
    free_classes: Vec<u32>,
    /// Index of the class at which the next check begins.
    next_class: usize,
    next_number: u32,
    /// Number of methods of classes that are gone.
    gone: usize,
}

/// An unloaded class that was forgotten.
pub(super) struct GoneClass {
    pub(super) weak: Weak,
    /// Numbers of the class's methods that samples have shown.
    pub(super) numbers: Vec<MethodNumber>,
    /// The methods of the class. Their places may be used again when no handler and no sample can name the methods any
    /// more.
    pub(super) methods: Vec<u32>,
}

impl NotedMethods {
    /// Notes a class with its methods, given by ids and addresses. Methods that were noted before get the new
    /// addresses. Returns the method tables that larger tables have replaced, and whether the class was new.
    pub(super) fn note(
        &mut self,
        table: &MethodTable,
        weak: Option<Weak>,
        methods: &[(MethodKey, usize)],
    ) -> (Vec<OldTable>, bool) {
        let mut old = Vec::new();
        for (key, _) in methods {
            // The JVM may give the id of an old version that it has freed to another method.
            if self.is_old(*key) {
                self.by_key.remove(key);
            }
        }
        let is_new = methods
            .iter()
            .all(|(key, _)| !self.by_key.contains_key(key));
        if !is_new {
            for (key, address) in methods {
                if let Some(number) = self.by_key.get(key).copied() {
                    old.extend(self.move_method(table, number, *address));
                }
            }
            return (old, false);
        }
        if methods.is_empty() {
            return (old, false);
        }
        let class = match self.free_classes.pop() {
            Some(class) => class,
            None => {
                self.classes.push(None);
                self.classes.len() as u32 - 1
            }
        };
        let mut numbers = Vec::with_capacity(methods.len());
        for (key, address) in methods {
            let method = Method {
                key: *key,
                class,
                address: *address,
                number: None,
            };
            let number = match self.free_methods.pop() {
                Some(number) => {
                    self.methods[number as usize] = Some(method);
                    number
                }
                None => {
                    self.methods.push(Some(method));
                    self.methods.len() as u32 - 1
                }
            };
            self.by_key.insert(*key, number);
            old.extend(table.insert(*address, number));
            numbers.push(number);
        }
        self.classes[class as usize] = Some(Class {
            weak,
            methods: numbers,
            old: VecDeque::new(),
            old_keys: Vec::new(),
        });
        (old, true)
    }

    fn move_method(
        &mut self,
        table: &MethodTable,
        number: u32,
        address: usize,
    ) -> Option<OldTable> {
        let method = self.methods.get_mut(number as usize)?.as_mut()?;
        if method.address == address {
            return None;
        }
        let old = std::mem::replace(&mut method.address, address);
        // The old address is kept, because frames of the old code may still be on stacks.
        let class = method.class;
        if table.find(address) == Some(number)
            && let Some(Some(class)) = self.classes.get_mut(class as usize)
        {
            // The method has had this address before. The search is long, but rare.
            class.old.retain(|old| *old != (address, number));
        }
        table.mark_old(old, number);
        self.keep_old(table, class, old, number);
        table.insert(address, number)
    }

    /// Keeps an address of an old version of a method in the table.
    fn keep_old(&mut self, table: &MethodTable, class: u32, address: usize, number: u32) {
        let Some(Some(class)) = self.classes.get_mut(class as usize) else {
            return;
        };
        class.old.push_back((address, number));
        if class.old.len() > MAX_OLD
            && let Some((oldest, number)) = class.old.pop_front()
        {
            let method = self.methods.get(number as usize).and_then(Option::as_ref);
            let is_present = method.is_some_and(|method| method.address == oldest);
            if !is_present {
                table.remove(oldest, number);
            }
        }
    }

    /// Notes an old version of a method: code that was replaced by a redefinition of its class while it was under way.
    /// The JVM gives `key` and `address` to this version, and `present` is the id of the noted method. From now on,
    /// both ids stand for the same method.
    pub(super) fn note_old(
        &mut self,
        table: &MethodTable,
        present: MethodKey,
        key: MethodKey,
        address: usize,
    ) -> Option<OldTable> {
        let number = self.of_key(present)?;
        let class = self.methods.get(number as usize)?.as_ref()?.class;
        let of_class = self.classes.get_mut(class as usize)?.as_mut()?;
        if of_class.old_keys.len() >= MAX_OLD {
            return None;
        }
        of_class.old_keys.push(key);
        self.by_key.insert(key, number);
        // The address is in the table already if the class was noted before its redefinition.
        if table.find(address) == Some(number) {
            return None;
        }
        self.keep_old(table, class, address, number);
        let grown = table.insert(address, number);
        table.mark_old(address, number);
        grown
    }

    /// Returns whether an id is that of an old version, given to [`note_old`](Self::note_old).
    pub(super) fn is_old(&self, key: MethodKey) -> bool {
        let number = self.of_key(key);
        number.is_some_and(|number| self.key(number) != Some(key))
    }

    /// Returns the id of the present version of a method. Returns `key` itself if it belongs to no noted method.
    pub(super) fn present(&self, key: MethodKey) -> MethodKey {
        let present = self.of_key(key).and_then(|number| self.key(number));
        present.unwrap_or(key)
    }

    /// Returns the number of the noted method that has this id.
    pub(super) fn of_key(&self, key: MethodKey) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// Returns the id of a noted method.
    pub(super) fn key(&self, method: u32) -> Option<MethodKey> {
        Some(self.methods.get(method as usize)?.as_ref()?.key)
    }

    /// Returns the address of HotSpot's `Method` of a noted method.
    pub(super) fn address(&self, method: u32) -> Option<usize> {
        Some(self.methods.get(method as usize)?.as_ref()?.address)
    }

    /// Returns the number by which samples show a noted method, if a sample has shown it.
    pub(super) fn number(&self, method: u32) -> Option<MethodNumber> {
        self.methods.get(method as usize)?.as_ref()?.number
    }

    /// Returns the class of a noted method.
    pub(super) fn class(&self, method: u32) -> Option<ClassOf> {
        let method = self.methods.get(method as usize)?.as_ref()?;
        let class = self.classes.get(method.class as usize)?.as_ref()?;
        Some(class.weak.map_or(ClassOf::Stays, ClassOf::Weak))
    }

    /// Gives a noted method a number for samples, and returns the number.
    pub(super) fn give_number(&mut self, method: u32) -> Option<MethodNumber> {
        let number = MethodNumber(self.next_number);
        self.methods.get_mut(method as usize)?.as_mut()?.number = Some(number);
        self.next_number += 1;
        Some(number)
    }

    /// Returns the next classes that are to be checked for unloading: an eighth of all classes, but at least 1,000. So
    /// a few calls check all classes.
    pub(super) fn classes_to_check(&mut self) -> Vec<(u32, Weak)> {
        let count = (self.classes.len() / 8).max(1000).min(self.classes.len());
        let mut found = Vec::new();
        for _ in 0..count {
            self.next_class = (self.next_class + 1) % self.classes.len();
            if let Some(Some(class)) = self.classes.get(self.next_class)
                && let Some(weak) = class.weak
            {
                found.push((self.next_class as u32, weak));
            }
        }
        found
    }

    /// Forgets an unloaded class and its methods.
    pub(super) fn forget(&mut self, table: &MethodTable, class: u32) -> Option<GoneClass> {
        let gone = self.classes.get_mut(class as usize)?.take()?;
        let weak = gone.weak?;
        self.free_classes.push(class);
        self.gone += gone.methods.len();
        for (address, method) in &gone.old {
            table.remove(*address, *method);
        }
        for key in &gone.old_keys {
            let number = self.by_key.get(key);
            if number.is_some_and(|number| gone.methods.contains(number)) {
                self.by_key.remove(key);
            }
        }
        let mut numbers = Vec::new();
        for method in &gone.methods {
            if let Some(method_of) = self
                .methods
                .get_mut(*method as usize)
                .and_then(Option::take)
            {
                self.by_key.remove(&method_of.key);
                table.remove(method_of.address, *method);
                numbers.extend(method_of.number);
            }
        }
        Some(GoneClass {
            weak,
            numbers,
            methods: gone.methods,
        })
    }

    /// Takes the references to all classes. Called when no samples are read any more.
    pub(super) fn take_references(&mut self) -> Vec<Weak> {
        let classes = self.classes.iter_mut().flatten();
        classes.filter_map(|class| class.weak.take()).collect()
    }

    /// Returns whether only classes that are never unloaded may be noted from now on.
    pub(super) fn is_full(&self) -> bool {
        self.gone >= MAX_GONE
    }

    /// Frees the places of methods. No handler and no sample can refer to these methods any more.
    pub(super) fn free(&mut self, methods: Vec<u32>) {
        self.free_methods.extend(methods);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> MethodKey {
        MethodKey::unknown(n)
    }

    #[test]
    fn a_class_is_noted_moved_and_forgotten() {
        let table = MethodTable::new();
        let mut noted = NotedMethods::default();
        let weak = Weak::unknown(1);
        let methods = [(key(1), 0x1000), (key(2), 0x2000)];
        assert!(noted.note(&table, Some(weak), &methods).1);
        let second = noted.of_key(key(2)).unwrap();
        assert_eq!(table.find(0x2000), Some(second));
        assert_eq!(noted.number(second), None);
        let number = noted.give_number(second).unwrap();
        assert_eq!(noted.number(second), Some(number));
        assert!(!noted.note(&table, Some(weak), &[(key(2), 0x3000)]).1);
        assert_eq!(table.find(0x3000), Some(second));
        assert_eq!(
            table.find(0x2000),
            Some(second),
            "frames of the old code may be on stacks"
        );
        let to_check = noted.classes_to_check();
        assert_eq!(to_check.len(), 1);
        let gone = noted.forget(&table, to_check[0].0).unwrap();
        assert_eq!(gone.numbers, [number]);
        assert_eq!(gone.methods.len(), 2);
        assert_eq!(table.find(0x3000), None);
        assert_eq!(table.find(0x2000), None);
        assert_eq!(noted.of_key(key(1)), None);
        noted.free(gone.methods);
        noted.note(&table, Some(weak), &methods);
        assert_eq!(
            noted.methods.len(),
            2,
            "the places of forgotten methods are reused"
        );
        assert_eq!(noted.classes.len(), 1);
        let again = noted.of_key(key(1)).unwrap();
        assert_ne!(
            noted.give_number(again),
            Some(number),
            "the number of a forgotten method is not reused"
        );
    }

    #[test]
    fn a_present_address_stays_if_it_was_an_old_one_before() {
        let table = MethodTable::new();
        let mut noted = NotedMethods::default();
        let weak = Some(Weak::unknown(1));
        let (a, b) = (0x1000, 0x2000);
        noted.note(&table, weak, &[(key(1), a), (key(2), 0x10_0000)]);
        let (first, second) = (noted.of_key(key(1)), noted.of_key(key(2)));
        noted.note(&table, weak, &[(key(1), b)]);
        noted.note(&table, weak, &[(key(1), a)]);
        for n in 1..=MAX_OLD {
            noted.note(&table, weak, &[(key(2), 0x10_0000 + 8 * n)]);
        }
        assert_eq!(table.find(b), None, "too many are newer");
        assert_eq!(table.find(a), first);
        assert_eq!(table.find(0x10_0000), second);
        noted.note(&table, weak, &[(key(1), b)]);
        noted.note(&table, weak, &[(key(1), a)]);
        noted.note(&table, weak, &[(key(1), b)]);
        assert_eq!((table.find(a), table.find(b)), (first, first));
        let is_old = |address| table.find_version(address).map(|version| version.is_old);
        assert_eq!((is_old(a), is_old(b)), (Some(true), Some(false)));
        let old = &noted.classes[0].as_ref().unwrap().old;
        let of_first = old.iter().filter(|(_, method)| Some(*method) == first);
        assert_eq!(of_first.count(), 1, "the present address is not an old one");
    }

    #[test]
    fn an_old_version_stands_for_its_method() {
        let table = MethodTable::new();
        let mut noted = NotedMethods::default();
        noted.note(&table, Some(Weak::unknown(1)), &[(key(1), 0x1000)]);
        let method = noted.of_key(key(1)).unwrap();
        assert!(noted.note_old(&table, key(1), key(7), 0x7000).is_none());
        assert_eq!(noted.of_key(key(7)), Some(method));
        let version = table.find_version(0x7000).unwrap();
        assert_eq!((version.method, version.is_old), (method, true));
        assert_eq!(noted.present(key(7)), key(1));
        assert_eq!(noted.present(key(8)), key(8), "no noted method");
        assert!(noted.note_old(&table, key(8), key(9), 0x9000).is_none());
        assert_eq!(noted.of_key(key(9)), None);
        noted.note(&table, Some(Weak::unknown(2)), &[(key(7), 0x8000)]);
        assert_eq!(noted.present(key(7)), key(7), "the id of another method");
        assert!(noted.note_old(&table, key(1), key(6), 0x6000).is_none());
        let gone = noted.forget(&table, 0).unwrap();
        assert_eq!(gone.methods, [method]);
        assert_eq!((table.find(0x6000), noted.of_key(key(6))), (None, None));
        assert!(noted.of_key(key(7)).is_some());
        assert_eq!(table.find(0x7000), None);
    }

    #[test]
    fn the_methods_of_unloaded_classes_are_limited() {
        let table = MethodTable::new();
        let mut noted = NotedMethods::default();
        let weak = Weak::unknown(1);
        let methods: Vec<(MethodKey, usize)> =
            (1..=4096).map(|n| (key(n), 0x1000 + 8 * n)).collect();
        for _ in 0..MAX_GONE / methods.len() {
            assert!(!noted.is_full());
            noted.note(&table, Some(weak), &methods);
            let gone = noted.forget(&table, 0).unwrap();
            noted.free(gone.methods);
        }
        assert!(noted.is_full());
    }

    #[test]
    fn classes_of_the_boot_loader_stay() {
        let table = MethodTable::new();
        let mut noted = NotedMethods::default();
        noted.note(&table, None, &[(key(1), 0x1000)]);
        assert!(noted.classes_to_check().is_empty());
        let method = noted.of_key(key(1)).unwrap();
        assert!(matches!(noted.class(method), Some(ClassOf::Stays)));
    }
}
