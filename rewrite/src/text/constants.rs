//! Constants as text: their tags, their content, and the values of the constants to which they refer (JVMS §4.4).

use std::fmt::{self, Display, Write};

use crate::constant_pool::{Constant, ConstantPool};
use crate::cp_index::CpIndex;
use crate::modified_utf8::{quoted, short};

/// Returns the name of a constant's tag (JVMS table 4.4-A).
pub(super) fn tag_name(constant: &Constant<'_>) -> &'static str {
    match constant {
        Constant::Utf8(_) => "Utf8",
        Constant::Integer(_) => "Integer",
        Constant::Float(_) => "Float",
        Constant::Long(_) => "Long",
        Constant::Double(_) => "Double",
        Constant::Class { .. } => "Class",
        Constant::String { .. } => "String",
        Constant::Fieldref { .. } => "Fieldref",
        Constant::Methodref { .. } => "Methodref",
        Constant::InterfaceMethodref { .. } => "InterfaceMethodref",
        Constant::NameAndType { .. } => "NameAndType",
        Constant::MethodHandle { .. } => "MethodHandle",
        Constant::MethodType { .. } => "MethodType",
        Constant::Dynamic { .. } => "Dynamic",
        Constant::InvokeDynamic { .. } => "InvokeDynamic",
        Constant::Module { .. } => "Module",
        Constant::Package { .. } => "Package",
    }
}

/// A `reference_kind` (JVMS table 5.4.3.5-A).
struct ReferenceKind(u8);

impl fmt::Display for ReferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            1 => "REF_getField",
            2 => "REF_getStatic",
            3 => "REF_putField",
            4 => "REF_putStatic",
            5 => "REF_invokeVirtual",
            6 => "REF_invokeStatic",
            7 => "REF_invokeSpecial",
            8 => "REF_newInvokeSpecial",
            9 => "REF_invokeInterface",
            other => return write!(f, "reference_kind {other}"),
        })
    }
}

/// A constant that prints its value, with all indexes resolved.
pub(super) struct Resolved<'x, 'a> {
    pool: &'x ConstantPool<'a>,
    index: CpIndex,
}

/// Returns the value of the constant at `index` for printing. If the index is invalid, the fault is printed in
/// angle brackets.
pub(super) fn resolved<'x, 'a>(pool: &'x ConstantPool<'a>, index: CpIndex) -> Resolved<'x, 'a> {
    Resolved { pool, index }
}

impl Resolved<'_, '_> {
    fn utf8(&self, index: CpIndex, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pool.utf8(index) {
            Ok(bytes) => short(bytes).fmt(f),
            Err(error) => write!(f, "<{}>", error.kind()),
        }
    }

    fn class(&self, index: CpIndex, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pool.class_name(index) {
            Ok(bytes) => short(bytes).fmt(f),
            Err(error) => write!(f, "<{}>", error.kind()),
        }
    }

    fn name_and_type(&self, index: CpIndex, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pool.name_and_type(index) {
            Ok((name, descriptor)) => write!(f, "{}:{}", short(name), short(descriptor)),
            Err(error) => write!(f, "<{}>", error.kind()),
        }
    }

    fn member(
        &self,
        class: CpIndex,
        name_and_type: CpIndex,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        self.class(class, f)?;
        f.write_char('.')?;
        self.name_and_type(name_and_type, f)
    }
}

impl fmt::Display for Resolved<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constant = match self.pool.get(self.index) {
            Ok(constant) => constant,
            Err(error) => return write!(f, "<{}>", error.kind()),
        };
        match indexes(&constant) {
            Indexes::None => own_value(&constant, f),
            Indexes::Text(text) => self.utf8(text, f),
            Indexes::String(text) => match self.pool.utf8(text) {
                Ok(bytes) => quoted(bytes).fmt(f),
                Err(error) => write!(f, "<{}>", error.kind()),
            },
            Indexes::Member(class, name_and_type) => self.member(class, name_and_type, f),
            Indexes::NameAndType(..) => self.name_and_type(self.index, f),
            Indexes::MethodHandle(kind, reference) => {
                write!(f, "{} ", ReferenceKind(kind))?;
                match self.pool.get(reference) {
                    // Other constants are not resolved further, because a method handle could refer to itself.
                    Ok(other) => match indexes(&other) {
                        Indexes::Member(class, name_and_type) => {
                            self.member(class, name_and_type, f)
                        }
                        _ => write!(f, "<{} #{reference}>", tag_name(&other)),
                    },
                    Err(error) => write!(f, "<{}>", error.kind()),
                }
            }
            Indexes::Dynamic(bootstrap_method, name_and_type) => {
                write!(f, "bootstrap {bootstrap_method} ")?;
                self.name_and_type(name_and_type, f)
            }
        }
    }
}

