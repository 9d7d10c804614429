//! The probes of allocating instructions.

use crate::class::Member;
use crate::code::Code;
use crate::code::bci::Bci;
use crate::code::instructions::Instruction;
use crate::code::layout::Sites;
use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::method::planner::Context;
use crate::opcode::Opcode;
use crate::outcome::{Fault, Reason, Refusal};
use crate::selector::{Allocation, Probes, Site};

/// Writes the probes of allocating instructions while the method is laid out.
pub(super) struct SiteWriter<'x, 'y, 'c, 'a> {
    pub(super) member: &'x Member<'c, 'a>,
    pub(super) code: &'x Code<'a>,
    pub(super) probes: Probes,
    pub(super) context: &'x mut Context<'y>,
    /// The first local variable after those of the method and of other probes.
    pub(super) first_local: u16,
    /// The number of local variables that the probes need from `first_local` on.
    pub(super) extra_locals: u16,
}

impl<'a> SiteWriter<'_, '_, '_, 'a> {
    fn site(&mut self, bci: Bci, allocation: Allocation<'a>) -> u32 {
        let site = Site { bci, allocation };
        self.context.selector.site(self.member, &site)
    }

    fn instruction(&self, bci: Bci) -> Result<Instruction<'a>, Fault> {
        Instruction::at(self.code.bytecode, bci).map_err(|kind| Fault { kind, bci })
    }

    fn class_name(&self, instruction: &Instruction<'_>) -> Result<&'a [u8], Refusal> {
        let pool = self.member.class().pool();
        Ok(pool.class_name(instruction.constant())?)
    }
}

impl Sites for SiteWriter<'_, '_, '_, '_> {
    fn new_object(&mut self, bci: Bci) -> Result<Snippet, Refusal> {
        if !self.probes.allocations {
            return Ok(Snippet::default());
        }
        let instruction = self.instruction(bci)?;
        let class = self.class_name(&instruction)?;
        let site = self.site(bci, Allocation::Object(class));
        let options = self.context.options;
        Ok(self.context.writer.object_allocated(site, options)?)
    }

    fn new_array(&mut self, bci: Bci) -> Result<(Snippet, Snippet), Refusal> {
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
                let first_local = self.first_local;
                if first_local.checked_add(self.extra_locals).is_none() {
                    return Err(Reason::TooManyLocals.into());
                }
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
                    let first_local = self.first_local;
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
