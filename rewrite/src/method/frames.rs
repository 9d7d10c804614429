//! The frames of a rewritten method: the old frames relocated, and new ones for
//! added handlers and after widened jumps.

use crate::code::bci::Bci;
use crate::code::constructor::Label;
use crate::code::frame_splice::{self, InsertedFrames, OldFrames};
use crate::code::frame_states::{ExpandedFrame, expand, write_full_body};
use crate::code::frames::{FrameFormat, Frames};
use crate::code::instructions::Instruction;
use crate::code::relocation::{EventKind, Relocation};
use crate::code::simulate::{MethodBody, OBJECT, TypeState};
use crate::code::types::{ClassRef, tag};
use crate::code::work::{STORED_TYPE, WorkBudget};
use crate::cp_index::CpIndex;
use crate::error::{ErrorKind, Structure};
use crate::method::located::{FIRST_WITH_FRAMES, LocatedTable};
use crate::method::planner::{MethodPlanner, SharedConstants};
use crate::opcode::Opcode;
use crate::outcome::{Fault, Reason, Refusal};
use crate::probe::ProbeWriter;
use crate::reader::Reader;

impl MethodPlanner {
    /// Computes the type state of each frame in `table`. Returns an empty list if there is no table.
    pub(super) fn expand_frames<'a>(
        &mut self,
        method: &MethodBody<'_, 'a>,
        table: Option<LocatedTable>,
        format: FrameFormat,
    ) -> Result<Vec<ExpandedFrame<'a>>, ErrorKind> {
        let Some(table) = table else {
            return Ok(Vec::new());
        };
        let info = table.info(method.class);
        let reader = Reader::new(info, table.offset, Structure::Named("StackMapTable"));
        let frames = Frames::new(method.class.pool(), reader, format)
            .map_err(|error| error.kind().clone())?;
        expand(frames, &method.initial()?, &mut self.work)
    }

    /// Appends the relocated frames of `table` to `out`. Adds the frames of handlers and widened jumps if the VM
    /// reads this format in the class's version.
    ///
    /// A table that the VM does not read may be stale, and there may be several. If such a table cannot be
    /// relocated, it is copied as it is.
    pub(super) fn write_frames(
        &mut self,
        method: &MethodBody<'_, '_>,
        table: Option<LocatedTable>,
        format: FrameFormat,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let with_frames = method.class.major_version() >= FIRST_WITH_FRAMES;
        let is_read = with_frames == (format == FrameFormat::StackMapTable);
        let start = out.len();
        self.inserted.clear();
        let written = self.try_write_frames(method, table, format, is_read, writer, out);
        let is_required = with_frames && is_read;
        match written {
            Err(Refusal::Fault(_) | Refusal::Reason(Reason::Unreadable(_))) if !is_required => {
                out.truncate(start);
                out.extend_from_slice(table.map_or(&[][..], |table| table.info(method.class)));
                Ok(())
            }
            written => written,
        }
    }

    fn try_write_frames(
        &mut self,
        method: &MethodBody<'_, '_>,
        table: Option<LocatedTable>,
        format: FrameFormat,
        insert: bool,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let mut expanded = Vec::new();
        let all_in_full = insert && self.trace_locals.is_some();
        if insert {
            let has_jumps = self.needs_frames_after_jumps(method);
            if has_jumps || all_in_full {
                expanded = self.expand_frames(method, table, format)?;
            }
            if let Some(locals) = self.trace_locals {
                for frame in &mut expanded {
                    self.work.spend(STORED_TYPE * usize::from(locals.start))?;
                    frame.add_trace(locals);
                }
            }
            if has_jumps {
                self.frames_after_jumps(method, &expanded, writer)?;
            }
            self.frames_of_handlers(writer)?;
        }
        let (info, offset) = match table {
            Some(table) if table.len < 2 => {
                return Err(ErrorKind::BadFrame("no count").into());
            }
            Some(table) => (table.info(method.class), table.offset),
            None => (&[][..], 0),
        };
        let mut reader = Reader::new(info, offset, Structure::Named("StackMapTable"));
        let (shared, relocation) = (&mut self.shared, &self.relocation);
        frame_splice::relocate(
            &mut reader,
            format,
            relocation,
            &self.inserted,
            &OldFrames {
                states: &expanded,
                all_in_full,
            },
            |class| class_index(class, shared, writer),
            out,
        )
    }

    fn needs_frames_after_jumps(&self, method: &MethodBody<'_, '_>) -> bool {
        self.relocation
            .events
            .iter()
            .any(|event| event.kind == EventKind::Widened && falls_through(method.code, event.bci))
    }

    /// Inserts a frame after each widened `if` that is not followed by a frame: the `goto_w` ends a block, so the
    /// verifier needs a frame after the `goto_w`. The types in this frame are those of the straight-line code before
    /// the jump.
    fn frames_after_jumps<'a>(
        &mut self,
        method: &MethodBody<'_, 'a>,
        expanded: &[ExpandedFrame<'a>],
        writer: &mut ProbeWriter,
    ) -> Result<(), Refusal> {
        let mut frames = expanded.iter().peekable();
        let mut events = self.relocation.events.iter().filter(|event| {
            event.kind == EventKind::Widened && falls_through(method.code, event.bci)
        });
        let mut next = events.next();
        let mut state = method.initial()?;
        if let Some(locals) = self.trace_locals {
            state.set_trace(locals);
        }
        let mut reachable = true;
        let mut bci = Bci::START;
        while let Some(event) = next {
            if let Some(frame) = frames.next_if(|frame| frame.bci == bci) {
                state.clone_from(&frame.state);
                reachable = true;
            }
            if !reachable {
                return Err(ErrorKind::BadFrame("missing after a jump").into());
            }
            let instruction =
                Instruction::at(method.code, bci).map_err(|kind| Fault { kind, bci })?;
            state
                .step(&instruction, method)
                .map_err(|kind| Fault { kind, bci })?;
            reachable = !instruction.opcode.ends_block();
            let behind = instruction.end();
            if bci == event.bci {
                let has_frame = frames.peek().is_some_and(|frame| frame.bci == behind);
                if !has_frame {
                    insert_frame(
                        behind,
                        &state,
                        &mut self.work,
                        &self.relocation,
                        &mut self.inserted,
                        |class| class_index(class, &mut self.shared, writer),
                    )?;
                }
                next = events.next();
            }
            bci = behind;
        }
        Ok(())
    }

    /// Inserts the frames of the added handlers. These frames contain none of the method's own locals, except an
    /// uninitialised `this`. The exception is on their stack.
    fn frames_of_handlers(&mut self, writer: &mut ProbeWriter) -> Result<(), Refusal> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let throwable = match self.shared.indexes.throwable {
            Some(index) => index,
            None => writer.pool.class(b"java/lang/Throwable")?,
        };
        self.shared.indexes.throwable = Some(throwable);
        let values = match self.trace_locals.and_then(|locals| locals.values) {
            Some(_) => Some(class_index(OBJECT, &mut self.shared, writer)?),
            None => None,
        };
        for block in &self.blocks {
            let this = match block.label {
                Label::Uninitialised(local) => Some((local, tag::UNINITIALIZED_THIS)),
                Label::Initialised | Label::Uncovered => None,
            };
            let start = self.trace_locals.map(|locals| (locals.start, tag::LONG));
            // The locals of a trace come after the method's own, so this list is in the order of slots.
            let locals = [this, start];
            let last = locals.iter().flatten().map(|(local, _)| local).max();
            // The `long` is one value of the list, so the value of the next local comes right after it.
            let count = last.map_or(Some(0), |last| last.checked_add(1));
            let count = count.and_then(|count| count.checked_add(values.is_some().into()));
            let count = count.ok_or(ErrorKind::BadFrame("too many values"))?;
            self.work.spend(STORED_TYPE * usize::from(count))?;
            self.inserted.push(block.start, |body| {
                body.extend_from_slice(&count.to_be_bytes());
                let first = body.len();
                for (local, tag) in locals.into_iter().flatten() {
                    body.resize(first + usize::from(local), tag::TOP);
                    body.push(tag);
                }
                if let Some(class) = values {
                    let [high, low] = class.to_be_bytes();
                    body.extend_from_slice(&[tag::OBJECT, high, low]);
                }
                let [high, low] = throwable.to_be_bytes();
                body.extend_from_slice(&[0, 1, tag::OBJECT, high, low]);
                Ok::<_, ErrorKind>(())
            })?;
        }
        Ok(())
    }
}