/// Prints the value of a constant that has no index.
fn own_value(constant: &Constant<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match *constant {
        Constant::Utf8(bytes) => short(bytes).fmt(f),
        Constant::Integer(value) => write!(f, "{value}"),
        Constant::Long(value) => write!(f, "{value}"),
        Constant::Float(bits) => match f32::from_bits(bits) {
            value if value.is_nan() => write!(f, "NaN 0x{bits:08x}"),
            value => write!(f, "{value:?}"),
        },
        Constant::Double(bits) => match f64::from_bits(bits) {
            value if value.is_nan() => write!(f, "NaN 0x{bits:016x}"),
            value => write!(f, "{value:?}"),
        },
        _ => Ok(()),
    }
}

/// The indexes in a constant. They are indexes into the pool unless another table is named.
enum Indexes {
    /// No index: the constant contains its value.
    None,
    /// A `CONSTANT_Utf8`.
    Text(CpIndex),
    /// The `CONSTANT_Utf8` of a string constant.
    String(CpIndex),
    /// Class, and name and type, of a field or method.
    Member(CpIndex, CpIndex),
    /// Name and descriptor.
    NameAndType(CpIndex, CpIndex),
    /// Reference kind, which is no index, and the field or method.
    MethodHandle(u8, CpIndex),
    /// Index into `BootstrapMethods`, and name and type.
    Dynamic(u16, CpIndex),
}

fn indexes(constant: &Constant<'_>) -> Indexes {
    match *constant {
        Constant::Utf8(_)
        | Constant::Integer(_)
        | Constant::Float(_)
        | Constant::Long(_)
        | Constant::Double(_) => Indexes::None,
        Constant::Class { name } | Constant::Module { name } | Constant::Package { name } => {
            Indexes::Text(name)
        }
        Constant::MethodType { descriptor } => Indexes::Text(descriptor),
        Constant::String { utf8 } => Indexes::String(utf8),
        Constant::Fieldref {
            class,
            name_and_type,
        }
        | Constant::Methodref {
            class,
            name_and_type,
        }
        | Constant::InterfaceMethodref {
            class,
            name_and_type,
        } => Indexes::Member(class, name_and_type),
        Constant::NameAndType { name, descriptor } => Indexes::NameAndType(name, descriptor),
        Constant::MethodHandle { kind, reference } => Indexes::MethodHandle(kind, reference),
        Constant::Dynamic {
            bootstrap_method,
            name_and_type,
        }
        | Constant::InvokeDynamic {
            bootstrap_method,
            name_and_type,
        } => Indexes::Dynamic(bootstrap_method, name_and_type),
    }
}

/// Returns the content of a constant, with its indexes as numbers; `None` for a constant that has no index.
pub(super) fn content(constant: &Constant<'_>) -> Option<String> {
    Some(match indexes(constant) {
        Indexes::None => return None,
        Indexes::Text(text) | Indexes::String(text) => format!("#{text}"),
        Indexes::Member(class, name_and_type) => format!("#{class}.#{name_and_type}"),
        Indexes::NameAndType(name, descriptor) => format!("#{name}:#{descriptor}"),
        Indexes::MethodHandle(kind, reference) => format!("{kind}:#{reference}"),
        Indexes::Dynamic(bootstrap_method, name_and_type) => {
            format!("{bootstrap_method}:#{name_and_type}")
        }
    })
}
