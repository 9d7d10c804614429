//! Type simulation: the effect of instructions on the types of local variables
//! and operand stack.
//!
//! The simulation follows one path of straight-line code. Where paths join, the types come from the
//! method's frames, so no class hierarchy is needed.

use crate::class::{ClassFile, access};
use crate::code::bci::Bci;
use crate::code::instructions::{Instruction, u2_at};
use crate::code::types::{ClassRef, VerificationType as V};
use crate::constant_pool::Constant;
use crate::cp_index::CpIndex;
use crate::descriptor::{parameters, return_type, slots};
use crate::error::ErrorKind;
use crate::opcode::{Effect, Opcode};
use crate::probe::trace::TraceLocals;

/// A method and its code, as the simulation needs them.
#[derive(Clone, Copy)]
pub(crate) struct MethodBody<'c, 'a> {
    pub(crate) class: &'c ClassFile<'a>,
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    pub(crate) access_flags: u16,
    pub(crate) code: &'a [u8],
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
}

/// The type of the variable in which a traced method keeps the list of its arguments.
pub(crate) const OBJECT: ClassRef<'static> = ClassRef {
    index: None,
    name: b"java/lang/Object",
    dimensions: 0,
};

/// Maximum number of slots of a method's parameters, including `this` (JVMS §4.3.3).
const MAX_PARAMETER_SLOTS: usize = 255;

/// The types of local variables and operand stack, one element for each slot. Locals past the end of `locals` are
/// `Top`, because a method may declare more locals than it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeState<'a> {
    pub(crate) locals: Vec<V<'a>>,
    pub(crate) stack: Vec<V<'a>>,
}

/// The result of simulating one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Ordinary,
    /// The instruction was the call that initialises `this`.
    InitialisedThis,
}

type Result<T, E = ErrorKind> = std::result::Result<T, E>;

fn bad<T>(why: &'static str) -> Result<T> {
    Err(ErrorKind::BadOperandStack(why))
}

impl<'a> MethodBody<'_, 'a> {
    /// Returns whether `this` is uninitialised when the method begins: in every
    /// constructor but that of `Object`.
    pub(crate) fn is_constructor(&self) -> bool {
        self.name == b"<init>" && self.class.name() != b"java/lang/Object"
    }

    fn this(&self) -> V<'a> {
        V::object(Some(self.class.this_class_index()), self.class.name())
    }

    /// Returns the state at the method's first instruction (JVMS §4.10.1.6).
    pub(crate) fn initial(&self) -> Result<TypeState<'a>> {
        let mut state = TypeState::default();
        if self.access_flags & access::STATIC == 0 {
            let this = if self.is_constructor() {
                V::UninitializedThis
            } else {
                self.this()
            };
            state.locals.push(this);
        }
        for field_type in parameters(self.descriptor) {
            let parameter = V::of_field_type(field_type).ok_or(ErrorKind::BadDescriptor)?;
            state.locals.push(parameter);
            if parameter.is_wide() {
                state.locals.push(V::Top);
            }
        }
        if state.locals.len() > usize::from(self.max_locals).min(MAX_PARAMETER_SLOTS) {
            return bad("parameters past max_locals");
        }
        Ok(state)
    }
}

impl<'a> TypeState<'a> {
    /// Sets the types of the local variables of trace probes, which come after all others.
    pub(crate) fn set_trace(&mut self, locals: TraceLocals) {
        self.locals.resize(usize::from(locals.start), V::Top);
        self.locals.extend([V::Long, V::Top]);
        if locals.values.is_some() {
            self.locals.push(V::Object(OBJECT));
        }
    }

