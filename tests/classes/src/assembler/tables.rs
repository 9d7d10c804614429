//! The attributes of `Code` other than frames: line numbers, local variables
//! and type annotations (JVMS §4.7.12–§4.7.14, §4.7.20).

use super::bytes::Put;
use super::error::{Result, u2};
use super::label::{Label, Resolve};
use super::pool::ConstantPool;

/// One of the two tables of local variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalTable {
    /// `LocalVariableTable` (JVMS §4.7.13).
    Variables,
    /// `LocalVariableTypeTable` (JVMS §4.7.14).
    VariableTypes,
}

/// A row of either table of local variables.
#[derive(Debug, Clone)]
pub(crate) struct LocalEntry {
    pub(crate) start: Label,
    pub(crate) end: Label,
    pub(crate) name: u16,
    pub(crate) descriptor: u16,
    pub(crate) index: u16,
}

/// The `target_type` and `target_info` of a type annotation that are legal in `Code` (JVMS table
/// 4.7.20-B).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeTarget {
    /// 0x40: the type of a local variable, with its ranges (start, end, index).
    LocalVariable(Vec<(Label, Label, u16)>),
    /// 0x41: the type of a resource variable.
    ResourceVariable(Vec<(Label, Label, u16)>),
    /// 0x42: the type of an exception parameter, by exception-table index.
    ExceptionParameter(u16),
    /// 0x43: the type in `instanceof`.
    Instanceof(Label),
    /// 0x44: the type in `new`.
    New(Label),
    /// 0x45: the type in a method reference `T::new`.
    ConstructorReference(Label),
    /// 0x46: the type in a method reference `T::name`.
    MethodReference(Label),
    /// 0x47: the type in a cast, by index in an intersection.
    Cast(Label, u8),
    /// 0x48: a type argument of a constructor call.
    ConstructorInvocationTypeArgument(Label, u8),
    /// 0x49: a type argument of a method call.
    MethodInvocationTypeArgument(Label, u8),
    /// 0x4A: a type argument of `T::<A>new`.
    ConstructorReferenceTypeArgument(Label, u8),
    /// 0x4B: a type argument of `T::<A>name`.
    MethodReferenceTypeArgument(Label, u8),
}

/// A step of a `type_path` (JVMS §4.7.20.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypePathStep {
    /// Into the element type of an array type.
    Array,
    /// From an outer class into the class nested in it.
    Nested,
    /// The bound of a wildcard.
    Wildcard,
    /// A type argument, by index.
    Argument(u8),
}

/// A `type_annotation` structure (JVMS §4.7.20) with `int` elements only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeAnnotation {
    /// The annotated element.
    pub target: TypeTarget,
    /// The annotated part of the element's type.
    pub path: Vec<TypePathStep>,
    /// The annotation interface, as a descriptor.
    pub descriptor: String,
    /// Element names and values.
    pub elements: Vec<(String, i32)>,
}

/// An attribute of `Code`, in the order of writing.
#[derive(Debug, Clone)]
pub(crate) enum CodeAttribute {
    /// The place of the frames' attribute in this order; the frames themselves are stored
    /// separately.
    Frames,
    Lines(Vec<(Label, u16)>),
    Locals(LocalTable, Vec<LocalEntry>),
    TypeAnnotations {
        visible: bool,
        annotations: Vec<TypeAnnotation>,
    },
    Raw(String, Vec<u8>),
}

