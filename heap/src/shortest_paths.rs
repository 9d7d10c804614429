//! The shortest paths from roots to objects.

use std::io;

use loadhook_hprof::{Error, ErrorKind, RootKind};

use crate::graph::Graph;
use crate::passes::Result;
use crate::store::{Column, Store};

/// The shortest path from a root to every object.
///
/// A path begins at a variable of a thread only if there is no other path. Most objects that a
/// running method uses are also held by a field, and the field explains more.
pub struct ShortestPaths<'g> {
    graph: &'g Graph,
    /// For each object, the previous object on its path, plus 1; 0 for an unreachable object. The previous object
    /// of a root is the root itself.
    previous: Column,
    /// For each object, the root where its path begins, plus 1.
    root: Column,
}

impl Graph {
    /// Finds the paths to all objects.
    ///
    /// # Errors
    ///
    /// Fails if the temporary file has no room or cannot be read.
    pub fn shortest_paths(&self) -> Result<ShortestPaths<'_>> {
        let found = {
            let store = &mut *self.store.borrow_mut();
            let root = store.column(self.len() as usize);
            let previous = self.search(store, None, Some(&root));
            previous.map(|previous| (previous, root))
        };
        let (previous, root) = found.map_err(|error| Error {
            kind: ErrorKind::Io(error),
            at: self.end,
        })?;
        Ok(ShortestPaths {
            graph: self,
            previous,
            root,
        })
    }

    /// Returns the path from an object to a root, both included. The object must be reachable.
    pub(crate) fn path(&self, store: &mut Store, object: u32) -> io::Result<Vec<u32>> {
        let previous = self.search(store, Some(object), None)?;
        let mut path = vec![object];
        let mut last = object;
        while let Some(from) = store.get(&previous, last as usize)?.checked_sub(1)
            && from != last
        {
            path.push(from);
            last = from;
        }
        store.free(previous);
        Ok(path)
    }

    fn is_variable(&self, root: u32) -> bool {
        let kind = self.root(root).map(|root| root.kind);
        matches!(kind, Some(RootKind::JavaFrame | RootKind::JniLocal))
    }

    /// Searches breadth first from the roots, variables last, until an object is found. Returns for
    /// each object the previous object on its path.
    fn search(
        &self,
        store: &mut Store,
        until: Option<u32>,
        root_of: Option<&Column>,
    ) -> io::Result<Column> {
        let previous = store.column(self.len() as usize);
        let mut queue = store.column(0);
        let mut at = 0;
        for variables in [false, true] {
            for root in &self.roots {
                if self.is_variable(*root) == variables
                    && store.get(&previous, *root as usize)? == 0
                {
                    store.set(&previous, *root as usize, root + 1)?;
                    if let Some(root_of) = root_of {
                        store.set(root_of, *root as usize, root + 1)?;
                    }
                    store.push(&mut queue, *root)?;
                }
            }
            while at < queue.len() {
                if let Some(object) = until
                    && store.get(&previous, object as usize)? != 0
                {
                    break;
                }
                store.passed(&queue, at);
                let from = store.get(&queue, at)?;
                at += 1;
                let mut next = self.first_in(store, from)?;
                while let Some(to) = self.reference_in(store, &mut next)? {
                    if store.get(&previous, to as usize)? != 0 || self.is_left_out_in(store, to)? {
                        continue;
                    }
                    store.set(&previous, to as usize, from + 1)?;
                    if let Some(root_of) = root_of {
                        let root = store.get(root_of, from as usize)?;
                        store.set(root_of, to as usize, root)?;
                    }
                    store.push(&mut queue, to)?;
                }
            }
        }
        store.free(queue);
        Ok(previous)
    }
}

impl ShortestPaths<'_> {
    /// Returns the previous object on the path of an object; `None` for a root and for an unreachable object.
    #[must_use]
    pub fn previous(&self, object: u32) -> Option<u32> {
        self.graph.query(|store| {
            let previous = store.get(&self.previous, object as usize)?.checked_sub(1);
            Ok(previous.filter(|previous| *previous != object))
        })
    }

    /// Returns the root where the path of an object begins; `None` for an unreachable object.
    #[must_use]
    pub fn root(&self, object: u32) -> Option<u32> {
        self.graph.query(|store| {
            let root = store.get(&self.root, object as usize)?;
            Ok(root.checked_sub(1))
        })
    }
}