    /// Returns the class and array types that may need a new `CONSTANT_Class` when the state is written as a frame.
    pub(crate) fn classes(&self) -> impl Iterator<Item = ClassRef<'a>> {
        let slots = self.locals.iter().chain(&self.stack);
        slots.filter_map(|slot| match slot {
            V::Object(class) if class.index.is_none() || class.dimensions != 0 => Some(*class),
            _ => None,
        })
    }

    fn push(&mut self, value: V<'a>, method: &MethodBody<'_, 'a>) -> Result<()> {
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
    fn push_field_type(&mut self, field_type: &'a [u8], method: &MethodBody<'_, 'a>) -> Result<()> {
        match V::of_field_type(field_type) {
            Some(value) => self.push(value, method),
            None => Err(ErrorKind::BadDescriptor),
        }
    }

    fn load(&mut self, kind: u8, local: u16, method: &MethodBody<'_, 'a>) -> Result<()> {
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

    fn store(&mut self, kind: u8, slot: u16, method: &MethodBody<'_, 'a>) -> Result<()> {
        let local = usize::from(slot);
        let (value, width) = match kind {
            b'I' => (V::Integer, 1),
            b'F' => (V::Float, 1),
            b'J' => (V::Long, 2),
            b'D' => (V::Double, 2),
            _ => match self.stack.last() {
                Some(&value) => (value, 1),
                None => return bad("empty"),
            },
        };
        self.pop(width)?;
        if local + width > usize::from(method.max_locals) {
            return bad("local past max_locals");
        }
        if local + width > self.locals.len() {
            self.locals.resize(local + width, V::Top);
        }
        // A long or double becomes unusable when its second half is overwritten.
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

    /// Applies one instruction. The caller follows jumps.
    pub(crate) fn step(
        &mut self,
        instruction: &Instruction<'a>,
        method: &MethodBody<'_, 'a>,
    ) -> Result<Step> {
        match instruction.acting_opcode().effect() {
            Effect::Plain(pop, push) => {
                self.pop(usize::from(pop))?;
                match push {
                    "" => {}
                    "N" => self.push(V::Null, method)?,
                    field_type => self.push_field_type(field_type.as_bytes(), method)?,
                }
            }
            Effect::Constant => self.push(constant_type(instruction, method)?, method)?,
            Effect::Load(kind) => self.load(kind, instruction.local(), method)?,
            Effect::LoadN(kind, local) => self.load(kind, u16::from(local), method)?,
            Effect::Store(kind) => self.store(kind, instruction.local(), method)?,
            Effect::StoreN(kind, local) => self.store(kind, u16::from(local), method)?,
            Effect::ArrayElement => {
                self.pop(1)?;
                // Data flow forgets the array's type where paths join. An element of an array is never the
                // uninitialised `this`, so `Top` suffices.
                let element = self.pop_one()?.element().unwrap_or(V::Top);
                self.push(element, method)?;
            }
            Effect::Duplicate(count, below) => self.copy_top(count, below, method)?,
            Effect::Swap => {
                let (a, b) = (self.pop_one()?, self.pop_one()?);
                self.stack.extend([a, b]);
            }
            Effect::Jump => {}
            Effect::Subroutine => match instruction.jump_target().map(Bci::try_from_target) {
                Some(Ok(target)) => self.push(V::ReturnAddress(target), method)?,
                _ => return bad("jsr leaves the method"),
            },
            Effect::SubroutineReturn => {}
            Effect::Switch | Effect::Throw => self.pop(1)?,
            Effect::Return(slots) => self.pop(usize::from(slots))?,
            Effect::GetField(objects) => {
                self.pop(usize::from(objects))?;
                self.push_field_type(member(instruction, method)?.1, method)?;
            }
            Effect::PutField(objects) => {
                self.pop(slots(member(instruction, method)?.1) + usize::from(objects))?;
            }
            Effect::Invoke(receiver) => return self.invoke(receiver, instruction, method),
            Effect::New => self.new_object(instruction.bci, method)?,
            Effect::NewArray => {
                self.pop(1)?;
                match primitive_array(instruction.u1(1)) {
                    Some(name) => self.push(V::object(None, name), method)?,
                    None => return bad("newarray of an unknown type"),
                }
            }
            Effect::ANewArray => {
                self.pop(1)?;
                let array = ClassRef {
                    dimensions: 1,
                    ..class_constant(instruction, method)?
                };
                self.push(V::Object(array), method)?;
            }
            Effect::MultiANewArray => {
                self.pop(usize::from(instruction.u1(3)))?;
                self.push(V::Object(class_constant(instruction, method)?), method)?;
            }
            Effect::CheckCast => {
                self.pop(1)?;
                self.push(V::Object(class_constant(instruction, method)?), method)?;
            }
            Effect::Wide => return bad("wide without an instruction"),
        }
        Ok(Step::Ordinary)
    }

    /// Copies the `count` top slots, and puts the copies below `below` further slots.
    fn copy_top(&mut self, count: u8, below: u8, method: &MethodBody<'_, 'a>) -> Result<()> {
        if duplicate(&mut self.stack, usize::from(count), usize::from(below)).is_none() {
            return bad("empty");
        }
        if self.stack.len() > usize::from(method.max_stack) {
            return bad("deeper than max_stack");
        }
        Ok(())
    }

    /// Applies the call of a method that has `receiver` slots below its arguments.
    fn invoke(
        &mut self,
        receiver: u8,
        instruction: &Instruction<'a>,
        method: &MethodBody<'_, 'a>,
    ) -> Result<Step> {
        let (name, descriptor) = member(instruction, method)?;
        self.pop(parameters(descriptor).map(slots).sum())?;
        let mut step = Step::Ordinary;
        if receiver != 0 {
            let object = self.pop_one()?;
            if instruction.opcode == Opcode::Invokespecial && name == b"<init>" {
                step = self.initialise(object, method);
            }
        }
        match return_type(descriptor) {
            Some(b"V") => {}
            Some(result) => self.push_field_type(result, method)?,
            None => return Err(ErrorKind::BadDescriptor),
        }
        Ok(step)
    }

    /// Pushes the uninitialised object that the `new` at `bci` makes.
    fn new_object(&mut self, bci: Bci, method: &MethodBody<'_, 'a>) -> Result<()> {
        let object = V::Uninitialized(bci);
        // An older object of the same instruction would have the same type, so
        // it becomes unusable (JVMS §4.10.1.9.new).
        for local in &mut self.locals {
            if *local == object {
                *local = V::Top;
            }
        }
        self.push(object, method)
    }

    /// Applies the call of a constructor for the uninitialised object `receiver`: in all slots that hold the object,
    /// the type becomes the object's class.
    fn initialise(&mut self, receiver: V<'a>, method: &MethodBody<'_, 'a>) -> Step {
        match receiver {
            V::UninitializedThis => {
                self.replace(receiver, method.this());
                Step::InitialisedThis
            }
            V::Uninitialized(new_at) => {
                let class = u2_at(method.code, new_at.index() + 1).and_then(|index| {
                    let index = CpIndex(index);
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

/// Returns the class to which the operand refers.
fn class_constant<'a>(
    instruction: &Instruction<'_>,
    method: &MethodBody<'_, 'a>,
) -> Result<ClassRef<'a>> {
    let index = instruction.constant();
    let name = method.class.pool().class_name(index);
    Ok(ClassRef {
        index: Some(index),
        name: name.map_err(|e| e.kind().clone())?,
        dimensions: 0,
    })
}

/// Returns name and descriptor of the field, method or dynamic constant to which the operand refers.
fn member<'a>(
    instruction: &Instruction<'_>,
    method: &MethodBody<'_, 'a>,
) -> Result<(&'a [u8], &'a [u8])> {
    let member = method.class.pool().member(instruction.constant());
    member.map_err(|e| e.kind().clone())
}

/// Returns the type of the value that `ldc`, `ldc_w` or `ldc2_w` pushes.
fn constant_type<'a>(instruction: &Instruction<'_>, method: &MethodBody<'_, 'a>) -> Result<V<'a>> {
    let constant = method.class.pool().get(instruction.constant());
    Ok(match constant.map_err(|e| e.kind().clone())? {
        Constant::Integer(_) => V::Integer,
        Constant::Float(_) => V::Float,
        Constant::Long(_) => V::Long,
        Constant::Double(_) => V::Double,
        Constant::String { .. } => V::object(None, b"java/lang/String"),
        Constant::Class { .. } => V::object(None, b"java/lang/Class"),
        Constant::MethodType { .. } => V::object(None, b"java/lang/invoke/MethodType"),
        Constant::MethodHandle { .. } => V::object(None, b"java/lang/invoke/MethodHandle"),
        Constant::Dynamic { .. } => {
            let (_, descriptor) = member(instruction, method)?;
            V::of_field_type(descriptor).ok_or(ErrorKind::BadDescriptor)?
        }
        _ => return bad("constant that cannot be loaded"),
    })
}

/// Returns the descriptor of the array that `newarray` makes for this `atype` (JVMS table 6.5.newarray-A).
fn primitive_array(atype: u8) -> Option<&'static [u8]> {
    Some(match atype {
        4 => b"[Z",
        5 => b"[C",
        6 => b"[F",
        7 => b"[D",
        8 => b"[B",
        9 => b"[S",
        10 => b"[I",
        11 => b"[J",
        _ => return None,
    })
}

/// Copies the `count` top values, and inserts the copies under the `below` values
/// that follow.
fn duplicate<T: Copy>(stack: &mut Vec<T>, count: usize, below: usize) -> Option<()> {
    let at = stack.len().checked_sub(count + below)?;
    for i in 0..count {
        // Every copy made so far has moved the originals by one slot.
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
                panic!("{opcode:?} is no instruction that copies stack values");
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