/// Returns the name and the contents of an attribute other than the frames' attribute, which
/// another function writes.
pub(crate) fn contents(
    attribute: &CodeAttribute,
    pool: &mut ConstantPool,
    resolve: &Resolve<'_>,
) -> Result<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let name = match attribute {
        CodeAttribute::Frames => "StackMapTable",
        CodeAttribute::Lines(rows) => {
            out.u2(u2("line_number_table_length", rows.len())?);
            for &(start, line) in rows {
                out.u2(u2("start_pc", resolve(start)?)?);
                out.u2(line);
            }
            "LineNumberTable"
        }
        CodeAttribute::Locals(table, rows) => {
            out.u2(u2("local_variable_table_length", rows.len())?);
            for row in rows {
                write_range(&mut out, (row.start, row.end), resolve)?;
                out.u2(row.name);
                out.u2(row.descriptor);
                out.u2(row.index);
            }
            match table {
                LocalTable::Variables => "LocalVariableTable",
                LocalTable::VariableTypes => "LocalVariableTypeTable",
            }
        }
        CodeAttribute::TypeAnnotations {
            visible,
            annotations,
        } => {
            out.u2(u2("num_annotations", annotations.len())?);
            for annotation in annotations {
                write_type_annotation(&mut out, annotation, pool, resolve)?;
            }
            match visible {
                true => "RuntimeVisibleTypeAnnotations",
                false => "RuntimeInvisibleTypeAnnotations",
            }
        }
        CodeAttribute::Raw(name, bytes) => return Ok((name.clone(), bytes.clone())),
    };
    Ok((name.to_owned(), out))
}

/// Writes `start_pc` and `length`.
fn write_range(
    out: &mut Vec<u8>,
    (start, end): (Label, Label),
    resolve: &Resolve<'_>,
) -> Result<()> {
    let (start, end) = (resolve(start)?, resolve(end)?);
    out.u2(u2("start_pc", start)?);
    out.u2(u2("length", end.wrapping_sub(start))?);
    Ok(())
}

fn write_type_annotation(
    out: &mut Vec<u8>,
    annotation: &TypeAnnotation,
    pool: &mut ConstantPool,
    resolve: &Resolve<'_>,
) -> Result<()> {
    write_target(out, &annotation.target, resolve)?;
    out.u1(annotation.path.len() as u8);
    for step in &annotation.path {
        let (kind, argument) = match step {
            TypePathStep::Array => (0, 0),
            TypePathStep::Nested => (1, 0),
            TypePathStep::Wildcard => (2, 0),
            TypePathStep::Argument(index) => (3, *index),
        };
        out.u1(kind);
        out.u1(argument);
    }
    out.u2(pool.utf8(&annotation.descriptor));
    out.u2(u2("num_element_value_pairs", annotation.elements.len())?);
    for (name, value) in &annotation.elements {
        out.u2(pool.utf8(name));
        out.u1(b'I');
        out.u2(pool.integer(*value));
    }
    Ok(())
}

fn write_target(out: &mut Vec<u8>, target: &TypeTarget, resolve: &Resolve<'_>) -> Result<()> {
    let (target_type, at, argument) = match target {
        TypeTarget::LocalVariable(rows) => return write_localvar(out, 0x40, rows, resolve),
        TypeTarget::ResourceVariable(rows) => return write_localvar(out, 0x41, rows, resolve),
        TypeTarget::ExceptionParameter(index) => {
            out.u1(0x42);
            out.u2(*index);
            return Ok(());
        }
        TypeTarget::Instanceof(at) => (0x43, at, None),
        TypeTarget::New(at) => (0x44, at, None),
        TypeTarget::ConstructorReference(at) => (0x45, at, None),
        TypeTarget::MethodReference(at) => (0x46, at, None),
        TypeTarget::Cast(at, index) => (0x47, at, Some(*index)),
        TypeTarget::ConstructorInvocationTypeArgument(at, index) => (0x48, at, Some(*index)),
        TypeTarget::MethodInvocationTypeArgument(at, index) => (0x49, at, Some(*index)),
        TypeTarget::ConstructorReferenceTypeArgument(at, index) => (0x4a, at, Some(*index)),
        TypeTarget::MethodReferenceTypeArgument(at, index) => (0x4b, at, Some(*index)),
    };
    out.u1(target_type);
    out.u2(u2("offset", resolve(*at)?)?);
    if let Some(index) = argument {
        out.u1(index);
    }
    Ok(())
}

/// Writes a `localvar_target` (JVMS §4.7.20.1).
fn write_localvar(
    out: &mut Vec<u8>,
    target_type: u8,
    rows: &[(Label, Label, u16)],
    resolve: &Resolve<'_>,
) -> Result<()> {
    out.u1(target_type);
    out.u2(u2("table_length", rows.len())?);
    for &(start, end, index) in rows {
        write_range(out, (start, end), resolve)?;
        out.u2(index);
    }
    Ok(())
}
