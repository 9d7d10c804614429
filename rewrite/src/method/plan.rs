//! The steps of planning a method, in order: find attributes, write probes, lay out the code, add handlers, check
//! limits, and write the bytes.

use crate::class::{Member, access};
use crate::code::emit::{snippet_bytes, write_code};
use crate::code::handlers::{self, only_rethrows};
use crate::code::layout::{MethodProbes, lay_out};
use crate::code::relocation::Snippet;
use crate::code::simulate::MethodBody;
use crate::code::{Code, MAX_CODE_LENGTH};
use crate::cp_index::CpIndex;
use crate::method::attributes::write_attribute;
use crate::method::construction::{self, Construction};
use crate::method::located::locate;
use crate::method::planner::{Context, MethodPlanner};
use crate::method::sites::SiteWriter;
use crate::opcode::Opcode;
use crate::options::Options;
use crate::outcome::{Fault, Reason, Refusal};
use crate::probe::trace::{self, Signature, TraceLocals};
use crate::probe::{ProbeWriter, timing};
use crate::selector::Probes;

/// The longest code, in bytes, that HotSpot compiles (`HugeMethodLimit`).
const HUGE_METHOD_LIMIT: u32 = 8_000;

/// The result of planning a method.
pub(crate) struct PlannedMethod {
    /// In a constructor, the number of instructions that no added handler covers; see [`crate::Uncovered`]. 0 in other
    /// methods.
    pub(crate) uncovered: u32,
    /// True if a probe was inserted.
    pub(crate) inserts: bool,
}

/// The values at the beginning of the rewritten `Code` attribute.
struct Head {
    max_stack: u16,
    max_locals: u16,
    code_length: u32,
}

