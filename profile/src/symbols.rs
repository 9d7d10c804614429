//! The names behind the method ids of a snapshot.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::{Method, Profile, ThreadTree};
use crate::snapshot::{OVERFLOW, Snapshot};

/// The methods of one JVM by the ids that the injected code passes.
///
/// Ids are dense, so they index a vector. Strings that repeat, as class names
/// and descriptors do, are kept once.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    methods: Vec<Option<Method>>,
    strings: HashSet<Arc<str>>,
}

impl Symbols {
    /// Gives `id` its method; a second definition replaces the first.
    pub fn define(&mut self, id: u32, method: Method) {
        let method = Method {
            loader: self.intern(method.loader),
            class: self.intern(method.class),
            name: self.intern(method.name),
            descriptor: self.intern(method.descriptor),
            file: method.file.map(|file| self.intern(file)),
            line: method.line,
        };
        let index = id as usize;
        if self.methods.len() <= index {
            self.methods.resize(index + 1, None);
        }
        self.methods[index] = Some(method);
    }

    /// The method of `id`, if defined.
    pub fn get(&self, id: u32) -> Option<&Method> {
        self.methods.get(id as usize)?.as_ref()
    }

    /// How many ids there may be: one more than the highest defined.
    pub fn len(&self) -> usize {
        self.methods.len()
    }

    /// Whether no id was defined.
    pub fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }

    /// Names the methods of a snapshot. Only those that were called come into
    /// the profile; an id without definition becomes [`Method::unknown`].
    ///
    /// The header lacks what the tracker cannot know: command, JVM, versions,
    /// what was left alone.
    pub fn profile(&self, snapshot: Snapshot) -> Profile {
        let mut methods = Vec::new();
        let mut indexes: HashMap<u32, u32> = HashMap::new();
        let threads = snapshot.threads.into_iter().map(|mut thread: ThreadTree| {
            for node in &mut thread.nodes {
                let id = node.method;
                node.method = *indexes.entry(id).or_insert_with(|| {
                    methods.push(match self.get(id) {
                        Some(method) => method.clone(),
                        None if id == OVERFLOW => Method::overflow(),
                        None => Method::unknown(id),
                    });
                    methods.len() as u32 - 1
                });
            }
            thread
        });
        let threads = threads.collect();
        Profile {
            header: snapshot.header,
            methods,
            threads,
            allocations: None,
        }
    }

    fn intern(&mut self, text: Arc<str>) -> Arc<str> {
        match self.strings.get(&text) {
            Some(kept) => kept.clone(),
            None => {
                self.strings.insert(text.clone());
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Header, Node};

    #[test]
    fn strings_are_shared() {
        let mut symbols = Symbols::default();
        symbols.define(0, Method::new("a.B", "run", "()V"));
        symbols.define(2, Method::new("a.B", "stop", "()V"));
        let [run, stop] = [0, 2].map(|id| symbols.get(id).expect("defined"));
        assert!(Arc::ptr_eq(&run.class, &stop.class));
        assert!(Arc::ptr_eq(&run.descriptor, &stop.descriptor));
        assert_eq!(symbols.get(1), None);
        assert_eq!(symbols.len(), 3);
    }

    #[test]
    fn only_called_methods_are_named() {
        let mut symbols = Symbols::default();
        symbols.define(7, Method::new("a.B", "run", "()V"));
        let call = |method| Node {
            method,
            calls: 1,
            ..Node::default()
        };
        let snapshot = Snapshot {
            header: Header::default(),
            threads: vec![ThreadTree {
                name: "main".into(),
                id: Some(1),
                kind: Default::default(),
                nodes: [9, 7, 9, OVERFLOW].map(call).to_vec(),
            }],
        };
        let profile = symbols.profile(snapshot);
        let indexes: Vec<u32> = profile.threads[0].nodes.iter().map(|n| n.method).collect();
        assert_eq!(indexes, [0, 1, 0, 2]);
        assert_eq!(profile.methods[0], Method::unknown(9));
        assert_eq!(&*profile.methods[1].name, "run");
        assert_eq!(profile.methods[2], Method::overflow());
    }
}
