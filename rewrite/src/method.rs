//! Planning one method: its rewritten `Code` attribute, appended to a buffer.

use crate::class::{ClassFile, Member};
use crate::code::constructor::{self, Label, Run};
use crate::code::emit::{snippet_bytes, write_code};
use crate::code::frames::{self, ExpandedFrame, FrameFormat, Frames, Inserted};
use crate::code::handlers::{self, Cover};
use crate::code::instructions::Instruction;
use crate::code::layout::{MethodProbes, Sites, lay_out};
use crate::code::relocation::{EventKind, Relocation, Snippet};
use crate::code::simulate::Method;
use crate::code::types::{ClassConstants, ClassRef};
use crate::code::{Bci, Code, MAX_CODE_LENGTH, NewBci, line_table, local_table, type_annotations};
use crate::constant_pool::PoolFull;
use crate::error::ErrorKind;
use crate::opcode::Opcode;
use crate::options::{Options, UnknownCodeAttributes};
use crate::outcome::{Fault, Reason, Refusal};
use crate::probe::{ProbeWriter, timing};
use crate::reader::Reader;
use crate::selector::{Allocation, Probes, Selector, Site};

/// Up to this length HotSpot compiles a method (`HugeMethodLimit`).
const HUGE_METHOD_LIMIT: u32 = 8_000;

/// `StackMapTable` is read by the VM from this version on (JVMS §4.10).
const FIRST_WITH_FRAMES: u16 = 50;

/// The attributes of `Code` that hold bytecode offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    LineNumbers,
    LocalVariables,
    Frames(FrameFormat),
    TypeAnnotations,
    Unknown,
}

fn table(name: &[u8]) -> Table {
    match name {
        b"LineNumberTable" => Table::LineNumbers,
        b"LocalVariableTable" | b"LocalVariableTypeTable" => Table::LocalVariables,
        b"StackMapTable" => Table::Frames(FrameFormat::StackMapTable),
        b"StackMap" => Table::Frames(FrameFormat::StackMap),
        b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
            Table::TypeAnnotations
        }
        _ => Table::Unknown,
    }
}

/// An attribute of the code being planned, by its place in the class file.
#[derive(Clone, Copy, Debug)]
struct Located {
    table: Table,
    name_index: u16,
    info: usize,
    len: usize,
}

impl Located {
    fn info<'a>(&self, class: &ClassFile<'a>) -> &'a [u8] {
        class
            .bytes()
            .get(self.info..self.info + self.len)
            .unwrap_or_default()
    }
}

/// Buffers of method planning, kept from method to method.
#[derive(Debug, Default)]
pub(crate) struct MethodPlanner {
    relocation: Relocation,
    handler_starts: Vec<u16>,
    attributes: Vec<Located>,
    covers: Vec<(NewBci, NewBci, Label)>,
    handlers: Vec<Cover>,
    blocks: Vec<(Label, NewBci)>,
    inserted: Inserted,
    /// Constants that more than one method uses.
    shared: Shared,
}

/// Constants appended for the class, not for one method.
#[derive(Clone, Copy, Debug, Default)]
struct SharedIndexes {
    stack_map_table: Option<u16>,
    throwable: Option<u16>,
}

#[derive(Debug, Default)]
struct Shared {
    indexes: SharedIndexes,
    classes: ClassConstants,
}

/// What became of a method.
pub(crate) struct Planned {
    /// Instructions of a constructor that no handler covers.
    pub(crate) uncovered: u32,
}

