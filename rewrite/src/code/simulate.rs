//! What instructions do to the types of local variables and operand stack.
//!
//! Follows one path of straight-line code. Where paths meet, types come from
//! the method's frames; so no class hierarchy is ever needed.

use crate::class::{ClassFile, access};
use crate::code::instructions::{Instruction, u2_at};
use crate::code::types::{ClassRef, VerificationType as V};
use crate::constant_pool::Constant;
use crate::descriptor::{parameters, return_type, slots};
use crate::error::ErrorKind;
use crate::opcode::{Effect, Opcode};

/// What the simulation needs to know of the method.
#[derive(Clone, Copy)]
pub(crate) struct Method<'c, 'a> {
    pub(crate) class: &'c ClassFile<'a>,
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    pub(crate) access_flags: u16,
    pub(crate) code: &'a [u8],
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
}

/// A method has at most so many slots of parameters, `this` included.
const MOST_PARAMETER_SLOTS: usize = 255;

/// Local variables and operand stack, one element a slot. Locals past the
/// end of `locals` are `Top`: methods declare more than they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State<'a> {
    pub(crate) locals: Vec<V<'a>>,
    pub(crate) stack: Vec<V<'a>>,
}

/// Whether an instruction was the call that initialises `this`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Ordinary,
    InitialisedThis,
}

type Result<T, E = ErrorKind> = std::result::Result<T, E>;

fn bad<T>(why: &'static str) -> Result<T> {
    Err(ErrorKind::BadOperandStack(why))
}

impl<'a> Method<'_, 'a> {
    /// Whether the method begins with an uninitialised `this`.
    pub(crate) fn constructs(&self) -> bool {
        self.name == b"<init>" && self.class.name() != b"java/lang/Object"
    }

    fn this(&self) -> V<'a> {
        V::object(Some(self.class.this_class_index()), self.class.name())
    }

    /// The state at the method's first instruction (JVMS §4.10.1.6).
    pub(crate) fn initial(&self) -> Result<State<'a>> {
        let mut state = State::default();
        if self.access_flags & access::STATIC == 0 {
            let this = match self.constructs() {
                true => V::UninitializedThis,
                false => self.this(),
            };
            state.locals.push(this);
        }
        for parameter in parameters(self.descriptor) {
            let parameter = V::of_field_type(parameter).ok_or(ErrorKind::BadDescriptor)?;
            state.locals.push(parameter);
            if parameter.is_wide() {
                state.locals.push(V::Top);
            }
        }
        // JVMS §4.3.3.
        if state.locals.len() > usize::from(self.max_locals).min(MOST_PARAMETER_SLOTS) {
            return bad("parameters past max_locals");
        }
        Ok(state)
    }
}

