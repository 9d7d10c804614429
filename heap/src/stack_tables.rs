//! Stacks and threads of a dump, and the objects to which variables of threads refer.

use std::collections::{BTreeMap, HashMap, HashSet};

use loadhook_hprof::{
    ClassDump, ErrorKind, Header, LoadClass, Root, RootKind, StackFrame, Type, Visitor, number,
};

use crate::memory_budget::ENTRY;
use crate::survey::Survey;

/// Estimated memory of a thread, in bytes.
const THREAD_BYTES: u64 = 2 * ENTRY;

/// Estimated memory of a variable and its root, in bytes.
const VARIABLE_BYTES: u64 = 4 * ENTRY;

type Result = std::result::Result<(), ErrorKind>;

/// A first pass that collects stacks in addition to the survey.
pub(crate) struct StackSurvey {
    pub(crate) survey: Survey,
    pub(crate) stacks: StackTables,
}

/// Stacks and threads by their serial numbers.
#[derive(Default)]
pub(crate) struct StackTables {
    /// The identifier of each class, by the class's serial number.
    pub(crate) classes: HashMap<u32, u64>,
    pub(crate) frames: HashMap<u64, StackFrame>,
    /// For each stack trace, by its serial number: the serial number of its thread, and the frames.
    traces: BTreeMap<u32, (u32, Vec<u64>)>,
    /// The stack trace whose frames are being read.
    open: u32,
    /// The threads by their serial numbers.
    pub(crate) threads: BTreeMap<u32, DumpedThread>,
    /// The serial numbers of the stack traces that already belong to a thread.
    taken: HashSet<u32>,
    /// Roots that are variables of threads.
    pub(crate) locals: Vec<Root>,
}

/// A thread of a dump.
#[derive(Clone, Copy)]
pub(crate) struct DumpedThread {
    /// Identifier of the thread object; 0 if the dump is cut off before its root.
    pub(crate) object: u64,
    /// Serial number of the thread's stack trace; `None` if another thread already has this trace.
    trace: Option<u32>,
}

impl StackSurvey {
    pub(crate) fn new(survey: Survey) -> StackSurvey {
        StackSurvey {
            survey,
            stacks: StackTables::default(),
        }
    }
}

impl StackTables {
    /// Removes threads and variables whose objects are left out; `left_out` is in order.
    pub(crate) fn leave_out(&mut self, left_out: &[u64]) {
        let is_shown = |id: &u64| left_out.binary_search(id).is_err();
        self.threads.retain(|_, thread| is_shown(&thread.object));
        self.locals.retain(|root| is_shown(&root.id));
    }

    /// Returns the frames of a thread.
    pub(crate) fn frames_of(&self, thread: u32) -> &[u64] {
        let trace = self.threads.get(&thread).and_then(|thread| thread.trace);
        let trace = trace.and_then(|trace| self.traces.get(&trace));
        trace.map_or(&[], |(_, frames)| frames)
    }

    /// Adds threads for which the dump has a stack but no thread object. JDK 17 and earlier write
    /// thread objects after all other objects, so a dump that is cut off lacks them.
    pub(crate) fn add_threads_without_object(&mut self) {
        for (trace, (thread, frames)) in &self.traces {
            if *thread != 0 && !frames.is_empty() && !self.taken.contains(trace) {
                self.threads.entry(*thread).or_insert(DumpedThread {
                    object: 0,
                    trace: Some(*trace),
                });
            }
        }
    }

    pub(crate) fn has_frame(&self, thread: u32, frame: u32) -> bool {
        self.frames_of(thread).len() > frame as usize
    }

    /// Returns the identifiers of all thread objects and of the objects that variables refer to.
    pub(crate) fn objects(&self) -> impl Iterator<Item = u64> {
        let threads = self.threads.values().map(|thread| thread.object);
        threads.chain(self.locals.iter().map(|root| root.id))
    }
}

impl Visitor for StackSurvey {
    fn header(&mut self, header: Header) {
        self.survey.header(header);
    }

    fn trailing_bytes(&mut self) {
        self.survey.trailing_bytes();
    }

    fn text(&mut self, id: u64, text: &[u8]) -> Result {
        Visitor::text(&mut self.survey, id, text)
    }

    fn load_class(&mut self, class: LoadClass) -> Result {
        self.survey.budget.reserve(ENTRY)?;
        self.stacks.classes.insert(class.serial, class.class);
        self.survey.load_class(class)
    }

    fn stack_frame(&mut self, frame: StackFrame) -> Result {
        self.survey.budget.reserve(2 * ENTRY)?;
        self.stacks.frames.insert(frame.id, frame);
        Ok(())
    }

    fn stack_trace(&mut self, serial: u32, thread: u32) -> Result {
        self.survey.budget.reserve(ENTRY)?;
        self.stacks.traces.insert(serial, (thread, Vec::new()));
        self.stacks.open = serial;
        Ok(())
    }

    fn trace_frames(&mut self, ids: &[u8]) -> Result {
        self.survey.budget.reserve(16 * ids.len() as u64)?;
        let id_size = self.survey.header.id_size as usize;
        let (_, frames) = self.stacks.traces.entry(self.stacks.open).or_default();
        frames.extend(ids.chunks_exact(id_size).map(number));
        Ok(())
    }

    fn root(&mut self, root: Root) -> Result {
        use RootKind::{JavaFrame, JniLocal, NativeStack, ThreadBlock, ThreadObject};
        let mut reserved = 0;
        match root.kind {
            ThreadObject => {
                reserved = THREAD_BYTES;
                self.survey.budget.reserve(reserved)?;
                // Only the first thread gets the trace. If many threads shared one long trace, their lists of
                // frames would not fit into memory.
                let trace = self.stacks.taken.insert(root.frame).then_some(root.frame);
                let object = root.id;
                let thread = DumpedThread { object, trace };
                self.stacks.threads.entry(root.thread).or_insert(thread);
            }
            JavaFrame | JniLocal | NativeStack | ThreadBlock
                if self.stacks.locals.last() != Some(&root) =>
            {
                reserved = VARIABLE_BYTES;
                self.survey.budget.reserve(reserved)?;
                self.stacks.locals.push(root);
            }
            _ => {}
        }
        self.survey.keep_root(root, reserved)
    }

    fn class(&mut self, class: &ClassDump) -> Result {
        self.survey.class(class)
    }

    fn wants_fields(&self, class: u64) -> bool {
        self.survey.wants_fields(class)
    }

    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result {
        self.survey.instance(id, class, fields)
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result {
        self.survey.object_array(id, class, length)
    }

    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result {
        self.survey.primitive_array(id, element, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::survey_of_objects;
    use crate::memory_budget::MemoryBudget;

    /// A variable takes the same share of the budget, whether the survey keeps its root or not. So
    /// a view that shares its passes has the same limit as one that is read separately.
    #[test]
    fn a_variable_takes_no_more_of_the_budget_where_roots_are_kept() {
        const VARIABLES: u64 = 100;
        for mut survey in [Survey::of_classes(), survey_of_objects(1 << 20)] {
            survey.budget = MemoryBudget::new(VARIABLES * VARIABLE_BYTES);
            let mut reader = StackSurvey::new(survey);
            let mut variable = |id| {
                reader.root(Root {
                    id,
                    kind: RootKind::JavaFrame,
                    thread: 1,
                    frame: 0,
                })
            };
            for id in 1..=VARIABLES {
                variable(8 * id).expect("the budget has room");
            }
            variable(8).expect_err("the budget is used up");
        }
    }
}
