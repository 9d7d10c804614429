//! Compares constants with the constants that `classfile-parser` reads. That crate does not resolve
//! the indexes in a constant.

use anyhow::{Context, Result, bail};
use classfile_parser::ClassFile as TheirClass;
use classfile_parser::constant_info::ConstantInfo;
use loadhook_rewrite::CpIndex;
use loadhook_rewrite::constant_pool::{Constant, ConstantPool};

use crate::names::same;

pub(super) fn pool(ours: &ConstantPool<'_>, theirs: &TheirClass) -> Result<()> {
    same!("pool", ours.count(), theirs.const_pool_size);
    same!(
        "pool",
        usize::from(ours.count()),
        1 + theirs.const_pool.len()
    );
    for (index, theirs) in ours.indexes().zip(&theirs.const_pool) {
        constant(ours, index, theirs).with_context(|| format!("constant #{index}"))?;
    }
    Ok(())
}

fn constant(pool: &ConstantPool<'_>, index: CpIndex, theirs: &ConstantInfo) -> Result<()> {
    let ours = match pool.get(index) {
        Ok(ours) => ours,
        Err(_) if matches!(theirs, ConstantInfo::Unusable) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match (ours, theirs) {
        (Constant::Utf8(ours), ConstantInfo::Utf8(theirs)) => {
            same!("text", ours, &theirs.bytes[..])
        }
        (Constant::Integer(ours), ConstantInfo::Integer(theirs)) => {
            same!("int", ours, theirs.value)
        }
        (Constant::Float(ours), ConstantInfo::Float(theirs)) => {
            same!("float", ours, theirs.value.to_bits())
        }
        (Constant::Long(ours), ConstantInfo::Long(theirs)) => same!("long", ours, theirs.value),
        (Constant::Double(ours), ConstantInfo::Double(theirs)) => {
            same!("double", ours, theirs.value.to_bits())
        }
        (Constant::Class { name }, ConstantInfo::Class(theirs)) => {
            same!("class", name.0, theirs.name_index)
        }
        (Constant::String { utf8 }, ConstantInfo::String(theirs)) => {
            same!("string", utf8.0, theirs.string_index)
        }
        (
            Constant::Fieldref {
                class,
                name_and_type,
            },
            ConstantInfo::FieldRef(theirs),
        ) => {
            same!(
                "field",
                (class.0, name_and_type.0),
                (theirs.class_index, theirs.name_and_type_index)
            );
        }
        (
            Constant::Methodref {
                class,
                name_and_type,
            },
            ConstantInfo::MethodRef(theirs),
        ) => {
            same!(
                "method",
                (class.0, name_and_type.0),
                (theirs.class_index, theirs.name_and_type_index)
            );
        }
        (
            Constant::InterfaceMethodref {
                class,
                name_and_type,
            },
            ConstantInfo::InterfaceMethodRef(theirs),
        ) => {
            same!(
                "method",
                (class.0, name_and_type.0),
                (theirs.class_index, theirs.name_and_type_index)
            );
        }
        (Constant::NameAndType { name, descriptor }, ConstantInfo::NameAndType(theirs)) => {
            same!(
                "name and type",
                (name.0, descriptor.0),
                (theirs.name_index, theirs.descriptor_index)
            );
        }
        (Constant::MethodHandle { kind, reference }, ConstantInfo::MethodHandle(theirs)) => {
            same!(
                "method handle",
                (kind, reference.0),
                (theirs.reference_kind, theirs.reference_index)
            );
        }
        (Constant::MethodType { descriptor }, ConstantInfo::MethodType(theirs)) => {
            same!("method type", descriptor.0, theirs.descriptor_index);
        }
        (
            Constant::InvokeDynamic {
                bootstrap_method,
                name_and_type,
            },
            ConstantInfo::InvokeDynamic(theirs),
        ) => {
            let theirs = (
                theirs.bootstrap_method_attr_index,
                theirs.name_and_type_index,
            );
            same!("call site", (bootstrap_method, name_and_type.0), theirs);
        }
        (ours, theirs) => bail!("Loadhook: {ours:?}, classfile-parser: {theirs:?}"),
    }
    Ok(())
}
