//! Entry, exit and `caught` probes.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::options::{CallShape, Options};
use crate::probe::{Call, ProbeWriter};

/// How many slots the arguments of these probes take.
pub(crate) fn argument_slots(options: &Options) -> u16 {
    match options.call_shape {
        CallShape::Id => 1,
        CallShape::ClassAndMethod { .. } => 2,
    }
}

/// The entry, exit and `caught` probes of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimingProbes {
    pub(crate) entry: Snippet,
    pub(crate) exit: Snippet,
    /// Only where the method has handlers: else it would cost constants.
    pub(crate) caught: Option<Snippet>,
}

impl ProbeWriter {
    /// Writes the probes of the method `id`.
    #[inline]
    pub(crate) fn timing(
        &mut self,
        id: u32,
        has_handlers: bool,
        options: &Options,
    ) -> Result<TimingProbes, PoolFull> {
        self.needs_stack(argument_slots(options));
        let start = self.position();
        if let CallShape::ClassAndMethod { class } = options.call_shape {
            self.push_class_number(class)?;
        }
        self.push_int(id as i32)?;
        let arguments = start as usize..self.snippets.len();
        self.call(Call::Enter, options)?;
        let entry = self.finish(start);
        let mut repeat = |call| {
            let start = self.position();
            self.snippets.extend_from_within(arguments.clone());
            self.call(call, options)?;
            Ok::<_, PoolFull>(self.finish(start))
        };
        Ok(TimingProbes {
            entry,
            exit: repeat(Call::Exit)?,
            caught: match has_handlers {
                true => Some(repeat(Call::Caught)?),
                false => None,
            },
        })
    }
}
