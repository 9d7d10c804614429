//! The probe that only counts a method's calls. It is one call at the method's
//! entry: no handler, no exit, no local variable. So it goes into constructors
//! without regard to `this`, and the JIT can inline it with its method.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::options::Options;
use crate::probe::writer::{Call, ProbeWriter};

impl ProbeWriter {
    /// The probe at the entry of the method `id`: `push id; count`.
    pub(crate) fn count(&mut self, id: u32, options: &Options) -> Result<Snippet, PoolFull> {
        let start = self.position();
        self.push_method(id, options)?;
        self.call(Call::Count, options)?;
        Ok(self.finish(start))
    }
}
