//! The profiler's own objects, in the dump of a program that Loadhook profiles.
//!
//! Classes of the tracker are recognised by their names: `java.lang.$Loadhook…`, which the agent defines, and the
//! package `loadhook`, which rewritten jars have. These classes, their objects, and the threads that run them are
//! the seeds. The profiler's objects are the seeds, and every object that the roots reach only through seeds. The
//! dominator tree is not enough to find these objects, because it does not show objects that several seeds share.

use std::io::{self, Read};

use loadhook_hprof::{Error, ErrorKind, RootKind, Type};

use crate::graph::Graph;
use crate::histogram::Histogram;
use crate::object_kind::ObjectKind;
use crate::passes::Result;
use crate::store::{Column, Store};
use crate::survey::Survey;
use crate::tracker_classes::LeftOut;

/// The treatment of the profiler's own objects in a view.
#[derive(Clone, Copy)]
pub enum ProfilerObjects<'g> {
    /// The view shows the profiler's objects like the program's.
    Shown,
    /// The view leaves out the profiler's objects. If a dump has any, a graph is built to find
    /// them. The graph takes two more passes and this many bytes of memory.
    LeftOut(u64),
    /// The objects that [`Graph::leave_out_profiler`] found are left out.
    LeftOutOf(&'g Graph),
}

impl ProfilerObjects<'_> {
    /// Returns the identifiers of the objects to leave out, in order. If a graph was built to find
    /// them, also returns the histogram without these objects.
    pub(crate) fn find<R: Read>(
        self,
        survey: &Survey,
        open: impl Fn() -> io::Result<R>,
    ) -> Result<(Vec<u64>, Option<Histogram>)> {
        match self {
            ProfilerObjects::LeftOut(memory) if survey.tracker_classes().is_some() => {
                let (mut graph, _) = Graph::read(open, memory)?;
                graph.leave_out_profiler()?;
                let ids = graph.ids_left_out()?;
                Ok((ids, Some(graph.histogram)))
            }
            ProfilerObjects::LeftOutOf(graph) => {
                Ok((graph.ids_left_out()?, Some(graph.histogram.clone())))
            }
            ProfilerObjects::Shown | ProfilerObjects::LeftOut(_) => Ok((Vec::new(), None)),
        }
    }
}

/// Length of the `long[]` into which the tracker writes its counts for the agent. Only native code refers to this
/// array (see `BUFFER_WORDS` in `agent/src/tracker/client.rs`).
const BUFFER: u32 = 1 << 13;

/// The mark of an object that belongs to the program.
const PROGRAM: u32 = 1;
/// The mark of an object that belongs to the profiler.
const PROFILER: u32 = 2;

impl Graph {
    /// Leaves the profiler's own objects out of the histogram and out of all later results. If the dump is cut
    /// off, leaves out only the seeds: roots may be missing, so the objects that only seeds keep alive are not
    /// known.
    ///
    /// # Errors
    ///
    /// Fails if the temporary file has no room or cannot be read.
    pub fn leave_out_profiler(&mut self) -> Result<()> {
        let Some(is_tracker) = self.survey.tracker_classes() else {
            return Ok(());
        };
        let marks = self.checked(|store| {
            let marks = self.seeds(store, &is_tracker)?;
            if !self.is_cut_off {
                let program: Vec<u32> = self.roots.clone();
                self.reach(store, &marks, program.into_iter(), PROGRAM)?;
                self.reach_from_seeds(store, &marks)?;
            }
            Ok(marks)
        })?;
        let (number, counts) = self.checked(|store| self.counts(store, &marks))?;
        self.histogram.leave_out(&counts);
        self.left_out = number;
        self.marks = Some(marks);
        let is_programs: Vec<bool> = {
            let roots = self.roots.iter();
            roots.map(|root| !self.is_left_out(*root)).collect()
        };
        self.check()?;
        let mut is_programs = is_programs.into_iter();
        self.roots.retain(|_| is_programs.next() == Some(true));
        Ok(())
    }

    /// Returns whether an object belongs to the profiler and is left out.
    #[must_use]
    pub fn is_left_out(&self, object: u32) -> bool {
        self.query(|store| self.is_left_out_in(store, object))
    }

    #[inline]
    pub(crate) fn is_left_out_in(&self, store: &mut Store, object: u32) -> io::Result<bool> {
        match &self.marks {
            Some(marks) => Ok(store.get(marks, object as usize)? == PROFILER),
            None => Ok(false),
        }
    }

    /// Returns the identifiers of the objects that are left out, in order.
    pub(crate) fn ids_left_out(&self) -> Result<Vec<u64>> {
        if self.marks.is_none() {
            return Ok(Vec::new());
        }
        self.checked(|store| {
            let mut ids = Vec::new();
            for object in 0..self.len() {
                if self.is_left_out_in(store, object)? {
                    if ids.len() == ids.capacity() {
                        ids.try_reserve((ids.len() / 8).max(1 << 10))
                            .map_err(|_| io::ErrorKind::OutOfMemory)?;
                    }
                    ids.push(self.id_in(store, object)?);
                }
            }
            Ok(ids)
        })
    }

    fn checked<T>(&self, ask: impl FnOnce(&mut Store) -> io::Result<T>) -> Result<T> {
        ask(&mut self.store.borrow_mut()).map_err(|error| Error {
            kind: ErrorKind::Io(error),
            at: self.end,
        })
    }

