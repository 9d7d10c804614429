//! All views of a dump in four passes.
//!
//! | pass | reads |
//! |---|---|
//! | 1 | classes, names, roots, a record for each object; stacks |
//! | 2 | references; the objects of threads and variables |
//! | 3 | hashes of arrays; details of objects; names and strings of threads |
//! | 4 | the beginnings of duplicates |
//!
//! Between passes 2 and 3 the caller uses the graph to select the objects whose details pass 3 reads.

use std::collections::HashMap;
use std::io::{self, Read};

use loadhook_hprof::{Both, Error, ErrorKind};

use crate::array_hashes::{ArrayHashes, bytes_of_hashes};
use crate::details::{Details, DetailsReader};
use crate::duplicates::{DuplicateGroups, Duplicates};
use crate::graph::{Graph, survey_of_objects};
use crate::memory_budget::{ENTRY, SharedBudget};
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

/// The data that the caller wants from pass 3.
pub struct ViewRequest<'r> {
    /// Objects whose details are read.
    pub objects: &'r [u32],
    /// Maximum number of fields per object.
    pub most_fields: usize,
    /// Pairs of objects in which the first object refers to the second. For each pair, the name of that reference
    /// is read.
    pub pairs: &'r [(u32, u32)],
    /// Maximum number of duplicates.
    pub duplicates: usize,
    /// Maximum number of bytes that hashes of arrays may take.
    pub memory: u64,
}

/// The views of a dump that its graph does not provide.
pub struct Views {
    /// Details of objects.
    pub details: Details,
    /// Strings and arrays that occur more than once.
    pub duplicates: Duplicates,
    /// Threads with their stacks.
    pub threads: Threads,
}

impl SharedPasses {
    /// Reads the graph of a dump as [`Graph::read`] does, in two passes. The profiler's own objects are left out
    /// of the graph unless `shows_profiler` is true. If the dump is cut off, the result covers the part before
    /// the cut, and the error is returned with it.
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

    /// Returns the number of bytes that the hashes of arrays take; see [`ViewRequest::memory`].
    #[must_use]
    pub fn bytes_of_hashes(&self) -> u64 {
        let survey = &self.graph.survey;
        bytes_of_hashes(survey, StringClass::of(survey).as_ref())
    }

    /// Moves up to `bytes` bytes of the graph from memory to its temporary file.
    ///
    /// # Errors
    ///
    /// Fails if the temporary file has no room.
    pub fn give_back_memory(&self, bytes: u64) -> Result<()> {
        let given = self.graph.store.borrow_mut().give_back(bytes);
        given.map_err(|error| Error {
            kind: ErrorKind::Io(error),
            at: self.graph.end,
        })
    }

    /// Reads details, duplicates and threads in two more passes.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](fn@loadhook_hprof::read) does, but not on a dump that is cut off. Also
    /// fails if `open` opens another dump than the graph's, and at the first array or
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
        let budget = SharedBudget::new(survey.budget);
        let arrays = self.arrays_of_threads(string_class, &budget);
        let arrays = arrays.map_err(|kind| Error {
            kind,
            at: graph.end,
        })?;
        let mut thread_strings = ArrayPrefixes::within(budget.clone(), survey, arrays.into_iter());
        let mut details =
            DetailsReader::new(graph, string_class, objects, most_fields, pairs, budget);
        let names = self.thread_objects.names.values().copied();
        let mut names = ObjectSearch::new(survey, string_class, names);
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

    /// Returns the arrays of the strings that threads show, and how often each array is shown. The arrays of
    /// threads' names are found through the graph. The fields of a name would show its array too late, because one pass
    /// reads the name and the array.
    fn arrays_of_threads(
        &self,
        string_class: Option<&StringClass>,
        budget: &SharedBudget,
    ) -> std::result::Result<HashMap<u64, u32>, ErrorKind> {
        let graph = &self.graph;
        let strings = self.thread_objects.strings.values();
        let mut shown = Shown::new(budget);
        for value in strings {
            shown.add(value.array, 1)?;
        }
        let mut names = Shown::new(budget);
        for thread in self.stacks.threads.values() {
            if let Some(name) = self.thread_objects.names.get(&thread.object) {
                names.add(*name, 1)?;
            }
        }
        // In a broken dump the name may be any object.
        let is_string = |object: &u32| match (string_class, graph.kind(*object)) {
            (Some(strings), ObjectKind::Instance(class)) => strings.class == class,
            _ => false,
        };
        for (name, times) in names.times {
            let name = graph.object(name).filter(is_string);
            if let Some(array) = name.and_then(|name| graph.array_of_string(name)) {
                shown.add(graph.id(array), times)?;
            }
        }
        Ok(shown.times)
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

/// Counts how often each object is shown.
struct Shown<'b> {
    times: HashMap<u64, u32>,
    budget: &'b SharedBudget,
}

impl<'b> Shown<'b> {
    fn new(budget: &'b SharedBudget) -> Shown<'b> {
        Shown {
            times: HashMap::new(),
            budget,
        }
    }

    fn add(&mut self, id: u64, times: u32) -> std::result::Result<(), ErrorKind> {
        let known = self.times.len();
        let sum = self.times.entry(id).or_default();
        *sum = sum.saturating_add(times);
        if self.times.len() > known {
            self.budget.reserve(ENTRY)?;
        }
        Ok(())
    }
}
