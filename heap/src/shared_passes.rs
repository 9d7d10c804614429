//! All views of a dump in four passes.
//!
//! | pass | reads |
//! |---|---|
//! | 1 | classes, names, roots, a record for each object; stacks |
//! | 2 | references; the objects of threads and variables |
//! | 3 | hashes of arrays; details of objects; names and strings of threads |
//! | 4 | the beginnings of duplicates |
//!
//! Between passes 2 and 3 the caller has the graph, from which it chooses the objects
//! whose details it wants.

use std::io::{self, Read};

use loadhook_hprof::{Both, Error};

use crate::array_hashes::ArrayHashes;
use crate::details::{Details, DetailsReader};
use crate::duplicates::{DuplicateGroups, Duplicates};
use crate::graph::{Graph, survey_of_objects};
use crate::object_kind::ObjectKind;
use crate::passes::{Result, pass};
use crate::previews::ArrayPrefixes;
use crate::references::ReferenceReader;
use crate::stack_tables::{StackSurvey, StackTables};
use crate::strings::StringClass;
use crate::survey::Survey;
use crate::thread_objects::{FoundObjects, ObjectSearch};
use crate::threads::{Thread, ThreadAssembly, Threads};

/// A dump after the first two passes.
pub struct SharedPasses {
    /// The objects of the dump and their references.
    pub graph: Graph,
    stacks: StackTables,
    thread_objects: FoundObjects,
    shows_profiler: bool,
}

/// The parts of the views that the caller chooses.
pub struct ViewRequest<'r> {
    /// Objects whose details are wanted.
    pub objects: &'r [u32],
    /// Fields of an object at most.
    pub most_fields: usize,
    /// Pairs of objects the first of which refers to the second: the name of the reference is
    /// wanted.
    pub pairs: &'r [(u32, u32)],
    /// Duplicates at most.
    pub duplicates: usize,
    /// Bytes that hashes of arrays may take.
    pub memory: u64,
}

/// The views of a dump, beside those that its graph has.
pub struct Views {
    /// Details of objects.
    pub details: Details,
    /// Strings and arrays that occur more than once.
    pub duplicates: Duplicates,
    /// Threads with their stacks.
    pub threads: Threads,
}

impl SharedPasses {
    /// Reads the graph of a dump as [`Graph::read`] does, in two passes. The profiler's own objects
    /// are left out of it unless `shows_profiler`. If the dump is cut off, the result is that of
    /// the part before, and the error comes with it.
    ///
    /// # Errors
    ///
    /// Fails as [`Graph::read`] does.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        memory: u64,
        shows_profiler: bool,
    ) -> Result<(SharedPasses, Option<Error>)> {
        let mut first = StackSurvey::new(survey_of_objects(memory));
        let (end, cut_off) = pass(&open, &mut first)?;
        let StackSurvey { survey, mut stacks } = first;
        if cut_off.is_some() {
            stacks.add_threads_without_object();
        }
        let second_pass = |survey: &Survey, references: &mut ReferenceReader<'_>| {
            let string_class = StringClass::of(survey);
            let mut search = ObjectSearch::new(survey, string_class.as_ref(), stacks.objects());
            let (end, _) = pass(&open, &mut Both(references, &mut search))?;
            Ok((end, search.finish()))
        };
        let (mut graph, thread_objects) =
            Graph::new(survey, memory, end, cut_off.is_some(), second_pass)?;
        if !shows_profiler {
            graph.leave_out_profiler()?;
            stacks.leave_out(&graph.ids_left_out()?);
        }
        let shared = SharedPasses {
            graph,
            stacks,
            thread_objects,
            shows_profiler,
        };
        Ok((shared, cut_off))
    }

    /// Reads the other views in two more passes.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](fn@loadhook_hprof::read) does, but not on a dump that is cut off. Also
    /// fails if `open` gives another dump than the graph was made of, and at the first array or
    /// string for which the memory has no room.
    pub fn views<R: Read>(
        &self,
        open: impl Fn() -> io::Result<R>,
        request: &ViewRequest<'_>,
    ) -> Result<Views> {
        let graph = &self.graph;
        let survey = &graph.survey;
        let string_class = StringClass::of(survey);
        let string_class = string_class.as_ref();
        let left_out = graph.ids_left_out()?;
        let mut hashes = ArrayHashes::new(survey, &left_out, string_class, request.memory);
        let ViewRequest {
            objects,
            most_fields,
            pairs,
            ..
        } = *request;
        let mut details = DetailsReader::new(graph, string_class, objects, most_fields, pairs);
        let names = self.thread_objects.names.values().copied();
        let mut names = ObjectSearch::new(survey, string_class, names);
        let mut thread_strings = ArrayPrefixes::new(survey, self.arrays_of_threads().into_iter());
        let mut of_threads = Both(&mut names, &mut thread_strings);
        let mut of_objects = Both(&mut hashes, &mut details);
        let (end, _) = pass(&open, &mut Both(&mut of_objects, &mut of_threads))?;
        let details = details.finish(end)?;
        let threads = self.threads(&names.finish(), &thread_strings);
        drop(thread_strings);

        let groups = DuplicateGroups::new(survey, string_class, hashes, request.duplicates);
        let mut prefixes = groups.prefixes();
        pass(&open, &mut prefixes)?;
        let duplicates = groups.finish(&prefixes);
        let histogram = graph.histogram.clone();
        Ok(Views {
            details,
            duplicates: duplicates.with_histogram(histogram.clone()),
            threads: Threads { histogram, threads },
        })
    }

    /// Arrays of the strings that threads show, each as often as it is shown. The array of
    /// a thread's name is one of the objects that the name refers to: its own fields are read in the
    /// same pass.
    fn arrays_of_threads(&self) -> Vec<u64> {
        let graph = &self.graph;
        let strings = self.thread_objects.strings.values();
        let mut arrays: Vec<u64> = strings.map(|value| value.array).collect();
        for thread in self.stacks.threads.values() {
            let name = self.thread_objects.names.get(&thread.object);
            let name = name.and_then(|name| graph.object(*name));
            for object in name.map_or_else(Vec::new, |name| graph.references(name)) {
                if matches!(graph.kind(object), ObjectKind::Array(_)) {
                    arrays.push(graph.id(object));
                }
            }
        }
        arrays
    }

    fn threads(&self, names: &FoundObjects, strings: &ArrayPrefixes<'_>) -> Vec<Thread> {
        let assembly = ThreadAssembly {
            survey: &self.graph.survey,
            stacks: &self.stacks,
            objects: &self.thread_objects,
            names,
        };
        assembly.threads(strings, self.shows_profiler)
    }
}