impl<'a> State<'a> {
    /// The classes among its types whose constants are still to be found.
    pub(crate) fn classes(&self) -> impl Iterator<Item = ClassRef<'a>> {
        let slots = self.locals.iter().chain(&self.stack);
        slots.filter_map(|slot| match slot {
            V::Object(class) if class.index.is_none() || class.dimensions != 0 => Some(*class),
            _ => None,
        })
    }

    fn push(&mut self, value: V<'a>, method: &Method<'_, 'a>) -> Result<()> {
        self.stack.push(value);
        if value.is_wide() {
            self.stack.push(V::Top);
        }
        if self.stack.len() > usize::from(method.max_stack) {
            return bad("deeper than max_stack");
        }
        Ok(())
    }

    fn pop(&mut self, slots: usize) -> Result<()> {
        match self.stack.len().checked_sub(slots) {
            Some(left) => {
                self.stack.truncate(left);
                Ok(())
            }
            None => bad("empty"),
        }
    }

    fn pop_one(&mut self) -> Result<V<'a>> {
        match self.stack.pop() {
            Some(value) => Ok(value),
            None => bad("empty"),
        }
    }

    /// Pushes a value of this field type.
    fn push_field_type(&mut self, field_type: &'a [u8], method: &Method<'_, 'a>) -> Result<()> {
        match V::of_field_type(field_type) {
            Some(value) => self.push(value, method),
            None => Err(ErrorKind::BadDescriptor),
        }
    }

    fn load(&mut self, kind: u8, local: u16, method: &Method<'_, 'a>) -> Result<()> {
        let value = match kind {
            b'I' => V::Integer,
            b'F' => V::Float,
            b'J' => V::Long,
            b'D' => V::Double,
            _ => self
                .locals
                .get(usize::from(local))
                .copied()
                .unwrap_or(V::Top),
        };
        self.push(value, method)
    }

    fn store(&mut self, kind: u8, local: u16, method: &Method<'_, 'a>) -> Result<()> {
        let local = usize::from(local);
        let value = match kind {
            b'I' => (V::Integer, 1),
            b'F' => (V::Float, 1),
            b'J' => (V::Long, 2),
            b'D' => (V::Double, 2),
            _ => match self.stack.last() {
                Some(&value) => (value, 1),
                None => return bad("empty"),
            },
        };
        let (value, width) = value;
        self.pop(width)?;
        if local + width > usize::from(method.max_locals) {
            return bad("local past max_locals");
        }
        if local + width > self.locals.len() {
            self.locals.resize(local + width, V::Top);
        }
        // The first half of a pair whose second half is overwritten.
        if let Some(before) = local.checked_sub(1)
            && self.locals[before].is_wide()
        {
            self.locals[before] = V::Top;
        }
        self.locals[local] = value;
        if width == 2 {
            self.locals[local + 1] = V::Top;
        }
        Ok(())
    }

    fn replace(&mut self, old: V<'a>, new: V<'a>) {
        for slot in self.locals.iter_mut().chain(&mut self.stack) {
            if *slot == old {
                *slot = new;
            }
        }
    }

    /// Applies one instruction; jumps are the caller's to follow.
    pub(crate) fn step(
        &mut self,
        instruction: &Instruction<'a>,
        method: &Method<'_, 'a>,
    ) -> Result<Step> {
        let pool = method.class.pool();
        let class_constant = || {
            let index = instruction.constant();
            let name = pool.class_name(index).map_err(|e| e.kind().clone())?;
            Ok::<_, ErrorKind>(ClassRef {
                index: Some(index),
                name,
                dimensions: 0,
            })
        };
        let member = || {
            pool.member(instruction.constant())
                .map_err(|e| e.kind().clone())
        };
        match instruction.acting_opcode().effect() {
            Effect::Plain(pop, push) => {
                self.pop(usize::from(pop))?;
                match push {
                    "" => {}
                    "N" => self.push(V::Null, method)?,
                    field_type => self.push_field_type(field_type.as_bytes(), method)?,
                }
            }
            Effect::Constant => {
                let constant = pool.get(instruction.constant());
                let value = match constant.map_err(|e| e.kind().clone())? {
                    Constant::Integer(_) => V::Integer,
                    Constant::Float(_) => V::Float,
                    Constant::Long(_) => V::Long,
                    Constant::Double(_) => V::Double,
                    Constant::String { .. } => V::object(None, b"java/lang/String"),
                    Constant::Class { .. } => V::object(None, b"java/lang/Class"),
                    Constant::MethodType { .. } => V::object(None, b"java/lang/invoke/MethodType"),
                    Constant::MethodHandle { .. } => {
                        V::object(None, b"java/lang/invoke/MethodHandle")
                    }
                    Constant::Dynamic { .. } => {
                        V::of_field_type(member()?.1).ok_or(ErrorKind::BadDescriptor)?
                    }
                    _ => return bad("constant that cannot be loaded"),
                };
                self.push(value, method)?;
            }
            Effect::Load(kind) => self.load(kind, instruction.local(), method)?,
            Effect::LoadN(kind, local) => self.load(kind, u16::from(local), method)?,
            Effect::Store(kind) => self.store(kind, instruction.local(), method)?,
            Effect::StoreN(kind, local) => self.store(kind, u16::from(local), method)?,
            Effect::ArrayElement => {
                self.pop(1)?;
                // Data flow forgets types where paths join: what comes from
                // an array it does not know is no `this`.
                let element = self.pop_one()?.element().unwrap_or(V::Top);
                self.push(element, method)?;
            }
            Effect::Duplicate(count, below) => {
                if duplicate(&mut self.stack, usize::from(count), usize::from(below)).is_none() {
                    return bad("empty");
                }
                if self.stack.len() > usize::from(method.max_stack) {
                    return bad("deeper than max_stack");
                }
            }
            Effect::Swap => {
                let (a, b) = (self.pop_one()?, self.pop_one()?);
                self.stack.extend([a, b]);
            }
            Effect::Jump => {}
            Effect::Subroutine => match instruction.jump_target().map(u16::try_from) {
                Some(Ok(target)) => self.push(V::ReturnAddress(target), method)?,
                _ => return bad("jsr out of the method"),
            },
            Effect::SubroutineReturn => {}
            Effect::Switch | Effect::Throw => self.pop(1)?,
            Effect::Return(slots) => self.pop(usize::from(slots))?,
            Effect::GetField(objects) => {
                self.pop(usize::from(objects))?;
                self.push_field_type(member()?.1, method)?;
            }
            Effect::PutField(objects) => {
                self.pop(slots(member()?.1) + usize::from(objects))?;
            }
            Effect::Invoke(receiver) => {
                let (name, descriptor) = member()?;
                self.pop(parameters(descriptor).map(slots).sum())?;
                let mut step = Step::Ordinary;
                if receiver != 0 {
                    let receiver = self.pop_one()?;
                    if instruction.opcode == Opcode::Invokespecial && name == b"<init>" {
                        step = self.initialise(receiver, method);
                    }
                }
                match return_type(descriptor) {
                    Some(b"V") => {}
                    Some(result) => self.push_field_type(result, method)?,
                    None => return Err(ErrorKind::BadDescriptor),
                }
                return Ok(step);
            }
            Effect::New => {
                // An older object of the same instruction can no longer be
                // told from this one (JVMS §4.10.1.9.new).
                let object = V::Uninitialized(instruction.bci as u16);
                for local in &mut self.locals {
                    if *local == object {
                        *local = V::Top;
                    }
                }
                self.push(object, method)?;
            }
            Effect::NewArray => {
                self.pop(1)?;
                let name = match instruction.u1(1) {
                    4 => b"[Z",
                    5 => b"[C",
                    6 => b"[F",
                    7 => b"[D",
                    8 => b"[B",
                    9 => b"[S",
                    10 => b"[I",
                    11 => b"[J",
                    _ => return bad("newarray of no type"),
                };
                self.push(V::object(None, name), method)?;
            }
            Effect::ANewArray => {
                self.pop(1)?;
                let class = class_constant()?;
                self.push(
                    V::Object(ClassRef {
                        dimensions: 1,
                        ..class
                    }),
                    method,
                )?;
            }
            Effect::MultiANewArray => {
                self.pop(usize::from(instruction.u1(3)))?;
                self.push(V::Object(class_constant()?), method)?;
            }
            Effect::CheckCast => {
                self.pop(1)?;
                self.push(V::Object(class_constant()?), method)?;
            }
            Effect::Wide => return bad("wide of nothing"),
        }
        Ok(Step::Ordinary)
    }

    /// A constructor was called on `receiver`.
    fn initialise(&mut self, receiver: V<'a>, method: &Method<'_, 'a>) -> Step {
        match receiver {
            V::UninitializedThis => {
                self.replace(receiver, method.this());
                Step::InitialisedThis
            }
            V::Uninitialized(new_at) => {
                let class = u2_at(method.code, usize::from(new_at) + 1).and_then(|index| {
                    let name = method.class.pool().class_name(index).ok()?;
                    Some(V::object(Some(index), name))
                });
                self.replace(receiver, class.unwrap_or(V::Top));
                Step::Ordinary
            }
            _ => Step::Ordinary,
        }
    }
}

