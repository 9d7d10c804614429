//! The probes that measure each call of a method. The time at the entry stays in a local variable of the method, so the
//! tracker need not know which calls are under way. Every frame of the method lists that variable.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::opcode::Opcode;
use crate::options::Options;
use crate::probe::writer::{Call, ProbeWriter};

/// The number of slots of the local variable that keeps the time at a method's entry.
pub(crate) const LOCALS: u16 = 2;

/// `max_stack` of an added handler: the exception, and the arguments of its probe.
pub(crate) const HANDLER_STACK: u16 = 5;

/// The probes of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceProbes {
    pub(crate) entry: Snippet,
    pub(crate) exit: Snippet,
    /// The probe in the added handlers. The exception stays on the stack.
    pub(crate) thrown: Snippet,
}

impl ProbeWriter {
    /// Writes the probes of the method `id`, which keep the time in the variable `local`.
    pub(crate) fn trace(
        &mut self,
        id: u32,
        local: u16,
        options: &Options,
    ) -> Result<TraceProbes, PoolFull> {
        self.needs_stack(3);
        let entry = self.snippet(|writer| {
            writer.call(Call::TraceEnter, options)?;
            writer.local(Opcode::Lstore, local);
            Ok::<_, PoolFull>(())
        })?;
        let exit = self.snippet(|writer| {
            writer.local(Opcode::Lload, local);
            writer.push_int(id as i32)?;
            writer.call(Call::TraceExit, options)
        })?;
        let thrown = self.snippet(|writer| {
            writer.op(Opcode::Dup);
            writer.local(Opcode::Lload, local);
            writer.push_int(id as i32)?;
            writer.call(Call::TraceThrown, options)
        })?;
        Ok(TraceProbes {
            entry,
            exit,
            thrown,
        })
    }
}