impl MethodPlanner {
    /// Appends the `Code` attribute of `member` with `probes` to `out`. If the
    /// method is refused, `out` and the pool stay as they were.
    pub(crate) fn plan(
        &mut self,
        member: &Member<'_, '_>,
        code: &Code<'_>,
        probes: Probes,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<PlannedMethod, Reason> {
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
    ) -> Result<PlannedMethod, Refusal> {
        let class = member.class();
        locate(class, code, context.options, &mut self.tables)?;
        let method = MethodBody {
            class,
            name: member.name(),
            descriptor: member.descriptor(),
            access_flags: member.access_flags(),
            code: code.bytecode,
            max_stack: code.max_stack,
            max_locals: code.max_locals,
        };
        if probes.values {
            // The probe loads the parameters, so they must exist.
            method.initial()?;
        }
        let has_handler = probes.timing.is_some() || probes.trace.is_some();
        let construction = if has_handler && method.is_constructor() {
            Some(self.construction(&method, code)?)
        } else {
            None
        };
        let method_probes =
            self.write_probes(member, code, probes, construction.as_ref(), context)?;
        let first_local = match self.trace_locals {
            Some(locals) => locals.end().ok_or(Reason::TooManyLocals)?,
            None => code.max_locals,
        };
        let mut sites = SiteWriter {
            member,
            code,
            probes,
            context,
            first_local,
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
        let extra_locals = sites.extra_locals;
        let uncovered = self.cover(
            &method_probes,
            construction.as_ref().map(|construction| &construction.runs),
        )?;
        let code_length = self.code_length(method_probes.thrown);
        check_length(code, code_length, context.options)?;
        let head = Head {
            max_stack: self.max_stack(code, probes, construction.as_ref(), context)?,
            max_locals: first_local
                .checked_add(extra_locals)
                .ok_or(Reason::TooManyLocals)?,
            code_length,
        };
        let name_index = class.bytes().get(code.offset..code.offset + 2);
        let name_index = name_index.and_then(|bytes| bytes.first_chunk());
        let name_index = CpIndex::from_be_bytes(name_index.copied().unwrap_or_default());
        write_attribute(name_index, out, |out| {
            self.write_content(&method, code, &method_probes, &head, context.writer, out)
        })?;
        Ok(PlannedMethod {
            uncovered,
            inserts: self.relocation.inserts(),
        })
    }

    /// Writes the probes at entry, exits and handlers.
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
        self.trace_locals = match probes.trace {
            Some(_) => {
                let locals = TraceLocals::new(code.max_locals, probes.values);
                Some(locals.ok_or(Reason::TooManyLocals)?)
            }
            None => None,
        };
        if let Some(id) = probes.count {
            method_probes.entry = context.writer.count(id, context.options)?;
        }
        if let Some(id) = probes.timing {
            let starts = code.exception_table().map(|entry| entry.handler_pc);
            self.handler_starts.extend(starts);
            self.handler_starts.sort_unstable();
            self.handler_starts.dedup();
            self.handler_starts
                .retain(|&start| !only_rethrows(code.bytecode, start));
            let has_handlers = !self.handler_starts.is_empty();
            let (options, writer) = (context.options, &mut *context.writer);
            let end = construction::end_probes(construction, options.call_shape);
            let receiver = options.receiver.then(|| receiver(member, options));
            let written = writer.timing(id, receiver, end, has_handlers, options)?;
            method_probes.entry = writer.join(method_probes.entry, written.entry);
            method_probes.exit = Some(written.exit);
            method_probes.caught = written.caught;
            method_probes.thrown = written.thrown;
            if let Some(construction) = construction {
                method_probes.constructed = self.write_construction(construction, id, context)?;
            }
        }
        if let (Some(id), Some(locals)) = (probes.trace, self.trace_locals) {
            // The trace probes are inside the other probes, so that the measured time contains little of the other
            // probes.
            let (options, writer) = (context.options, &mut *context.writer);
            let written = writer.trace(id, locals, signature(member), options)?;
            method_probes.entry = writer.join(method_probes.entry, written.entry);
            let exit = method_probes.exit.unwrap_or_default();
            method_probes.exit = Some(writer.join(written.exit, exit));
            method_probes.thrown = writer.join(written.thrown, method_probes.thrown);
        }
        if probes.objects && member.is_object_init() {
            let init = context.writer.object_initialised(context.options)?;
            method_probes.entry = context.writer.join(method_probes.entry, init);
        }
        Ok(method_probes)
    }

    /// Returns the length in bytes of the rewritten code, including the added handlers. Each handler is the probe
    /// `thrown` and an `athrow`.
    fn code_length(&self, thrown: Snippet) -> u32 {
        let block_len = u32::from(thrown.len) + 1;
        self.relocation.code_end().offset() + block_len * self.blocks.len() as u32
    }

    /// Returns `max_stack` of the rewritten code. When an added handler begins, the exception is its only stack
    /// slot.
    fn max_stack(
        &self,
        code: &Code<'_>,
        probes: Probes,
        construction: Option<&Construction>,
        context: &Context<'_>,
    ) -> Result<u16, Reason> {
        let mut max_stack = u32::from(code.max_stack) + u32::from(context.writer.extra_stack);
        if !self.blocks.is_empty() && probes.trace.is_some() {
            max_stack = max_stack.max(trace::handler_stack(probes.values).into());
        }
        if !self.blocks.is_empty() && probes.timing.is_some() {
            let end = construction::end_probes(construction, context.options.call_shape);
            let arguments = timing::argument_slots(context.options, end);
            max_stack = max_stack.max(1 + u32::from(arguments));
        }
        u16::try_from(max_stack).map_err(|_| Reason::StackTooDeep)
    }

    /// Appends the content of the `Code` attribute, after `attribute_length`,
    /// to `out`.
    fn write_content(
        &mut self,
        method: &MethodBody<'_, '_>,
        code: &Code<'_>,
        probes: &MethodProbes,
        head: &Head,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        out.extend_from_slice(&head.max_stack.to_be_bytes());
        out.extend_from_slice(&head.max_locals.to_be_bytes());
        out.extend_from_slice(&head.code_length.to_be_bytes());
        write_code(
            code.bytecode,
            probes.entry,
            &writer.snippets,
            &self.relocation,
            out,
        )?;
        for _ in &self.blocks {
            out.extend_from_slice(snippet_bytes(&writer.snippets, probes.thrown));
            out.push(Opcode::Athrow.byte());
        }
        handlers::relocate(
            code.exception_table(),
            &self.added_handlers,
            &self.relocation,
            probes.caught,
            &mut self.splits,
            out,
        )?
        .ok_or(Reason::TooManyHandlers)?;
        self.write_attributes(method, writer, out)
    }
}

/// Returns the instruction that pushes the receiver at a method's beginning. It pushes null if the method is
/// static, or the receiver is not initialised yet. With [`Options::static_parameter`] it pushes the first
/// parameter of a static method.
fn receiver(member: &Member<'_, '_>, options: &Options) -> Opcode {
    let is_static = member.access_flags() & access::STATIC != 0;
    let has_reference_first = || matches!(member.descriptor().get(1), Some(b'L' | b'['));
    let is_pushed = if is_static {
        options.static_parameter && has_reference_first()
    } else {
        signature(member).passes_this
    };
    if is_pushed {
        Opcode::Aload0
    } else {
        Opcode::AconstNull
    }
}

/// Returns the descriptor and the first parameter's local variable of a method, for trace probes. A constructor's
/// `this` is not passed to these probes, because it is not initialised yet.
fn signature<'a>(member: &Member<'_, 'a>) -> Signature<'a> {
    let has_this = member.access_flags() & access::STATIC == 0;
    Signature {
        descriptor: member.descriptor(),
        passes_this: has_this && member.name() != b"<init>",
        first: has_this.into(),
    }
}

/// Refuses code that would exceed the limit of class files. Also refuses code above the limit of HotSpot's
/// compilers, unless the options allow it.
fn check_length(code: &Code<'_>, code_length: u32, options: &Options) -> Result<(), Reason> {
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