/// Copies the `count` top values below the `below` values under them.
fn duplicate<T: Copy>(stack: &mut Vec<T>, count: usize, below: usize) -> Option<()> {
    let at = stack.len().checked_sub(count + below)?;
    for i in 0..count {
        // Every copy made so far has moved the originals up by one.
        let copy = *stack.get(at + below + 2 * i)?;
        stack.insert(at + i, copy);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_keep_their_order() {
        let after = |opcode: Opcode, stack: &str| {
            let Effect::Duplicate(count, below) = opcode.effect() else {
                panic!("{opcode:?} copies nothing");
            };
            let mut stack: Vec<char> = stack.chars().collect();
            duplicate(&mut stack, count.into(), below.into()).unwrap();
            stack.into_iter().collect::<String>()
        };
        assert_eq!(after(Opcode::Dup, "ab"), "abb");
        assert_eq!(after(Opcode::DupX1, "ab"), "bab");
        assert_eq!(after(Opcode::DupX2, "abc"), "cabc");
        assert_eq!(after(Opcode::Dup2, "ab"), "abab");
        assert_eq!(after(Opcode::Dup2X1, "abc"), "bcabc");
        assert_eq!(after(Opcode::Dup2X2, "abcd"), "cdabcd");
        assert_eq!(duplicate(&mut vec![1], 1, 1), None);
    }
}
