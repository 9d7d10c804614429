//! The probe that only counts the calls of a method: one call of the tracker at the method's entry. It has no
//! handler, no exit and no local variable. So constructors can have it, whatever the state of `this`, and the JIT
//! can inline it together with the method.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::options::Options;
use crate::probe::writer::{Call, ProbeWriter};

impl ProbeWriter {
    /// Writes the probe at the entry of the method `id`: `push id; count`.
    pub(crate) fn count(&mut self, id: u32, options: &Options) -> Result<Snippet, PoolFull> {
        let start = self.position();
        self.push_method(id, options)?;
        self.call(Call::Count, options)?;
        Ok(self.finish(start))
    }
}
