//! Entry, exit and `caught` probes.

use crate::code::relocation::Snippet;
use crate::constant_pool::PoolFull;
use crate::opcode::Opcode;
use crate::options::{CallShape, Options};
use crate::probe::writer::{Call, ProbeWriter};

/// Returns the number of operand-stack slots for the arguments of the probe at a method's end.
pub(crate) fn argument_slots(options: &Options, end: EndProbes) -> u16 {
    match (options.call_shape, end) {
        (CallShape::Id, EndProbes::Exit) => 1,
        (CallShape::Id, _) | (CallShape::ClassAndMethod { .. }, _) => 2,
    }
}

/// The probes that report the end of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndProbes {
    /// `exit`, whether the method returns or throws.
    Exit,
    /// In a constructor with this key, `ended` reports that an exception leaves the constructor. If the constructor
    /// calls another one that may throw (`constructs`), `ended` also replaces `exit` before returns.
    Constructor { key: i16, constructs: bool },
}

/// The entry, exit and `caught` probes of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimingProbes {
    pub(crate) entry: Snippet,
    pub(crate) exit: Snippet,
    /// The probe in the added handlers, which an exception reaches when it leaves the method.
    pub(crate) thrown: Snippet,
    /// The probe at the beginning of handlers. `None` if the method has no handlers, because the probe would cost
    /// constants.
    pub(crate) caught: Option<Snippet>,
}

impl ProbeWriter {
    /// Writes the probes of the method `id`. `receiver` is the instruction that pushes the receiver; `None` if the
    /// entry probe does not get the receiver.
    #[inline]
    pub(crate) fn timing(
        &mut self,
        id: u32,
        receiver: Option<Opcode>,
        end: EndProbes,
        has_handlers: bool,
        options: &Options,
    ) -> Result<TimingProbes, PoolFull> {
        self.needs_stack(argument_slots(options, end));
        let start = self.position();
        if let Some(receiver) = receiver {
            self.needs_stack(2);
            self.op(receiver);
        }
        let arguments = self.snippets.len();
        self.push_method(id, options)?;
        let arguments = arguments..self.snippets.len();
        let enter = if receiver.is_some() {
            Call::EnterOn
        } else {
            Call::Enter
        };
        self.call(enter, options)?;
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
        let (exit, thrown) = match end {
            EndProbes::Exit => {
                let exit = repeat(Call::Exit, None)?;
                (exit, exit)
            }
            EndProbes::Constructor { key, constructs } => {
                let exit = if constructs {
                    repeat(Call::Ended, Some(0))?
                } else {
                    repeat(Call::Exit, None)?
                };
                (exit, repeat(Call::Ended, Some(key))?)
            }
        };
        let caught = if has_handlers {
            Some(repeat(Call::Caught, None)?)
        } else {
            None
        };
        Ok(TimingProbes {
            entry,
            exit,
            thrown,
            caught,
        })
    }

    /// Writes the probe that runs before the constructor `id` calls another one: `push id; push
    /// own; push other; construct`. `own` and `other` are the keys of the two constructors.
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

    /// Writes the probe after the call of another constructor: `push id; constructed`.
    pub(crate) fn constructed(&mut self, id: u32, options: &Options) -> Result<Snippet, PoolFull> {
        self.needs_stack(1);
        let start = self.position();
        self.push_int(id as i32)?;
        self.call(Call::Constructed, options)?;
        Ok(self.finish(start))
    }
}
