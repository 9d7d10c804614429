//! The choice of methods, probes and ids, which the caller makes.

use crate::class::{ClassFile, Member};
use crate::code::bci::Bci;
use crate::code::instructions::Instruction;
use crate::opcode::Effect;
use crate::symbol::java_name;

/// The probes of one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// The id of the method's entry, exit and `caught` probes; `None` for no such
    /// probes.
    pub timing: Option<u32>,
    /// The id of the probe that only counts calls, at the method's entry; `None` for no such probe. This probe needs
    /// neither handlers nor local variables, so some methods that are too large for `timing` probes can have it.
    pub count: Option<u32>,
    /// The id of the probes that measure each call of the method by the clock; `None` for no such
    /// probes. Unlike `timing` probes, they need no memory of the thread's calls: a local variable
    /// of the method keeps the start of the call.
    pub trace: Option<u32>,
    /// True if the probes of `trace` also pass `this`, the arguments and the result. A constructor's `this` is
    /// not passed, because it is not initialised at the entry.
    pub values: bool,
    /// True for a probe at every instruction that allocates, with the id that [`Selector::site`] returns. These
    /// probes do not touch the object.
    pub allocations: bool,
    /// True for probes that pass the object: in `Object.<init>`, and after every instruction that makes an array.
    pub objects: bool,
}

impl Probes {
    /// Returns whether there is no probe to insert.
    #[inline]
    pub fn is_none(&self) -> bool {
        let calls = [self.timing, self.count, self.trace];
        calls == [None; 3] && !self.allocations && !self.objects
    }
}

/// The object or array that an instruction allocates. Names are modified UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation<'a> {
    /// `new`: the class's internal name.
    Object(&'a [u8]),
    /// `newarray`: the element type's code (JVMS table 6.5.newarray-A).
    PrimitiveArray(u8),
    /// `anewarray`: the element class's internal name, or the descriptor of an array type.
    ReferenceArray(&'a [u8]),
    /// `multianewarray`: the descriptor of the array, and the number of dimensions
    /// for which arrays are allocated.
    MultiArray(&'a [u8], u8),
}

impl Allocation<'_> {
    /// Returns the type in Java's notation: `java.lang.String[][]`, `int[]`.
    pub fn type_name(&self) -> String {
        match *self {
            Allocation::Object(class) => java_name(class),
            Allocation::PrimitiveArray(code) => match code {
                4 => "boolean[]",
                5 => "char[]",
                6 => "float[]",
                7 => "double[]",
                8 => "byte[]",
                9 => "short[]",
                10 => "int[]",
                11 => "long[]",
                _ => "?[]",
            }
            .to_owned(),
            Allocation::ReferenceArray(class) => match class.first() {
                Some(b'[') => java_type(class) + "[]",
                _ => java_name(class) + "[]",
            },
            Allocation::MultiArray(array, _) => java_type(array),
        }
    }
}

/// Returns a field type (JVMS §4.3.2) in Java's notation.
fn java_type(field_type: &[u8]) -> String {
    let dimensions = field_type.iter().take_while(|&&b| b == b'[').count();
    let element = field_type.get(dimensions..).unwrap_or_default();
    let mut name = match element {
        [b'L', name @ .., b';'] => java_name(name),
        b"Z" => "boolean".to_owned(),
        b"C" => "char".to_owned(),
        b"F" => "float".to_owned(),
        b"D" => "double".to_owned(),
        b"B" => "byte".to_owned(),
        b"S" => "short".to_owned(),
        b"I" => "int".to_owned(),
        b"J" => "long".to_owned(),
        other => String::from_utf8_lossy(other).into_owned(),
    };
    for _ in 0..dimensions {
        name.push_str("[]");
    }
    name
}

/// An instruction that allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site<'a> {
    /// The instruction's offset in the original code.
    pub bci: Bci,
    /// The object or array that the instruction allocates.
    pub allocation: Allocation<'a>,
}

/// Chooses probes and assigns ids.
pub trait Selector {
    /// Returns whether any method of the class may be selected. If not, the
    /// class stays as it is.
    fn class(&mut self, _class: &ClassFile<'_>) -> bool {
        true
    }