/// What the planner works for.
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
    }

    /// Appends the `Code` attribute of `member` with `probes` to `out`. On
    /// refusal `out` and the pool are as they were.
    pub(crate) fn plan(
        &mut self,
        member: &Member<'_, '_>,
        code: &Code<'_>,
        probes: Probes,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Planned, Reason> {
        let start = out.len();
        let mark = context.writer.begin_method();
        let indexes = self.shared.indexes;
        self.plan_code(member, code, probes, context, out)
            .map_err(|refusal| {
                out.truncate(start);
                context.writer.roll_back(mark);
                self.shared.indexes = indexes;
                self.shared
                    .classes
                    .roll_back(context.writer.pool.count());
                match refusal {
                    Refusal::Reason(reason) => reason,
                    Refusal::Fault(Fault { kind, bci }) => {
                        Reason::Unreadable(code.error(kind, bci))
                    }
                }
            })
    }

    fn plan_code(
        &mut self,
        member: &Member<'_, '_>,
        code: &Code<'_>,
        probes: Probes,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Planned, Refusal> {
        let class = member.class();
        self.locate_attributes(class, code, context.options)?;
        let method_probes = self.write_probes(member, code, probes, context)?;
        let mut sites = SiteWriter {
            member,
            code,
            probes,
            context,
            extra_locals: 0,
        };
        lay_out(
            code.bytecode,
            &method_probes,
            &self.handler_starts,
            &mut sites,
            &mut self.relocation,
        )?;
        let max_locals = code
            .max_locals
            .checked_add(sites.extra_locals)
            .ok_or(Reason::TooManyLocals)?;

        let method = Method {
            class,
            name: member.name(),
            descriptor: member.descriptor(),
            access_flags: member.access_flags(),
            code: code.bytecode,
            max_stack: code.max_stack,
            max_locals: code.max_locals,
        };
        let uncovered = match method_probes.exit {
            Some(exit) => self.cover(&method, code, exit)?,
            None => {
                self.handlers.clear();
                self.blocks.clear();
                0
            }
        };
        let exit = method_probes.exit.unwrap_or_default();
        let block_len = u32::from(exit.len) + 1;
        let code_length =
            self.relocation.new_length() + block_len * self.blocks.len() as u32;
        self.check_length(code, code_length, context.options)?;

        let mut max_stack = u32::from(code.max_stack) + u32::from(context.writer.extra_stack);
        if !self.blocks.is_empty() {
            let arguments = timing::argument_slots(context.options);
            max_stack = max_stack.max(1 + u32::from(arguments));
        }
        let max_stack = u16::try_from(max_stack).map_err(|_| Reason::StackTooDeep)?;

        let start = out.len();
        out.extend_from_slice(class.bytes().get(code.offset..code.offset + 2).unwrap_or_default());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&max_stack.to_be_bytes());
        out.extend_from_slice(&max_locals.to_be_bytes());
        out.extend_from_slice(&code_length.to_be_bytes());
        write_code(
            code.bytecode,
            method_probes.entry,
            &context.writer.snippets,
            &self.relocation,
            out,
        )?;
        for _ in &self.blocks {
            out.extend_from_slice(snippet_bytes(&context.writer.snippets, exit));
            out.push(Opcode::Athrow.byte());
        }
        handlers::relocate(code.exception_table(), &self.handlers, &self.relocation, out)?
            .ok_or(Reason::TooManyHandlers)?;
        self.write_attributes(&method, context.writer, out)?;

        let len = out.len() - start - 6;
        let len = u32::try_from(len).map_err(|_| ErrorKind::ClassTooLarge(len))?;
        if let Some(place) = out.get_mut(start + 2..start + 6) {
            place.copy_from_slice(&len.to_be_bytes());
        }
        Ok(Planned { uncovered })
    }

    fn locate_attributes(
        &mut self,
        class: &ClassFile<'_>,
        code: &Code<'_>,
        options: &Options,
    ) -> Result<(), Refusal> {
        self.attributes.clear();
        let mut attributes = code.attributes();
        for attribute in &mut attributes {
            let attribute = attribute?;
            let name = class.pool().utf8(attribute.name_index)?;
            let table = table(name);
            if table == Table::Unknown {
                match options.unknown_code_attributes {
                    UnknownCodeAttributes::Drop => continue,
                    UnknownCodeAttributes::LeaveMethod => {
                        let name = String::from_utf8_lossy(name).into_owned();
                        return Err(Reason::UnknownAttribute(name).into());
                    }
                }
            }
            let is_frames = matches!(table, Table::Frames(_));
            if is_frames && self.attributes.iter().any(|a| a.table == table) {
                return Err(ErrorKind::DuplicateAttribute("StackMapTable").into());
            }
            self.attributes.push(Located {
                table,
                name_index: attribute.name_index,
                info: attribute.offset + 6,
                len: attribute.info.len(),
            });
        }
        attributes.finish()?;
        Ok(())
    }

    /// The probes at entry, exits and handlers.
    fn write_probes(
        &mut self,
        member: &Member<'_, '_>,
        code: &Code<'_>,
        probes: Probes,
        context: &mut Context<'_>,
    ) -> Result<MethodProbes, PoolFull> {
        let mut method_probes = MethodProbes {
            sites: probes.allocations || probes.objects,
            ..MethodProbes::default()
        };
        self.handler_starts.clear();
        if let Some(id) = probes.timing {
            let starts = code.exception_table().map(|entry| entry.handler_pc);
            self.handler_starts.extend(starts);
            self.handler_starts.sort_unstable();
            self.handler_starts.dedup();
            let has_handlers = !self.handler_starts.is_empty();
            let written = context.writer.timing(id, has_handlers, context.options)?;
            method_probes.entry = written.entry;
            method_probes.exit = Some(written.exit);
            method_probes.caught = written.caught;
        }
        if probes.objects && member.is_object_init() {
            let entry = method_probes.entry;
            method_probes.entry = context.writer.object_initialised(entry, context.options)?;
        }
        Ok(method_probes)
    }

    fn check_length(
        &self,
        code: &Code<'_>,
        code_length: u32,
        options: &Options,
    ) -> Result<(), Reason> {
        if code_length > MAX_CODE_LENGTH {
            return Err(Reason::CodeTooLarge { len: code_length });
        }
        if code_length > HUGE_METHOD_LIMIT
            && u32::from(code.len()) <= HUGE_METHOD_LIMIT
            && !options.allow_huge_methods
        {
            return Err(Reason::HugeMethod { len: code_length });
        }
        Ok(())
    }

    /// Finds the ranges for the added handlers and places those behind the
    /// code, one for each label.
    fn cover(&mut self, method: &Method<'_, '_>, code: &Code<'_>, exit: Snippet) -> Result<u32, Refusal> {
        let whole = [Run {
            start: 0,
            label: Label::Initialised,
            can_throw: true,
        }];
        let labelled;
        let (runs, uncovered) = match method.constructs() {
            false => (&whole[..], 0),
            true => {
                labelled = self.label_constructor(method, code)?;
                (&labelled.runs[..], labelled.uncovered)
            }
        };
        self.covers.clear();
        self.cover_runs(runs)?;

        self.handlers.clear();
        self.blocks.clear();
        let block_len = u32::from(exit.len) + 1;
        let end = self.relocation.new_length();
        for &(start, end_pc, label) in &self.covers {
            let handler = match self.blocks.iter().find(|block| block.0 == label) {
                Some(&(_, handler)) => handler,
                None => {
                    let handler = NewBci(end + block_len * self.blocks.len() as u32);
                    self.blocks.push((label, handler));
                    handler
                }
            };
            self.handlers.push(Cover {
                start,
                end: end_pc,
                handler,
            });
        }
        Ok(uncovered)
    }

    /// The ranges of `runs` that can throw, without the exit probes and their
    /// returns.
    fn cover_runs(&mut self, runs: &[Run]) -> Result<(), ErrorKind> {
        let Some((first, mut rest)) = runs.split_first() else {
            return Ok(());
        };
        let mut run = *first;
        let mut start = self.relocation.entry_len;
        let covers = &mut self.covers;
        let mut close = |run: Run, start: u32, end: u32| {
            if run.label != Label::Uncovered && run.can_throw && start < end {
                covers.push((NewBci(start), NewBci(end), run.label));
            }
        };
        let next_run = |rest: &mut &[Run], up_to: u16| match *rest {
            [next, behind @ ..] if next.start <= up_to => {
                let next = *next;
                *rest = behind;
                Some(next)
            }
            _ => None,
        };
        for event in &self.relocation.events {
            if event.kind != EventKind::InsertExit {
                continue;
            }
            while let Some(next) = next_run(&mut rest, event.bci) {
                let NewBci(at) = self.relocation.target(Bci(next.start))?;
                close(run, start, at);
                (run, start) = (next, at.max(start));
            }
            close(run, start, event.position);
            start = event.position + u32::from(event.snippet.len) + 1;
        }
        while let Some(next) = next_run(&mut rest, u16::MAX) {
            let NewBci(at) = self.relocation.target(Bci(next.start))?;
            close(run, start, at);
            (run, start) = (next, at.max(start));
        }
        close(run, start, self.relocation.new_length());
        Ok(())
    }

    fn label_constructor(
        &self,
        method: &Method<'_, '_>,
        code: &Code<'_>,
    ) -> Result<constructor::Runs, ErrorKind> {
        let major = method.class.major_version();
        if major >= FIRST_WITH_FRAMES {
            let labelled = self
                .expand_frames(method, FrameFormat::StackMapTable)
                .and_then(|frames| constructor::with_frames(method, &frames));
            if labelled.is_ok() || major > FIRST_WITH_FRAMES {
                return labelled;
            }
        }
        constructor::by_data_flow(method, code.exception_table())
    }

    fn expand_frames<'a>(
        &self,
        method: &Method<'_, 'a>,
        format: FrameFormat,
    ) -> Result<Vec<ExpandedFrame<'a>>, ErrorKind> {
        let Some(located) = self.located(Table::Frames(format)) else {
            return Ok(Vec::new());
        };
        let info = located.info(method.class);
        let reader = Reader::new(info, located.info, crate::error::Place::In("StackMapTable"));
        let frames = Frames::new(method.class.pool(), reader, format)
            .map_err(|error| error.kind().clone())?;
        frames::expand(frames, &method.initial()?)
    }

    fn located(&self, table: Table) -> Option<Located> {
        self.attributes.iter().copied().find(|a| a.table == table)
    }

    fn write_attributes(
        &mut self,
        method: &Method<'_, '_>,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let stack_map_table = Table::Frames(FrameFormat::StackMapTable);
        let needs_table = method.class.major_version() >= FIRST_WITH_FRAMES
            && !self.blocks.is_empty()
            && self.located(stack_map_table).is_none();
        let count = self.attributes.len() + usize::from(needs_table);
        let count = u16::try_from(count).map_err(|_| ErrorKind::BadFrame("too many attributes"))?;
        out.extend_from_slice(&count.to_be_bytes());
        for i in 0..self.attributes.len() {
            let located = self.attributes[i];
            let info = located.info(method.class);
            write_attribute(located.name_index, out, |out| match located.table {
                Table::LineNumbers => Ok(line_table::relocate(info, &self.relocation, out)?),
                Table::LocalVariables => Ok(local_table::relocate(info, &self.relocation, out)?),
                Table::TypeAnnotations => {
                    Ok(type_annotations::relocate(info, &self.relocation, out)?)
                }
                Table::Frames(format) => self.write_frames(method, format, writer, out),
                Table::Unknown => Ok(()),
            })?;
        }
        if needs_table {
            let name_index = match self.shared.indexes.stack_map_table {
                Some(index) => index,
                None => writer.pool.utf8(b"StackMapTable")?,
            };
            self.shared.indexes.stack_map_table = Some(name_index);
            write_attribute(name_index, out, |out| {
                self.write_frames(method, FrameFormat::StackMapTable, writer, out)
            })?;
        }
        Ok(())
    }

    /// Relocates the frames and adds those of handlers and widened jumps.
    /// Where the VM does not read the table it may be stale: what cannot be
    /// relocated stays as it is.
    fn write_frames(
        &mut self,
        method: &Method<'_, '_>,
        format: FrameFormat,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let with_frames = method.class.major_version() >= FIRST_WITH_FRAMES;
        let is_read = with_frames == (format == FrameFormat::StackMapTable);
        let start = out.len();
        self.inserted.clear();
        let written = self.try_write_frames(method, format, is_read, writer, out);
        let binding = with_frames && is_read;
        match written {
            Err(Refusal::Fault(_)) if !binding => {
                out.truncate(start);
                let located = self.located(Table::Frames(format));
                out.extend_from_slice(located.map_or(&[][..], |l| l.info(method.class)));
                Ok(())
            }
            written => written,
        }
    }

    fn try_write_frames(
        &mut self,
        method: &Method<'_, '_>,
        format: FrameFormat,
        insert: bool,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let mut expanded = Vec::new();
        if insert {
            if self.needs_frames_after_jumps(method) {
                expanded = self.expand_frames(method, format)?;
                self.frames_after_jumps(method, &expanded, writer)?;
            }
            self.frames_of_handlers(writer)?;
        }
        let located = self.located(Table::Frames(format));
        let info = match located {
            Some(located) if located.len < 2 => {
                return Err(ErrorKind::BadFrame("no count").into());
            }
            Some(located) => located.info(method.class),
            None => &[],
        };
        let (shared, relocation) = (&mut self.shared, &self.relocation);
        frames::relocate(
            info,
            format,
            relocation,
            &self.inserted,
            &expanded,
            |class| class_index(class, shared, writer),
            out,
        )
    }

    fn needs_frames_after_jumps(&self, method: &Method<'_, '_>) -> bool {
        self.relocation.events.iter().any(|event| {
            event.kind == EventKind::Widened && falls_through(method.code, event.bci)
        })
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
        use crate::code::types::tag;
        if self.blocks.is_empty() {
            return Ok(());
        }
        let throwable = match self.shared.indexes.throwable {
            Some(index) => index,
            None => writer.pool.class(b"java/lang/Throwable")?,
        };
        self.shared.indexes.throwable = Some(throwable);
        for &(label, at) in &self.blocks {
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

fn write_attribute(
    name_index: u16,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    out.extend_from_slice(&name_index.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let len = out.len() - length_at - 4;
    let len = u32::try_from(len).map_err(|_| ErrorKind::ClassTooLarge(len))?;
    if let Some(place) = out.get_mut(length_at..length_at + 4) {
        place.copy_from_slice(&len.to_be_bytes());
    }
    Ok(())
}

/// Writes the probes of allocating instructions as they are met.
struct SiteWriter<'x, 'y, 'c, 'a> {
    member: &'x Member<'c, 'a>,
    code: &'x Code<'a>,
    probes: Probes,
    context: &'x mut Context<'y>,
    /// Locals needed past the method's own.
    extra_locals: u16,
}

impl<'a> SiteWriter<'_, '_, '_, 'a> {
    fn site(&mut self, bci: u16, allocation: Allocation<'a>) -> u32 {
        let site = Site { bci, allocation };
        self.context.selector.site(self.member, &site)
    }

    fn instruction(&self, bci: u16) -> Result<Instruction<'a>, Fault> {
        let bci = usize::from(bci);
        Instruction::at(self.code.bytecode, bci).map_err(|kind| Fault { kind, bci })
    }

    fn class_name(&self, instruction: &Instruction<'_>) -> Result<&'a [u8], Refusal> {
        let pool = self.member.class().pool();
        Ok(pool.class_name(instruction.constant())?)
    }
}

impl Sites for SiteWriter<'_, '_, '_, '_> {
    fn new_object(&mut self, bci: u16) -> Result<Snippet, Refusal> {
        if !self.probes.allocations {
            return Ok(Snippet::default());
        }
        let instruction = self.instruction(bci)?;
        let class = self.class_name(&instruction)?;
        let site = self.site(bci, Allocation::Object(class));
        let options = self.context.options;
        Ok(self.context.writer.object_allocated(site, options)?)
    }

    fn new_array(&mut self, bci: u16) -> Result<(Snippet, Snippet), Refusal> {
        let instruction = self.instruction(bci)?;
        let mut before = Snippet::default();
        let mut site = None;
        let mut dimensions = 1;
        if self.probes.allocations {
            let allocation = match instruction.opcode {
                Opcode::Newarray => Allocation::PrimitiveArray(instruction.u1(1)),
                Opcode::Multianewarray => {
                    dimensions = instruction.u1(3);
                    Allocation::MultiArray(self.class_name(&instruction)?, dimensions)
                }
                _ => Allocation::ReferenceArray(self.class_name(&instruction)?),
            };
            site = Some(self.site(bci, allocation));
            if dimensions > 1 {
                self.extra_locals = self.extra_locals.max(u16::from(dimensions));
                if self.code.max_locals.checked_add(self.extra_locals).is_none() {
                    return Err(Reason::TooManyLocals.into());
                }
                let first_local = self.code.max_locals;
                before = self.context.writer.keep_lengths(dimensions, first_local);
            } else {
                before = self.context.writer.keep_length();
            }
        }
        let options = self.context.options;
        let writer = &mut *self.context.writer;
        let after = writer.snippet(|writer| {
            match site {
                Some(site) if dimensions > 1 => {
                    let first_local = self.code.max_locals;
                    writer.dimensions_allocated(dimensions, first_local, site, options)?;
                }
                Some(site) => writer.array_allocated(site, options)?,
                None => {}
            }
            if self.probes.objects {
                writer.array_made(options)?;
            }
            Ok::<_, PoolFull>(())
        })?;
        Ok((before, after))
    }
}