    /// Marks the seeds.
    fn seeds(&self, store: &mut Store, is_tracker: &[bool]) -> io::Result<Column> {
        let marks = store.column(self.len() as usize);
        for object in 0..self.len() {
            let (ObjectKind::Instance(class) | ObjectKind::Array(class) | ObjectKind::Class(class)) =
                self.kind_in(store, object)?;
            if is_tracker[class as usize] {
                store.set(&marks, object as usize, PROFILER)?;
            }
        }
        self.buffer(store, &marks)?;
        // A thread that runs an object of the tracker refers to that object by `target`, or since JDK 19 by
        // `holder.task`.
        let is_thread = self.extends(b"java/lang/Thread");
        let is_holder = self.extends(b"java/lang/Thread$FieldHolder");
        for is_it in [is_holder, is_thread] {
            self.spread(store, &marks, &is_it, |of, all| of > 0 && all > 0)?;
        }
        // Thread-local entries whose value belongs to the tracker, and the tables and maps that
        // have only such entries. The key of an entry is a weak reference, which the graph does not
        // contain.
        for name in [
            &b"java/lang/ThreadLocal$ThreadLocalMap$Entry"[..],
            b"[Ljava/lang/ThreadLocal$ThreadLocalMap$Entry;",
            b"java/lang/ThreadLocal$ThreadLocalMap",
        ] {
            let is_it = self.extends(name);
            self.spread(store, &marks, &is_it, |of, all| of > 0 && of == all)?;
        }
        Ok(marks)
    }

    /// Marks the agent's buffer.
    fn buffer(&self, store: &mut Store, marks: &Column) -> io::Result<()> {
        let longs = self.survey.size_model().array(Type::Long, BUFFER);
        for root in &self.roots {
            let kind = self.root(*root).map(|root| root.kind);
            if kind == Some(RootKind::JniGlobal)
                && self.kind_in(store, *root)? == ObjectKind::Array(Type::Long as u32)
                && self.size_in(store, *root)? == longs
            {
                store.set(marks, *root as usize, PROFILER)?;
            }
        }
        Ok(())
    }

    /// Returns for each class whether it has this name or extends a class of this name.
    fn extends(&self, name: &[u8]) -> Vec<bool> {
        let survey = &self.survey;
        let is_it = survey.inherited(|class| (survey.internal_name(class) == name).then_some(()));
        is_it.iter().map(Option::is_some).collect()
    }

    /// Marks objects of the classes in `is_it` as the profiler's, if `is_profilers` returns true for them. Its first
    /// argument is the object's number of references to the profiler's objects, the second its number of all
    /// references. References to class objects do not count.
    fn spread(
        &self,
        store: &mut Store,
        marks: &Column,
        is_it: &[bool],
        is_profilers: impl Fn(u32, u32) -> bool,
    ) -> io::Result<()> {
        for object in 0..self.len() {
            let (ObjectKind::Instance(class) | ObjectKind::Array(class)) =
                self.kind_in(store, object)?
            else {
                continue;
            };
            if !is_it[class as usize] {
                continue;
            }
            let (mut marked, mut all) = (0, 0);
            let mut next = self.first_in(store, object)?;
            while let Some(to) = self.reference_in(store, &mut next)? {
                if !matches!(self.kind_in(store, to)?, ObjectKind::Class(_)) {
                    all += 1;
                    marked += u32::from(store.get(marks, to as usize)? == PROFILER);
                }
            }
            if is_profilers(marked, all) {
                store.set(marks, object as usize, PROFILER)?;
            }
        }
        Ok(())
    }

    /// Marks the objects that are reachable from the objects in `from` through objects without a
    /// mark.
    fn reach(
        &self,
        store: &mut Store,
        marks: &Column,
        from: impl Iterator<Item = u32>,
        mark: u32,
    ) -> io::Result<()> {
        let mut stack = store.column(0);
        for object in from {
            if store.get(marks, object as usize)? == 0 {
                store.set(marks, object as usize, mark)?;
                store.push(&mut stack, object)?;
            }
            while stack.len() > 0 {
                let object = store.pop(&mut stack)?;
                let mut next = self.first_in(store, object)?;
                while let Some(to) = self.reference_in(store, &mut next)? {
                    if store.get(marks, to as usize)? == 0 {
                        store.set(marks, to as usize, mark)?;
                        store.push(&mut stack, to)?;
                    }
                }
            }
        }
        store.free(stack);
        Ok(())
    }

    fn reach_from_seeds(&self, store: &mut Store, marks: &Column) -> io::Result<()> {
        for object in 0..self.len() {
            if store.get(marks, object as usize)? == PROFILER {
                let below = self.references_in(store, object)?;
                self.reach(store, marks, below.into_iter(), PROFILER)?;
            }
        }
        Ok(())
    }

    /// Returns the number of objects that are left out, and their counts by the identifier of the
    /// class.
    fn counts(&self, store: &mut Store, marks: &Column) -> io::Result<(u32, Vec<(u64, LeftOut)>)> {
        let classes = &self.survey.classes;
        let java_lang_class = self.survey.java_lang_class().unwrap_or(0);
        let mut counts: Vec<(u64, LeftOut)> = (0..)
            .zip(classes)
            .map(|(index, entry)| {
                (
                    if entry.id == 0 { index } else { entry.id },
                    LeftOut::default(),
                )
            })
            .collect();
        let mut number = 0;
        for object in 0..self.len() {
            if store.get(marks, object as usize)? == PROFILER {
                number += 1;
                let class = self.class_in(store, object)?.unwrap_or(java_lang_class);
                let bytes = self.size_in(store, object)?;
                let (_, count) = &mut counts[class as usize];
                count.instances += 1;
                count.bytes += bytes;
            }
        }
        Ok((number, counts))
    }
}