/// Inserts a frame with the types of `state` at the old offset `bci`. Fails if the work budget is used up.
fn insert_frame<'a>(
    bci: Bci,
    state: &TypeState<'a>,
    work: &mut WorkBudget,
    relocation: &Relocation,
    inserted: &mut InsertedFrames,
    class: impl FnMut(ClassRef<'a>) -> Result<CpIndex, Refusal>,
) -> Result<(), Refusal> {
    work.spend(STORED_TYPE * (state.locals.len() + state.stack.len()))?;
    for class in state.classes() {
        work.spend(class.name.len())?;
    }
    let at = relocation.target(bci)?;
    inserted.push(at, |body| {
        write_full_body(state, 0, relocation, class, body)
    })
}

fn class_index(
    class: ClassRef<'_>,
    shared: &mut SharedConstants,
    writer: &mut ProbeWriter,
) -> Result<CpIndex, Refusal> {
    Ok(shared.classes.index(class, &mut writer.pool)?)
}

/// Returns whether execution may continue after the 16-bit jump at `bci`. It may after a conditional jump.
fn falls_through(code: &[u8], bci: Bci) -> bool {
    let opcode = code.get(bci.index()).copied();
    opcode
        .and_then(Opcode::from_byte)
        .is_some_and(|opcode| opcode.inverted().is_some())
}