    /// Returns whether this method, which has code, is selected. If a selected method must never have a probe
    /// (see [`crate::Reason::is_by_nature`]), it is reported as not instrumented, and [`Selector::method`] is not
    /// called for it.
    fn wants(&mut self, _method: &Member<'_, '_>) -> bool {
        true
    }

    /// Chooses the probes of a selected method, and assigns their ids.
    fn method(&mut self, method: &Member<'_, '_>) -> Probes;

    /// Returns the id of an allocation site in a method whose probes include
    /// [`Probes::allocations`]. If the method is not instrumented in the end, the id stays unused.
    fn site(&mut self, _method: &Member<'_, '_>, _site: &Site<'_>) -> u32 {
        0
    }
}

/// Selects the same probes for every method. Ids of methods and ids of sites are counted up from the same base,
/// independently of each other.
#[derive(Clone, Debug)]
pub struct Everything {
    /// True if methods get entry, exit and `caught` probes.
    pub timing: bool,
    /// True if methods get probes that only count calls.
    pub counts: bool,
    /// True if methods get [`Probes::trace`].
    pub traces: bool,
    /// See [`Probes::values`].
    pub values: bool,
    /// See [`Probes::allocations`].
    pub allocations: bool,
    /// See [`Probes::objects`].
    pub objects: bool,
    /// The id of the next method.
    pub next_method: u32,
    /// The id of the next site.
    pub next_site: u32,
}

impl Everything {
    /// Selects entry, exit and `caught` probes with ids from `base` on.
    pub fn timing(base: u32) -> Self {
        Everything {
            timing: true,
            counts: false,
            traces: false,
            values: false,
            allocations: false,
            objects: false,
            next_method: base,
            next_site: base,
        }
    }

    /// Selects probes that only count calls, with ids from `base` on.
    pub fn counts(base: u32) -> Self {
        Everything {
            timing: false,
            counts: true,
            ..Everything::timing(base)
        }
    }

    /// Selects probes that measure each call, with ids from `base` on.
    pub fn traces(base: u32) -> Self {
        Everything {
            timing: false,
            traces: true,
            ..Everything::timing(base)
        }
    }

    /// Selects probes that measure each call and pass its values, with ids from `base` on.
    pub fn traces_with_values(base: u32) -> Self {
        Everything {
            values: true,
            ..Everything::traces(base)
        }
    }

    /// Selects timing, allocation and object probes, with ids from `base` on.
    pub fn all(base: u32) -> Self {
        Everything {
            allocations: true,
            objects: true,
            ..Everything::timing(base)
        }
    }
}

fn count_up(next: &mut u32) -> u32 {
    let id = *next;
    *next = id.wrapping_add(1);
    id
}

impl Selector for Everything {
    fn method(&mut self, _method: &Member<'_, '_>) -> Probes {
        let has_id = self.timing || self.counts || self.traces;
        let id = has_id.then(|| count_up(&mut self.next_method));
        Probes {
            timing: id.filter(|_| self.timing),
            count: id.filter(|_| self.counts),
            trace: id.filter(|_| self.traces),
            values: self.values,
            allocations: self.allocations,
            objects: self.objects,
        }
    }

    fn site(&mut self, _method: &Member<'_, '_>, _site: &Site<'_>) -> u32 {
        count_up(&mut self.next_site)
    }
}

impl Member<'_, '_> {
    /// Returns whether the method's code has no call, no jump backwards and at most `most` instructions. Getters and
    /// setters have such code. Returns false for a method without code, and for unreadable code.
    pub fn is_trivial(&self, most: usize) -> bool {
        let Ok(Some(code)) = self.code() else {
            return false;
        };
        let mut count = 0;
        for instruction in code.instructions() {
            count += 1;
            let simple = instruction.is_ok_and(|instruction| {
                !matches!(instruction.opcode.effect(), Effect::Invoke(_))
                    && !jumps_back(&instruction)
            });
            if count > most || !simple {
                return false;
            }
        }
        true
    }
}

fn jumps_back(instruction: &Instruction<'_>) -> bool {
    if let Some(switch) = instruction.switch() {
        return switch.default <= 0 || switch.cases().any(|(_, offset)| offset <= 0);
    }
    let target = instruction.jump_target();
    target.is_some_and(|target| target <= i64::from(instruction.bci))
}
