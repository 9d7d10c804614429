//! Kinds of objects.

use loadhook_hprof::Type;

/// The kind of an object, with the index of its class in the survey. For a class object, this is the index of the
/// class that it represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Instance(u32),
    Array(u32),
    Class(u32),
}

const ARRAY: u32 = 1 << 30;
const CLASS: u32 = 2 << 30;

impl ObjectKind {
    /// Packs the kind into 32 bits. There are fewer than 2³⁰ classes, since each takes
    /// some hundred bytes of the memory budget.
    #[inline]
    pub(crate) fn pack(self) -> u32 {
        match self {
            ObjectKind::Instance(class) => class,
            ObjectKind::Array(class) => ARRAY | class,
            ObjectKind::Class(class) => CLASS | class,
        }
    }

    #[inline]
    pub(crate) fn unpack(packed: u32) -> ObjectKind {
        let class = packed & (ARRAY - 1);
        match packed & (ARRAY | CLASS) {
            ARRAY => ObjectKind::Array(class),
            CLASS => ObjectKind::Class(class),
            _ => ObjectKind::Instance(class),
        }
    }
}

/// Number of element types. The first classes of a survey are the arrays of primitive types, in the
/// order of [`Type::ALL`]. The first entry of `Type::ALL` is not a primitive type, so class 0
/// stands for no class.
pub(crate) const PRIMITIVES: u32 = Type::ALL.len() as u32;

/// Returns the element type of the arrays whose class has this index.
#[inline]
pub(crate) fn element_type(class: u32) -> Type {
    match Type::ALL.get(class as usize) {
        Some(element) => *element,
        None => Type::Object,
    }
}
