//! The injected sequences, one file a family.

pub(crate) mod allocation;
pub(crate) mod object;
pub(crate) mod timing;

use crate::code::relocation::Snippet;
use crate::constant_pool::{PoolAdditions, PoolFull, PoolMark};
use crate::opcode::Opcode;
use crate::options::{CallShape, Options};

/// A static method of the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Enter,
    Exit,
    Caught,
    Construct,
    Constructed,
    Ended,
    Alloc,
    AllocArray,
    AllocDimension,
    Init,
    NewArray,
}

const CALLS: usize = 11;

impl Call {
    fn name(self, options: &Options) -> &str {
        let names = &options.names;
        match self {
            Call::Enter => &names.enter,
            Call::Exit => &names.exit,
            Call::Caught => &names.caught,
            Call::Construct => &names.construct,
            Call::Constructed => &names.constructed,
            Call::Ended => &names.ended,
            Call::Alloc => &names.alloc,
            Call::AllocArray => &names.alloc_array,
            Call::AllocDimension => &names.alloc_dimension,
            Call::Init => &names.init,
            Call::NewArray => &names.new_array,
        }
    }

    fn descriptor(self, options: &Options) -> &'static [u8] {
        match self {
            Call::Enter | Call::Exit | Call::Caught | Call::Constructed => match options.call_shape
            {
                CallShape::Id => b"(I)V",
                CallShape::ClassAndMethod { .. } => b"(II)V",
            },
            Call::Alloc => b"(I)V",
            Call::AllocArray | Call::Ended => b"(II)V",
            Call::AllocDimension | Call::Construct => b"(III)V",
            Call::Init | Call::NewArray => b"(Ljava/lang/Object;)V",
        }
    }
}

/// The constants that probes refer to, appended when first needed.
#[derive(Clone, Copy, Debug, Default)]
struct Constants {
    owner: Option<u16>,
    calls: [Option<u16>; CALLS],
    /// The descriptor that entry, exit and `caught` probes share.
    timing_descriptor: Option<u16>,
    class_number: Option<u16>,
}

/// A state of [`ProbeWriter`] to come back to when a method is left alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeMark {
    pool: PoolMark,
    constants: Constants,
}

/// Writes injected sequences into a buffer of snippets.
#[derive(Debug, Default)]
pub(crate) struct ProbeWriter {
    pub(crate) snippets: Vec<u8>,
    pub(crate) pool: PoolAdditions,
    constants: Constants,
    /// The most operand-stack slots that a probe needs on top of the code's.
    pub(crate) extra_stack: u16,
}

impl ProbeWriter {
    /// Begins a class whose pool has `pool_count` entries.
    pub(crate) fn begin_class(&mut self, pool_count: u16) {
        self.pool.reset(pool_count);
        self.constants = Constants::default();
    }

    /// Begins a method; snippets of the one before are gone.
    #[inline]
    pub(crate) fn begin_method(&mut self) -> ProbeMark {
        self.snippets.clear();
        self.extra_stack = 0;
        ProbeMark {
            pool: self.pool.mark(),
            constants: self.constants,
        }
    }

    /// Forgets the constants that a method asked for.
    pub(crate) fn roll_back(&mut self, mark: ProbeMark) {
        self.pool.roll_back(mark.pool);
        self.constants = mark.constants;
    }

    fn position(&self) -> u32 {
        self.snippets.len() as u32
    }

    /// The snippet from `start` to here.
    fn finish(&self, start: u32) -> Snippet {
        Snippet {
            start,
            len: (self.position() - start) as u16,
        }
    }

    /// The snippet that `write` writes.
    pub(crate) fn snippet<E>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<Snippet, E> {
        let start = self.position();
        write(self)?;
        Ok(self.finish(start))
    }

    fn op(&mut self, opcode: Opcode) {
        self.snippets.push(opcode.byte());
    }

    /// Pushes an `int`, in the shortest way.
    fn push_int(&mut self, value: i32) -> Result<(), PoolFull> {
        match value {
            -1..=5 => {
                let opcode = Opcode::Iconst0.byte().wrapping_add_signed(value as i8);
                self.snippets.push(opcode);
            }
            -128..=127 => {
                self.op(Opcode::Bipush);
                self.snippets.push(value as u8);
            }
            -32768..=32767 => {
                self.op(Opcode::Sipush);
                self.snippets
                    .extend_from_slice(&(value as i16).to_be_bytes());
            }
            _ => {
                let index = self.pool.integer(value)?;
                self.load_constant(index);
            }
        }
        Ok(())
    }

    fn load_constant(&mut self, index: u16) {
        match u8::try_from(index) {
            Ok(index) => {
                self.op(Opcode::Ldc);
                self.snippets.push(index);
            }
            Err(_) => {
                self.op(Opcode::LdcW);
                self.snippets.extend_from_slice(&index.to_be_bytes());
            }
        }
    }

    /// Pushes the class number, whose constant all methods share.
    fn push_class_number(&mut self, class: u32) -> Result<(), PoolFull> {
        let value = class as i32;
        if (-32768..=32767).contains(&value) {
            return self.push_int(value);
        }
        let index = match self.constants.class_number {
            Some(index) => index,
            None => self.pool.integer(value)?,
        };
        self.constants.class_number = Some(index);
        self.load_constant(index);
        Ok(())
    }

    /// Calls the tracker.
    fn call(&mut self, call: Call, options: &Options) -> Result<(), PoolFull> {
        let index = match self.constants.calls[call as usize] {
            Some(index) => index,
            None => {
                let owner = match self.constants.owner {
                    Some(owner) => owner,
                    None => self.pool.class(options.owner.as_bytes())?,
                };
                self.constants.owner = Some(owner);
                let name = call.name(options).as_bytes();
                let shares = matches!(
                    call,
                    Call::Enter | Call::Exit | Call::Caught | Call::Constructed
                );
                let descriptor = match self.constants.timing_descriptor {
                    Some(index) if shares => index,
                    _ => self.pool.utf8(call.descriptor(options))?,
                };
                if shares {
                    self.constants.timing_descriptor = Some(descriptor);
                }
                let index = self.pool.method(owner, name, descriptor)?;
                self.constants.calls[call as usize] = Some(index);
                index
            }
        };
        self.op(Opcode::Invokestatic);
        self.snippets.extend_from_slice(&index.to_be_bytes());
        Ok(())
    }

    /// Loads or stores an `int` local variable.
    fn int_local(&mut self, opcode: Opcode, local: u16) {
        match u8::try_from(local) {
            Ok(local) => {
                self.op(opcode);
                self.snippets.push(local);
            }
            Err(_) => {
                self.op(Opcode::Wide);
                self.op(opcode);
                self.snippets.extend_from_slice(&local.to_be_bytes());
            }
        }
    }

    fn needs_stack(&mut self, slots: u16) {
        self.extra_stack = self.extra_stack.max(slots);
    }
}
