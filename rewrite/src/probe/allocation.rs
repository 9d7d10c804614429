//! Probes that count allocations at the allocating instruction. They do not use the object, so that escape
//! analysis can still remove it.
//!
//! The probes follow the instruction, so an allocation that throws is not counted. The instruction consumes the lengths
//! of an array, so they are copied before the instruction.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::opcode::Opcode;
use crate::options::Options;
use crate::probe::writer::{Call, ProbeWriter};

impl ProbeWriter {
    /// Writes the probe after `new`: `push site; alloc`.
    pub(crate) fn object_allocated(
        &mut self,
        site: u32,
        options: &Options,
    ) -> Result<Snippet, PoolFull> {
        self.needs_stack(1);
        let start = self.position();
        self.push_int(site as i32)?;
        self.call(Call::Alloc, options)?;
        Ok(self.finish(start))
    }

    /// Writes the probe before the creation of a one-dimensional array: it copies the length,
    /// because the instruction consumes one copy.
    pub(crate) fn keep_length(&mut self) -> Snippet {
        let start = self.position();
        self.op(Opcode::Dup);
        self.finish(start)
    }

    /// Writes the probe after the creation of a one-dimensional array: `swap; push site;
    /// allocArray`.
    pub(crate) fn array_allocated(&mut self, site: u32, options: &Options) -> Result<(), PoolFull> {
        self.needs_stack(2);
        self.op(Opcode::Swap);
        self.push_int(site as i32)?;
        self.call(Call::AllocArray, options)
    }

    /// Writes the probe before the creation of a multidimensional array: it stores the lengths in the local
    /// variables from `first_local` on.
    pub(crate) fn keep_lengths(&mut self, dimensions: u8, first_local: u16) -> Snippet {
        let start = self.position();
        let locals = || (0..u16::from(dimensions)).map(|i| first_local + i);
        for local in locals().rev() {
            self.local(Opcode::Istore, local);
        }
        for local in locals() {
            self.local(Opcode::Iload, local);
        }
        self.finish(start)
    }

    /// Writes the probe after the creation of a multidimensional array:
    /// `iload length; push dimension; push site; allocDimension` for each dimension, the outermost first.
    pub(crate) fn dimensions_allocated(
        &mut self,
        dimensions: u8,
        first_local: u16,
        site: u32,
        options: &Options,
    ) -> Result<(), PoolFull> {
        self.needs_stack(3);
        // The bytes that push the site's id are written once and copied, so that all copies share one constant.
        let start = self.snippets.len();
        self.push_int(site as i32)?;
        let push_site: Vec<u8> = self.snippets.drain(start..).collect();
        for dimension in 0..u16::from(dimensions) {
            self.local(Opcode::Iload, first_local + dimension);
            self.push_int(i32::from(dimension))?;
            self.snippets.extend_from_slice(&push_site);
            self.call(Call::AllocDimension, options)?;
        }
        Ok(())
    }
}
