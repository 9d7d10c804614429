//! The shortest ways from roots to objects.

use std::io;

use loadhook_hprof::{Error, ErrorKind, RootKind};

use crate::graph::Graph;
use crate::passes::Result;
use crate::store::{Column, Store};

/// For every object the one before it on the shortest way from a root.
///
/// A way begins at a thread's variable only if there is no other: an object that a
/// running method has at hand is most often held by a field, too.
pub struct Ways<'g> {
    graph: &'g Graph,
    /// The object before, plus 1; of roots themselves. 0 of objects without a way.
    by: Column,
    /// Where the way begins, plus 1.
    root: Column,
}

impl Graph {
    /// Finds the ways to all objects.
    ///
    /// # Errors
    ///
    /// If the temporary file has no room, or cannot be read.
    pub fn ways(&self) -> Result<Ways<'_>> {
        let found = {
            let store = &mut *self.store.borrow_mut();
            let root = store.column(self.len() as usize);
            let by = self.search(store, None, Some(&root));
            by.map(|by| (by, root))
        };
        let (by, root) = found.map_err(|error| Error {
            kind: ErrorKind::Io(error),
            at: self.end,
        })?;
        Ok(Ways {
            graph: self,
            by,
            root,
        })
    }

    /// The way from an object up to a root, both included; empty if there is none.
    pub(crate) fn path(&self, store: &mut Store, object: u32) -> io::Result<Vec<u32>> {
        let by = self.search(store, Some(object), None)?;
        let mut path = vec![object];
        let mut last = object;
        while let Some(from) = store.get(&by, last as usize)?.checked_sub(1)
            && from != last
        {
            path.push(from);
            last = from;
        }
        store.free(by);
        Ok(path)
    }

    fn is_variable(&self, root: u32) -> bool {
        let kind = self.root(root).map(|root| root.kind);
        matches!(kind, Some(RootKind::JavaFrame | RootKind::JniLocal))
    }

    /// Breadth first from the roots, those that are variables last, until an object is
    /// found.
    fn search(
        &self,
        store: &mut Store,
        until: Option<u32>,
        root_of: Option<&Column>,
    ) -> io::Result<Column> {
        let by = store.column(self.len() as usize);
        let mut queue = store.column(0);
        let mut at = 0;
        for variables in [false, true] {
            for root in &self.roots {
                if self.is_variable(*root) == variables && store.get(&by, *root as usize)? == 0 {
                    store.set(&by, *root as usize, root + 1)?;
                    if let Some(root_of) = root_of {
                        store.set(root_of, *root as usize, root + 1)?;
                    }
                    store.push(&mut queue, *root)?;
                }
            }
            while at < queue.len() {
                if let Some(object) = until
                    && store.get(&by, object as usize)? != 0
                {
                    break;
                }
                store.passed(&queue, at);
                let from = store.get(&queue, at)?;
                at += 1;
                let mut next = self.first_in(store, from)?;
                while let Some(to) = self.reference_in(store, &mut next)? {
                    if store.get(&by, to as usize)? != 0 || self.is_left_out_in(store, to)? {
                        continue;
                    }
                    store.set(&by, to as usize, from + 1)?;
                    if let Some(root_of) = root_of {
                        let root = store.get(root_of, from as usize)?;
                        store.set(root_of, to as usize, root)?;
                    }
                    store.push(&mut queue, to)?;
                }
            }
        }
        store.free(queue);
        Ok(by)
    }
}

impl Ways<'_> {
    /// The object before on the way; `None` of a root, and of an object without a way.
    #[must_use]
    pub fn before(&self, object: u32) -> Option<u32> {
        self.graph.told(|store| {
            let by = store.get(&self.by, object as usize)?.checked_sub(1);
            Ok(by.filter(|by| *by != object))
        })
    }

    /// The root where the way begins; `None` of an object without a way.
    #[must_use]
    pub fn root(&self, object: u32) -> Option<u32> {
        self.graph.told(|store| {
            let root = store.get(&self.root, object as usize)?;
            Ok(root.checked_sub(1))
        })
    }
}
