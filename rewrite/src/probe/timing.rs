//! Entry, exit and `caught` probes.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::options::{CallShape, Options};
use crate::probe::{Call, ProbeWriter};

/// How many slots the arguments of the probe at a method's end take.
pub(crate) fn argument_slots(options: &Options, ends: Ends) -> u16 {
    match (options.call_shape, ends) {
        (CallShape::Id, Ends::Exits) => 1,
        (CallShape::Id, _) | (CallShape::ClassAndMethod { .. }, _) => 2,
    }
}

/// What tells that a method ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// `exit`, however it ends.
    Exits,
    /// In a constructor of this key: `ended` where an exception leaves it, and where
    /// it returns too if it `constructs`: calls another one, which may throw.
    Constructor { key: i16, constructs: bool },
}

/// The entry, exit and `caught` probes of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimingProbes {
    pub(crate) entry: Snippet,
    pub(crate) exit: Snippet,
    /// Where an exception leaves the method.
    pub(crate) thrown: Snippet,
    /// Only where the method has handlers: else it would cost constants.
    pub(crate) caught: Option<Snippet>,
}

impl ProbeWriter {
    /// Writes the probes of the method `id`.
    #[inline]
    pub(crate) fn timing(
        &mut self,
        id: u32,
        ends: Ends,
        has_handlers: bool,
        options: &Options,
    ) -> Result<TimingProbes, PoolFull> {
        self.needs_stack(argument_slots(options, ends));
        let start = self.position();
        if let CallShape::ClassAndMethod { class } = options.call_shape {
            self.push_class_number(class)?;
        }
        self.push_int(id as i32)?;
        let arguments = start as usize..self.snippets.len();
        self.call(Call::Enter, options)?;
        let entry = self.finish(start);
        let mut repeat = |call, key: Option<i16>| {
            let start = self.position();
            self.snippets.extend_from_within(arguments.clone());
            if let Some(key) = key {
                self.push_int(key.into())?;
            }
            self.call(call, options)?;
            Ok::<_, PoolFull>(self.finish(start))
        };
        let (exit, thrown) = match ends {
            Ends::Exits => {
                let exit = repeat(Call::Exit, None)?;
                (exit, exit)
            }
            Ends::Constructor { key, constructs } => {
                let exit = match constructs {
                    true => repeat(Call::Ended, Some(0))?,
                    false => repeat(Call::Exit, None)?,
                };
                (exit, repeat(Call::Ended, Some(key))?)
            }
        };
        Ok(TimingProbes {
            entry,
            exit,
            thrown,
            caught: match has_handlers {
                true => Some(repeat(Call::Caught, None)?),
                false => None,
            },
        })
    }

    /// Before the constructor `id` calls another one: `push id; push own; push
    /// other; construct`.
    pub(crate) fn construct(
        &mut self,
        id: u32,
        own: i16,
        other: i16,
        options: &Options,
    ) -> Result<Snippet, PoolFull> {
        self.needs_stack(3);
        let start = self.position();
        self.push_int(id as i32)?;
        self.push_int(own.into())?;
        self.push_int(other.into())?;
        self.call(Call::Construct, options)?;
        Ok(self.finish(start))
    }

    /// Behind that call: `push id; constructed`.
    pub(crate) fn constructed(&mut self, id: u32, options: &Options) -> Result<Snippet, PoolFull> {
        self.needs_stack(1);
        let start = self.position();
        self.push_int(id as i32)?;
        self.call(Call::Constructed, options)?;
        Ok(self.finish(start))
    }
}
