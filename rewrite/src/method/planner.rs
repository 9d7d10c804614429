//! The planner of methods: its buffers, and the constants that the methods of a class share. Each other file of
//! this folder adds a step of planning.

use crate::code::bci::Bci;
use crate::code::constructor::Label;
use crate::code::frame_splice::InsertedFrames;
use crate::code::handlers::{AddedHandler, Splits};
use crate::code::relocation::{NewBci, Relocation, Snippet};
use crate::code::types::ClassConstants;
use crate::code::work::WorkBudget;
use crate::cp_index::CpIndex;
use crate::method::located::{LocatedTable, TableKind};
use crate::options::Options;
use crate::probe::ProbeWriter;
use crate::probe::trace::TraceLocals;
use crate::selector::Selector;

/// Plans methods. Its buffers are reused for the next method.
#[derive(Debug, Default)]
pub(crate) struct MethodPlanner {
    pub(super) relocation: Relocation,
    /// The first instructions of the handlers that get a `caught` probe, in code order.
    pub(super) handler_starts: Vec<Bci>,
    /// The calls in a constructor that initialise `this`, each with the probe before the call.
    pub(super) calls: Vec<(Bci, Snippet)>,
    /// The added local variables that keep the time of the method's entry, and the arguments if they are passed; `None`
    /// without [`Probes::trace`](crate::Probes::trace).
    pub(super) trace_locals: Option<TraceLocals>,
    /// The attributes of the code.
    pub(super) tables: Vec<LocatedTable>,
    /// The ranges that the added handlers cover.
    pub(super) covered: Vec<CoveredRange>,
    /// The entries added to the exception table, one for each covered range.
    pub(super) added_handlers: Vec<AddedHandler>,
    pub(super) splits: Splits,
    /// The added handlers after the code, one for each label.
    pub(super) blocks: Vec<HandlerBlock>,
    pub(super) inserted: InsertedFrames,
    /// The work that is left for following types in the methods of the class.
    pub(super) work: WorkBudget,
    /// The constants that methods of the class share.
    pub(super) shared: SharedConstants,
}

/// A range of rewritten code that an added handler covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoveredRange {
    pub(super) start: NewBci,
    pub(super) end: NewBci,
    pub(super) label: Label,
}

/// The code of an added handler: the `thrown` probe, then `athrow`.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandlerBlock {
    /// The label of the instructions that the handler covers. The label determines the handler's frame.
    pub(super) label: Label,
    pub(super) start: NewBci,
}

/// Constants that were appended for the whole class, not for one method.
#[derive(Debug, Default)]
pub(super) struct SharedConstants {
    pub(super) indexes: SharedIndexes,
    pub(super) classes: ClassConstants,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedIndexes {
    /// The index of the name `StackMapTable`.
    pub(super) stack_map_table: Option<CpIndex>,
    /// The `CONSTANT_Class` of `java.lang.Throwable`.
    pub(super) throwable: Option<CpIndex>,
}

/// The inputs of planning: options, the writer of probes, and the caller's selector.
pub(crate) struct Context<'x> {
    pub(crate) options: &'x Options,
    pub(crate) writer: &'x mut ProbeWriter,
    pub(crate) selector: &'x mut dyn Selector,
}

impl MethodPlanner {
    /// Begins a class.
    pub(crate) fn begin_class(&mut self) {
        self.shared.indexes = SharedIndexes::default();
        self.shared.classes.clear();
        self.work = WorkBudget::default();
    }

    /// Returns the first attribute of this kind.
    #[inline]
    pub(super) fn table(&self, kind: TableKind) -> Option<LocatedTable> {
        self.tables.iter().copied().find(|table| table.kind == kind)
    }
}
