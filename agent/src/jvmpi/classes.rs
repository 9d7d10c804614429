//! Keeps the classes that `CLASS_LOAD` events have described, with their methods.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_profile::Method;
use loadhook_rewrite::symbol::text;

use super::events::{LoadedClass, MethodId};
use crate::frames::resolve::type_name;
use crate::instrument::hidden_names::without_address;
use crate::tracker;

/// `JVMPI_NORMAL_OBJECT`: an object that is no array.
const OBJECT: i32 = 0;
/// `JVMPI_CLASS`: an array of references.
const REFERENCES: i32 = 2;

/// The index of the method that stands for callers beyond the recorded depth.
pub(super) const DEEPER: u32 = 0;

/// The index of the method that stands for all methods that the VM does not describe.
const UNKNOWN: u32 = 1;

/// The classes so far. A class keeps its number and name when it is unloaded, because a profile may have objects of the
/// class.
pub(super) struct Classes {
    all: Vec<Class>,
    /// For the id of each method of a loaded class, its index in `methods`.
    by_id: HashMap<MethodId, u32>,
    methods: Vec<Method>,
}

struct Class {
    name: Arc<str>,
    /// Ids of the class's methods, as long as the class is loaded.
    methods: Vec<MethodId>,
}

impl Default for Classes {
    fn default() -> Self {
        Classes {
            all: Vec::new(),
            by_id: HashMap::new(),
            methods: ["(deeper)", "(unknown)"]
                .map(|name| Method::new(name, "", ""))
                .into(),
        }
    }
}

impl Classes {
    /// Adds a class and returns its number. `known` is the number of a class that is described again: a VM may describe
    /// a class before it knows the class's methods.
    pub(super) fn add(&mut self, known: Option<u32>, loaded: &LoadedClass<'_>) -> u32 {
        let number = known.unwrap_or_else(|| {
            self.all.push(Class {
                name: text(without_address(loaded.name)).into(),
                methods: Vec::new(),
            });
            self.all.len() as u32 - 1
        });
        let Some(class) = self.all.get_mut(number as usize) else {
            return number;
        };
        let file: Option<Arc<str>> = loaded.source_file.map(|file| text(file).into());
        for method in &loaded.methods {
            if class.methods.contains(&method.method) {
                continue;
            }
            let symbol = Method {
                class: class.name.clone(),
                file: file.clone(),
                line: method.line,
                ..Method::new("", &text(method.name), &text(method.descriptor))
            };
            // If the id belonged to another method, it belongs to this method from now on.
            self.by_id.insert(method.method, self.methods.len() as u32);
            self.methods.push(symbol);
            class.methods.push(method.method);
        }
        number
    }

    /// Forgets the ids of a class that is unloaded.
    pub(super) fn unload(&mut self, number: u32) {
        let Some(class) = self.all.get_mut(number as usize) else {
            return;
        };
        for method in std::mem::take(&mut class.methods) {
            let known = self
                .by_id
                .get(&method)
                .and_then(|at| self.methods.get(*at as usize));
            if known.is_some_and(|known| known.class == class.name) {
                self.by_id.remove(&method);
            }
        }
    }

    /// Returns the index of a method; `None` if its class is not known.
    pub(super) fn method(&self, id: MethodId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// Marks a method as unknown, if it is still not known, so that the VM is not asked for it again.
    pub(super) fn give_up(&mut self, id: MethodId) {
        self.by_id.entry(id).or_insert(UNKNOWN);
    }

    /// Returns the methods so far, by their indexes.
    pub(super) fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Returns whether a method belongs to the tracker. Objects that the tracker allocates are not the program's.
    pub(super) fn is_trackers(&self, method: u32) -> bool {
        let method = self.methods.get(method as usize);
        method.is_some_and(|method| tracker::is_trackers(&method.class))
    }

    /// Returns the name of a type in Java notation, from the number of the class and the kind that `OBJECT_ALLOC`
    /// gives.
    pub(super) fn type_name(&self, class: Option<u32>, kind: i32) -> String {
        let class = class.and_then(|number| self.all.get(number as usize));
        let descriptor = match class.map(|class| &*class.name) {
            Some(array) if array.starts_with('[') => array.to_owned(),
            Some(class) => format!("L{class};"),
            None => "L?;".to_owned(),
        };
        match kind {
            OBJECT => type_name(descriptor.as_bytes()),
            REFERENCES => type_name(format!("[{descriptor}").as_bytes()),
            // JVMS table 6.5.newarray-A has the same numbers.
            _ => match b"ZCFDBSIJ".get((kind as usize).wrapping_sub(4)) {
                Some(element) => type_name(&[b'[', *element]),
                None => "?".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::LoadedMethod;
    use super::*;
    use loadhook_profile::gc_events::ObjectId;

    fn loaded(name: &'static str, methods: &[usize]) -> LoadedClass<'static> {
        let method = |id: &usize| LoadedMethod {
            method: MethodId(*id),
            name: b"run",
            descriptor: b"()V",
            line: Some(3),
        };
        LoadedClass {
            class: ObjectId(16),
            name: name.as_bytes(),
            source_file: Some(b"A.java"),
            methods: methods.iter().map(method).collect(),
        }
    }

    #[test]
    fn types_are_written_as_in_java() {
        let mut classes = Classes::default();
        let mut add = |name| Some(classes.add(None, &loaded(name, &[])));
        let [string, ints, strings] =
            ["java.lang.String", "[I", "[Ljava.lang.String;"].map(&mut add);
        for (class, kind, name) in [
            (string, 0, "java.lang.String"),
            (string, 2, "java.lang.String[]"),
            (ints, 2, "int[][]"),
            (strings, 2, "java.lang.String[][]"),
            (None, 4, "boolean[]"),
            (None, 11, "long[]"),
            (None, 0, "?"),
            (None, 2, "?[]"),
            (None, 12, "?"),
            (None, i32::MIN, "?"),
        ] {
            assert_eq!(classes.type_name(class, kind), name, "{kind}");
        }
    }

    #[test]
    fn an_id_names_the_method_that_has_it_now() {
        let mut classes = Classes::default();
        let class = |classes: &Classes, id| {
            let method = classes.method(MethodId(id))?;
            Some(classes.methods()[method as usize].class.to_string())
        };
        let first = classes.add(None, &loaded("a.First", &[1, 2]));
        let second = classes.add(None, &loaded("a.Second", &[2, 3]));
        assert_eq!(class(&classes, 1).as_deref(), Some("a.First"));
        classes.unload(first);
        assert_eq!(class(&classes, 1), None);
        assert_eq!(class(&classes, 2).as_deref(), Some("a.Second"));
        classes.unload(second);
        classes.unload(second);
        assert_eq!(class(&classes, 2), None);
    }
}
