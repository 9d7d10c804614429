//! Probes that pass the object itself, for tools that tag every object. They are in `Object.<init>`, which every
//! constructor finally calls, and after every instruction that makes an array.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::opcode::Opcode;
use crate::options::Options;
use crate::probe::writer::{Call, ProbeWriter};

impl ProbeWriter {
    /// Writes the probe at the beginning of `Object.<init>`: `aload_0; init`.
    pub(crate) fn object_initialised(&mut self, options: &Options) -> Result<Snippet, PoolFull> {
        self.needs_stack(1);
        let start = self.position();
        self.op(Opcode::Aload0);
        self.call(Call::Init, options)?;
        Ok(self.finish(start))
    }

    /// Writes the probe after the creation of an array: `dup; newArray`.
    pub(crate) fn array_made(&mut self, options: &Options) -> Result<(), PoolFull> {
        self.needs_stack(1);
        self.op(Opcode::Dup);
        self.call(Call::NewArray, options)
    }
}
