//! Who gets which probes: the caller's part.

use crate::class::{ClassFile, Member};
use crate::code::bci::Bci;
use crate::code::instructions::Instruction;
use crate::opcode::Effect;
use crate::symbol::java_name;

/// The probes of one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// Entry, exit and `caught` probes with this id.
    pub timing: Option<u32>,
    /// A probe at every instruction that allocates, with the id that
    /// [`Selector::site`] gives; the object itself is not touched.
    pub allocations: bool,
    /// Probes that pass the object: in `Object.<init>`, and after every
    /// instruction that makes an array.
    pub objects: bool,
}

impl Probes {
    /// Whether there is nothing to insert.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.timing.is_none() && !self.allocations && !self.objects
    }
}

/// What an allocating instruction makes. Names are modified UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation<'a> {
    /// `new`: the class.
    Object(&'a [u8]),
    /// `newarray`: the element type's code (JVMS table 6.5.newarray-A).
    PrimitiveArray(u8),
    /// `anewarray`: the element class, or array type.
    ReferenceArray(&'a [u8]),
    /// `multianewarray`: the whole array's type, and the dimensions made.
    MultiArray(&'a [u8], u8),
}

impl Allocation<'_> {
    /// The type as Java writes it: `java.lang.String[][]`, `int[]`.
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

/// A field type (JVMS §4.3.2) as Java writes it.
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
    /// Its offset in the code as it was.
    pub bci: Bci,
    /// What it makes.
    pub allocation: Allocation<'a>,
}

/// Chooses probes and gives out ids.
pub trait Selector {
    /// Whether to look at the methods of this class at all.
    fn class(&mut self, _class: &ClassFile<'_>) -> bool {
        true
    }

    /// Whether this method, which has code, is selected. One that is and must
    /// never carry a probe (see [`crate::Reason::is_by_nature`]) is reported as
    /// left alone, and [`Selector::method`] is not asked.
    fn wants(&mut self, _method: &Member<'_, '_>) -> bool {
        true
    }

    /// The probes of a selected method.
    fn method(&mut self, method: &Member<'_, '_>) -> Probes;

    /// The id of an allocation site in a method whose probes include
    /// [`Probes::allocations`]. If the method is then left alone, its sites
    /// stay unused.
    fn site(&mut self, _method: &Member<'_, '_>, _site: &Site<'_>) -> u32 {
        0
    }
}

/// The same probes for every method, ids counted up from a base: methods and
/// sites each on their own.
#[derive(Clone, Debug)]
pub struct Everything {
    /// Whether methods get entry, exit and `caught` probes.
    pub timing: bool,
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
    /// Entry, exit and `caught` probes with ids from `base` on.
    pub fn timing(base: u32) -> Self {
        Everything {
            timing: true,
            allocations: false,
            objects: false,
            next_method: base,
            next_site: base,
        }
    }

    /// Every probe there is, with ids from `base` on.
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
        Probes {
            timing: self.timing.then(|| count_up(&mut self.next_method)),
            allocations: self.allocations,
            objects: self.objects,
        }
    }

    fn site(&mut self, _method: &Member<'_, '_>, _site: &Site<'_>) -> u32 {
        count_up(&mut self.next_site)
    }
}

impl Member<'_, '_> {
    /// Whether the method's code has no call, no jump backwards and at most
    /// `most` instructions: getters, setters, constants. False without code
    /// and for unreadable code.
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
