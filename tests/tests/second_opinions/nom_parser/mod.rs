//! Compares Loadhook's parser with `classfile-parser`, which does not resolve indexes and leaves
//! the tables inside `Code` to its caller.

mod attributes;
mod code;
mod constants;
mod instructions;

use anyhow::{Context, Result, ensure};
use classfile_parser::field_info::FieldAccessFlags;
use classfile_parser::method_info::MethodAccessFlags;
use classfile_parser::{ClassAccessFlags, ClassFile as TheirClass};
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, CpIndex};

use self::attributes::attributes;
use self::code::code;
use self::constants::pool;
use crate::names::same;

/// Compares all facts that both parsers know of a class.
pub(crate) fn agree(ours: &ClassFile<'_>, rest: &[u8], theirs: &TheirClass) -> Result<()> {
    ensure!(
        rest.is_empty(),
        "classfile-parser leaves {} bytes of the class unread",
        rest.len()
    );
    same!("major version", ours.major_version(), theirs.major_version);
    same!("minor version", ours.minor_version(), theirs.minor_version);
    same!(
        "class flags",
        ours.access_flags() & ClassAccessFlags::all().bits(),
        theirs.access_flags.bits()
    );
    pool(ours.pool(), theirs)?;
    same!(
        "name",
        ours.name(),
        ours.pool().class_name(CpIndex(theirs.this_class))?
    );
    match theirs.super_class {
        0 => same!("superclass", ours.super_name(), None),
        index => same!(
            "superclass",
            ours.super_name(),
            Some(ours.pool().class_name(CpIndex(index))?)
        ),
    }
    ensure!(
        ours.interfaces()
            .eq(theirs.interfaces.iter().copied().map(CpIndex)),
        "the interfaces differ"
    );
    attributes(
        ours.attributes(),
        theirs
            .attributes
            .iter()
            .map(|it| (it.attribute_name_index, &it.info[..])),
    )?;
    fields(ours, theirs)?;
    methods(ours, theirs)
}

fn fields(ours: &ClassFile<'_>, theirs: &TheirClass) -> Result<()> {
    same!("fields", ours.fields().len(), theirs.fields.len());
    for (ours, theirs) in ours.fields().zip(&theirs.fields) {
        same!(
            "flags",
            ours.access_flags() & FieldAccessFlags::all().bits(),
            theirs.access_flags.bits()
        );
        names(&ours, theirs.name_index, theirs.descriptor_index)?;
        attributes(
            ours.attributes(),
            theirs
                .attributes
                .iter()
                .map(|it| (it.attribute_name_index, &it.info[..])),
        )?;
    }
    Ok(())
}

fn methods(ours: &ClassFile<'_>, theirs: &TheirClass) -> Result<()> {
    same!("methods", ours.methods().len(), theirs.methods.len());
    for (ours, theirs) in ours.methods().zip(&theirs.methods) {
        let name = || String::from_utf8_lossy(ours.name()).into_owned();
        same!(
            "flags",
            ours.access_flags() & MethodAccessFlags::all().bits(),
            theirs.access_flags.bits()
        );
        names(&ours, theirs.name_index, theirs.descriptor_index)?;
        attributes(
            ours.attributes(),
            theirs
                .attributes
                .iter()
                .map(|it| (it.attribute_name_index, &it.info[..])),
        )?;
        for attribute in &theirs.attributes {
            if ours
                .class()
                .pool()
                .utf8(CpIndex(attribute.attribute_name_index))?
                == b"Code"
            {
                code(&ours, &attribute.info).with_context(name)?;
            }
        }
    }
    Ok(())
}

fn names(ours: &Member<'_, '_>, name: u16, descriptor: u16) -> Result<()> {
    let pool = ours.class().pool();
    same!("name", ours.name(), pool.utf8(CpIndex(name))?);
    same!(
        "descriptor",
        ours.descriptor(),
        pool.utf8(CpIndex(descriptor))?
    );
    Ok(())
}
