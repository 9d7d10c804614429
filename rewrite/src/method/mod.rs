//! Planning one method: its rewritten `Code` attribute, appended to a buffer.

mod construction;
mod cover;
mod frames;
mod sites;

use crate::class::{ClassFile, Member};
use crate::code::constructor::Label;
use crate::code::emit::{snippet_bytes, write_code};
use crate::code::frames::{FrameFormat, Inserted};
use crate::code::handlers::{self, Cover, Splits, only_throws_on};
use crate::code::layout::{MethodProbes, lay_out};
use crate::code::relocation::{Relocation, Snippet};
use crate::code::simulate::Method;
use crate::code::types::ClassConstants;
use crate::code::work::Work;
use crate::code::{Bci, Code, MAX_CODE_LENGTH, NewBci, line_table, local_table, type_annotations};
use crate::error::ErrorKind;
use crate::method::construction::Construction;
use crate::method::sites::SiteWriter;
use crate::opcode::Opcode;
use crate::options::{Options, UnknownCodeAttributes};
use crate::outcome::{Fault, Reason, Refusal};
use crate::probe::{ProbeWriter, timing};
use crate::selector::{Probes, Selector};

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
    /// The calls of a constructor that initialise `this`, and the probes before.
    calls: Vec<(u16, Snippet)>,
    attributes: Vec<Located>,
    covers: Vec<(NewBci, NewBci, Label)>,
    handlers: Vec<Cover>,
    splits: Splits,
    blocks: Vec<(Label, NewBci)>,
    inserted: Inserted,
    /// What following constructors may still cost, for the whole class.
    work: Work,
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
    /// Whether anything was inserted at all.
    pub(crate) inserts: bool,
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
        self.work = Work::default();
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
                self.shared.classes.roll_back(context.writer.pool.count());
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
        let method = Method {
            class,
            name: member.name(),
            descriptor: member.descriptor(),
            access_flags: member.access_flags(),
            code: code.bytecode,
            max_stack: code.max_stack,
            max_locals: code.max_locals,
        };
        let construction = match probes.timing.is_some() && method.constructs() {
            true => Some(self.construction(&method, code)?),
            false => None,
        };
        let method_probes =
            self.write_probes(member, code, probes, construction.as_ref(), context)?;
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
            &self.calls,
            &mut sites,
            &mut self.relocation,
        )?;
        let max_locals = code
            .max_locals
            .checked_add(sites.extra_locals)
            .ok_or(Reason::TooManyLocals)?;

        let thrown = method_probes.thrown;
        let uncovered = match method_probes.exit {
            Some(_) => self.cover(construction.as_ref().map(|c| &c.runs), thrown)?,
            None => {
                self.handlers.clear();
                self.blocks.clear();
                0
            }
        };
        let block_len = u32::from(thrown.len) + 1;
        let code_length = self.relocation.new_length() + block_len * self.blocks.len() as u32;
        self.check_length(code, code_length, context.options)?;

        let mut max_stack = u32::from(code.max_stack) + u32::from(context.writer.extra_stack);
        if !self.blocks.is_empty() {
            let ends = construction::ends(construction.as_ref(), context.options.call_shape);
            let arguments = timing::argument_slots(context.options, ends);
            max_stack = max_stack.max(1 + u32::from(arguments));
        }
        let max_stack = u16::try_from(max_stack).map_err(|_| Reason::StackTooDeep)?;

        let start = out.len();
        out.extend_from_slice(
            class
                .bytes()
                .get(code.offset..code.offset + 2)
                .unwrap_or_default(),
        );
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
            out.extend_from_slice(snippet_bytes(&context.writer.snippets, thrown));
            out.push(Opcode::Athrow.byte());
        }
        handlers::relocate(
            code.exception_table(),
            &self.handlers,
            &self.relocation,
            method_probes.caught,
            &mut self.splits,
            out,
        )?
        .ok_or(Reason::TooManyHandlers)?;
        self.write_attributes(&method, context.writer, out)?;

        let len = out.len() - start - 6;
        let len = u32::try_from(len).map_err(|_| ErrorKind::ClassTooLarge(len))?;
        if let Some(place) = out.get_mut(start + 2..start + 6) {
            place.copy_from_slice(&len.to_be_bytes());
        }
        Ok(Planned {
            uncovered,
            inserts: self.relocation.inserts(),
        })
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
            // Where the VM does not read them, it does not count them either.
            let is_frames = table == Table::Frames(FrameFormat::StackMapTable)
                && class.major_version() >= FIRST_WITH_FRAMES;
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
        construction: Option<&Construction>,
        context: &mut Context<'_>,
    ) -> Result<MethodProbes, Refusal> {
        let mut method_probes = MethodProbes {
            sites: probes.allocations || probes.objects,
            ..MethodProbes::default()
        };
        self.handler_starts.clear();
        self.calls.clear();
        if let Some(id) = probes.timing {
            let starts = code.exception_table().map(|entry| entry.handler_pc);
            self.handler_starts.extend(starts);
            self.handler_starts.sort_unstable();
            self.handler_starts.dedup();
            self.handler_starts
                .retain(|&start| !only_throws_on(code.bytecode, Bci(start)));
            let has_handlers = !self.handler_starts.is_empty();
            let (options, writer) = (context.options, &mut *context.writer);
            let ends = construction::ends(construction, options.call_shape);
            let written = writer.timing(id, ends, has_handlers, options)?;
            method_probes.entry = written.entry;
            method_probes.exit = Some(written.exit);
            method_probes.caught = written.caught;
            method_probes.thrown = written.thrown;
            if let Some(construction) = construction {
                method_probes.constructed = self.write_construction(construction, id, context)?;
            }
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
                    let (relocation, splits) = (&self.relocation, &self.splits);
                    Ok(type_annotations::relocate(info, relocation, splits, out)?)
                }
                Table::Frames(format) => {
                    self.write_frames(method, Some(located), format, writer, out)
                }
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
                self.write_frames(method, None, FrameFormat::StackMapTable, writer, out)
            })?;
        }
        Ok(())
    }
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
