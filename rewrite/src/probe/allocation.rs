//! Probes that count allocations at their site without touching the object,
//! so that escape analysis still removes it.
//!
//! They run behind the instruction: an allocation that throws is none. Array
//! lengths are copied before it, since the array forgets all but the first.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::opcode::Opcode;
use crate::options::Options;
use crate::probe::{Call, ProbeWriter};

impl ProbeWriter {
    /// Behind `new`: `push site; alloc`.
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

    /// Before the creation of a one-dimensional array: keeps a copy of the
    /// length under the one that the instruction takes.
    pub(crate) fn keep_length(&mut self) -> Snippet {
        let start = self.position();
        self.op(Opcode::Dup);
        self.finish(start)
    }

    /// Behind it: `swap; push site; allocArray`.
    pub(crate) fn array_allocated(&mut self, site: u32, options: &Options) -> Result<(), PoolFull> {
        self.needs_stack(2);
        self.op(Opcode::Swap);
        self.push_int(site as i32)?;
        self.call(Call::AllocArray, options)
    }

    /// Before the creation of an array of several dimensions: keeps the
    /// lengths in the locals from `first_local` on.
    pub(crate) fn keep_lengths(&mut self, dimensions: u8, first_local: u16) -> Snippet {
        let start = self.position();
        let locals = || (0..u16::from(dimensions)).map(|i| first_local + i);
        for local in locals().rev() {
            self.int_local(Opcode::Istore, local);
        }
        for local in locals() {
            self.int_local(Opcode::Iload, local);
        }
        self.finish(start)
    }

    /// Behind it: `iload length; push dimension; push site; allocDimension`
    /// for each dimension.
    pub(crate) fn dimensions_allocated(
        &mut self,
        dimensions: u8,
        first_local: u16,
        site: u32,
        options: &Options,
    ) -> Result<(), PoolFull> {
        self.needs_stack(3);
        let start = self.snippets.len();
        self.push_int(site as i32)?;
        let site: Vec<u8> = self.snippets.drain(start..).collect();
        for dimension in 0..u16::from(dimensions) {
            self.int_local(Opcode::Iload, first_local + dimension);
            self.push_int(i32::from(dimension))?;
            self.snippets.extend_from_slice(&site);
            self.call(Call::AllocDimension, options)?;
        }
        Ok(())
    }
}
