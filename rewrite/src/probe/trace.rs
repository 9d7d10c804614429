//! The probes that measure each call of a method. A local variable of the method keeps the time of the entry, so
//! the tracker need not know which calls are under way. Every frame of the method lists that variable.
//!
//! If the probes pass values, a second variable keeps the arguments, as a list that the tracker makes at the entry. The
//! arguments cannot be read at the end: by then the method may have assigned other values to its parameters, and in a
//! handler the frame has no parameters.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::descriptor::{parameters, return_type, slots};
use crate::opcode::Opcode;
use crate::options::Options;
use crate::probe::writer::{Call, ProbeWriter};

/// Returns `max_stack` of an added handler: the exception, and the arguments of the probe in the handler.
pub(crate) fn handler_stack(has_values: bool) -> u16 {
    5 + u16::from(has_values)
}

/// The local variables of the trace probes. They come after the method's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceLocals {
    /// The variable for the time at the method's entry, a `long`.
    pub(crate) start: u16,
    /// The variable for the list of the arguments, an `Object`; `None` if the probes pass no values.
    pub(crate) values: Option<u16>,
}

impl TraceLocals {
    /// Returns the variables for a method that has `max_locals` slots of its own; `None` if there is no room.
    pub(crate) fn new(max_locals: u16, has_values: bool) -> Option<TraceLocals> {
        let behind_start = max_locals.checked_add(2)?;
        Some(TraceLocals {
            start: max_locals,
            values: has_values.then_some(behind_start),
        })
    }

    /// Returns the first local variable after these; `None` if there is none.
    pub(crate) fn end(self) -> Option<u16> {
        match self.values {
            Some(values) => values.checked_add(1),
            None => self.start.checked_add(2),
        }
    }
}

/// The descriptor of a method, and the local variables of its parameters, which are at most 255.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature<'a> {
    pub(crate) descriptor: &'a [u8],
    /// True if the first local variable is an initialised `this`, which then belongs to the values.
    pub(crate) passes_this: bool,
    /// The local variable of the first parameter: 1 if there is a `this`, otherwise 0.
    pub(crate) first: u16,
}

/// The trace probes of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceProbes {
    pub(crate) entry: Snippet,
    pub(crate) exit: Snippet,
    /// The probe in the added handlers. The exception stays on the stack.
    pub(crate) thrown: Snippet,
}

impl ProbeWriter {
    /// Writes the trace probes of the method `id`.
    pub(crate) fn trace(
        &mut self,
        id: u32,
        locals: TraceLocals,
        signature: Signature<'_>,
        options: &Options,
    ) -> Result<TraceProbes, PoolFull> {
        self.needs_stack(3 + u16::from(locals.values.is_some()));
        let entry = self.snippet(|writer| {
            if let Some(values) = locals.values {
                writer.keep_arguments(signature, values, options)?;
            }
            // The clock is read last, so that the duration has as little of the probe as possible.
            writer.call(Call::TraceEnter, options)?;
            writer.local(Opcode::Lstore, locals.start);
            Ok::<_, PoolFull>(())
        })?;
        let exit = self.snippet(|writer| {
            if let Some(values) = locals.values {
                writer.add_result(signature, values, options)?;
            }
            writer.end_trace(id, locals, [Call::TraceExit, Call::TraceExitWith], options)
        })?;
        let thrown = self.snippet(|writer| {
            writer.op(Opcode::Dup);
            if let Some(values) = locals.values {
                writer.local(Opcode::Aload, values);
            }
            let calls = [Call::TraceThrown, Call::TraceThrownWith];
            writer.end_trace(id, locals, calls, options)
        })?;
        Ok(TraceProbes {
            entry,
            exit,
            thrown,
        })
    }

    /// Writes `lload start; push id`, then the call `plain`, or the call `with` if the probes pass values.
    fn end_trace(
        &mut self,
        id: u32,
        locals: TraceLocals,
        [plain, with]: [Call; 2],
        options: &Options,
    ) -> Result<(), PoolFull> {
        self.local(Opcode::Lload, locals.start);
        self.push_int(id as i32)?;
        let call = if locals.values.is_some() { with } else { plain };
        self.call(call, options)
    }

    /// Writes instructions that store a list of the arguments, with the first argument in front. They load all
    /// arguments and then null, the empty list. Then calls of the tracker put the arguments in front of the list, from
    /// the last argument on.
    fn keep_arguments(
        &mut self,
        signature: Signature<'_>,
        values: u16,
        options: &Options,
    ) -> Result<(), PoolFull> {
        let mut calls = Vec::new();
        if signature.passes_this {
            self.op(Opcode::Aload0);
            calls.push(Call::TraceObject);
        }
        let mut local = signature.first;
        for parameter in parameters(signature.descriptor) {
            let (load, _, call) = of_type(parameter);
            self.local(load, local);
            calls.push(call);
            local += slots(parameter) as u16;
        }
        self.needs_stack(local + 1);
        self.op(Opcode::AconstNull);
        for call in calls.into_iter().rev() {
            self.call(call, options)?;
        }
        self.local(Opcode::Astore, values);
        Ok(())
    }

    /// Writes instructions that push the list of the arguments. If the method returns a value, a copy of the value is
    /// in front.
    fn add_result(
        &mut self,
        signature: Signature<'_>,
        values: u16,
        options: &Options,
    ) -> Result<(), PoolFull> {
        let result = return_type(signature.descriptor).filter(|it| *it != b"V");
        let Some(result) = result else {
            self.local(Opcode::Aload, values);
            return Ok(());
        };
        let (_, copy, call) = of_type(result);
        self.op(copy);
        self.local(Opcode::Aload, values);
        self.call(call, options)
    }
}

/// Returns the instructions that load and copy a value of this field type, and the call that puts the value in
/// front of a list.
fn of_type(field_type: &[u8]) -> (Opcode, Opcode, Call) {
    match field_type {
        [b'B' | b'C' | b'I' | b'S' | b'Z'] => (Opcode::Iload, Opcode::Dup, Call::TraceInt),
        b"J" => (Opcode::Lload, Opcode::Dup2, Call::TraceLong),
        b"F" => (Opcode::Fload, Opcode::Dup, Call::TraceFloat),
        b"D" => (Opcode::Dload, Opcode::Dup2, Call::TraceDouble),
        _ => (Opcode::Aload, Opcode::Dup, Call::TraceObject),
    }
}
