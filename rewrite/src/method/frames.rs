//! The frames of a rewritten method: the old ones relocated, new ones for
//! handlers and behind widened jumps.

use crate::code::frames::{self, ExpandedFrame, FrameFormat, Frames};
use crate::code::instructions::Instruction;
use crate::code::relocation::EventKind;
use crate::code::simulate::Method;
use crate::code::types::{ClassRef, tag};
use crate::code::work::KEPT;
use crate::code::{Bci, constructor::Label};
use crate::error::{ErrorKind, Place};
use crate::method::{FIRST_WITH_FRAMES, Located, MethodPlanner, Shared};
use crate::opcode::Opcode;
use crate::outcome::{Fault, Reason, Refusal};
use crate::probe::ProbeWriter;
use crate::reader::Reader;

impl MethodPlanner {
    pub(super) fn expand_frames<'a>(
        &mut self,
        method: &Method<'_, 'a>,
        located: Option<Located>,
        format: FrameFormat,
    ) -> Result<Vec<ExpandedFrame<'a>>, ErrorKind> {
        let Some(located) = located else {
            return Ok(Vec::new());
        };
        let info = located.info(method.class);
        let reader = Reader::new(info, located.info, Place::In("StackMapTable"));
        let frames = Frames::new(method.class.pool(), reader, format)
            .map_err(|error| error.kind().clone())?;
        frames::expand(frames, &method.initial()?, &mut self.work)
    }

    /// Relocates the frames of an attribute, or of none, and adds those of
    /// handlers and widened jumps. There may be several where the VM reads
    /// none: each keeps its own. Where the VM does not read the table it may be stale: what cannot be
    /// relocated stays as it is.
    pub(super) fn write_frames(
        &mut self,
        method: &Method<'_, '_>,
        located: Option<Located>,
        format: FrameFormat,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let with_frames = method.class.major_version() >= FIRST_WITH_FRAMES;
        let is_read = with_frames == (format == FrameFormat::StackMapTable);
        let start = out.len();
        self.inserted.clear();
        let written = self.try_write_frames(method, located, format, is_read, writer, out);
        let binding = with_frames && is_read;
        match written {
            Err(Refusal::Fault(_) | Refusal::Reason(Reason::Unreadable(_))) if !binding => {
                out.truncate(start);
                out.extend_from_slice(located.map_or(&[][..], |l| l.info(method.class)));
                Ok(())
            }
            written => written,
        }
    }

    fn try_write_frames(
        &mut self,
        method: &Method<'_, '_>,
        located: Option<Located>,
        format: FrameFormat,
        insert: bool,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let mut expanded = Vec::new();
        if insert {
            if self.needs_frames_after_jumps(method) {
                expanded = self.expand_frames(method, located, format)?;
                self.frames_after_jumps(method, &expanded, writer)?;
            }
            self.frames_of_handlers(writer)?;
        }
        let (info, offset) = match located {
            Some(located) if located.len < 2 => {
                return Err(ErrorKind::BadFrame("no count").into());
            }
            Some(located) => (located.info(method.class), located.info),
            None => (&[][..], 0),
        };
        let mut reader = Reader::new(info, offset, Place::In("StackMapTable"));
        let (shared, relocation) = (&mut self.shared, &self.relocation);
        frames::relocate(
            &mut reader,
            format,
            relocation,
            &self.inserted,
            &expanded,
            |class| class_index(class, shared, writer),
            out,
        )
    }

    fn needs_frames_after_jumps(&self, method: &Method<'_, '_>) -> bool {
        self.relocation
            .events
            .iter()
            .any(|event| event.kind == EventKind::Widened && falls_through(method.code, event.bci))
    }

    /// One frame behind each widened `if` that had none: its state is that of
    /// the straight-line code before it.
    fn frames_after_jumps<'a>(
        &mut self,
        method: &Method<'_, 'a>,
        expanded: &[ExpandedFrame<'a>],
        writer: &mut ProbeWriter,
    ) -> Result<(), Refusal> {
        let mut frames = expanded.iter().peekable();
        let mut events = self.relocation.events.iter().filter(|event| {
            event.kind == EventKind::Widened && falls_through(method.code, event.bci)
        });
        let mut next = events.next();
        let mut state = method.initial()?;
        let mut reachable = true;
        let mut bci = 0;
        while let Some(event) = next {
            if let Some(frame) = frames.next_if(|frame| usize::from(frame.bci) == bci) {
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
            let behind = bci + instruction.bytes.len();
            if bci == usize::from(event.bci) {
                let has_frame = frames
                    .peek()
                    .is_some_and(|frame| usize::from(frame.bci) == behind);
                if !has_frame {
                    self.work
                        .spend(KEPT * (state.locals.len() + state.stack.len()))?;
                    for class in state.classes() {
                        self.work.spend(class.name.len())?;
                    }
                    let (shared, relocation) = (&mut self.shared, &self.relocation);
                    let at = relocation.target(Bci(behind as u16))?;
                    self.inserted.push(at, |body| {
                        let class = |class| class_index(class, shared, writer);
                        frames::write_full_body(&state, 0, relocation, class, body)
                    })?;
                }
                next = events.next();
            }
            bci = behind;
        }
        Ok(())
    }

    /// The frames of the added handlers: no locals, or only the uninitialised
    /// `this`; on the stack the exception.
    fn frames_of_handlers(&mut self, writer: &mut ProbeWriter) -> Result<(), Refusal> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let throwable = match self.shared.indexes.throwable {
            Some(index) => index,
            None => writer.pool.class(b"java/lang/Throwable")?,
        };
        self.shared.indexes.throwable = Some(throwable);
        for &(label, at) in &self.blocks {
            if let Label::Uninitialised(local) = label {
                self.work.spend(KEPT * usize::from(local))?;
            }
            self.inserted.push(at, |body| {
                match label {
                    Label::Uninitialised(local) => {
                        let count = local
                            .checked_add(1)
                            .ok_or(ErrorKind::BadFrame("too many values"))?;
                        body.extend_from_slice(&count.to_be_bytes());
                        body.resize(body.len() + usize::from(local), tag::TOP);
                        body.push(tag::UNINITIALIZED_THIS);
                    }
                    Label::Initialised | Label::Uncovered => body.extend_from_slice(&[0, 0]),
                }
                let [high, low] = throwable.to_be_bytes();
                body.extend_from_slice(&[0, 1, tag::OBJECT, high, low]);
                Ok::<_, ErrorKind>(())
            })?;
        }
        Ok(())
    }
}

fn class_index(
    class: ClassRef<'_>,
    shared: &mut Shared,
    writer: &mut ProbeWriter,
) -> Result<u16, Refusal> {
    Ok(shared.classes.index(class, &mut writer.pool)?)
}

/// Whether the 16-bit jump at `bci` also goes on behind it.
fn falls_through(code: &[u8], bci: u16) -> bool {
    let opcode = code.get(usize::from(bci)).copied();
    opcode
        .and_then(Opcode::from_byte)
        .is_some_and(|opcode| opcode.inverted().is_some())
}
