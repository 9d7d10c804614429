//! Compares Loadhook's parser with `cafebabe`, which parses the whole class and resolves the
//! constants that a constant refers to.

mod attributes;
mod code;
mod constants;
mod instructions;

use anyhow::{Context, Result, bail, ensure};
use cafebabe::attributes::AttributeData;
use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::Member;

use self::attributes::attributes;
use self::code::{Seen, code};
use self::constants::pool;
use self::instructions::Known;
use crate::names::{same, same_text};

/// Compares all facts that both parsers know of a class.
pub(crate) fn agree<'a>(ours: &ClassFile<'_>, theirs: &'a cafebabe::ClassFile<'a>) -> Result<Seen> {
    same!("major version", ours.major_version(), theirs.major_version);
    same!("minor version", ours.minor_version(), theirs.minor_version);
    let known = cafebabe::ClassAccessFlags::all().bits();
    same!(
        "class flags",
        ours.access_flags() & known,
        theirs.access_flags.bits()
    );
    same_text("name", ours.name(), &theirs.this_class)?;
    match (ours.super_name(), &theirs.super_class) {
        (Some(ours), Some(theirs)) => same_text("superclass", ours, theirs)?,
        (ours, theirs) => ensure!(
            ours.is_none() && theirs.is_none(),
            "superclass: Loadhook: {ours:?}, cafebabe: {theirs:?}"
        ),
    }
    same!(
        "interfaces",
        ours.interfaces().len(),
        theirs.interfaces.len()
    );
    for (ours_at, theirs) in ours.interfaces().zip(&theirs.interfaces) {
        same_text("interface", ours.pool().class_name(ours_at)?, theirs)?;
    }
    pool(ours.pool(), theirs).context("in the constant pool")?;
    attributes(ours, ours.attributes(), &theirs.attributes)
        .context("in the attributes of the class")?;

    same!("fields", ours.fields().len(), theirs.fields.len());
    for (ours, theirs) in ours.fields().zip(&theirs.fields) {
        let known = cafebabe::FieldAccessFlags::all().bits();
        same!(
            "flags",
            ours.access_flags() & known,
            theirs.access_flags.bits()
        );
        same_text("field", ours.name(), &theirs.name)?;
        same_text(
            "descriptor",
            ours.descriptor(),
            &theirs.descriptor.to_string(),
        )?;
        attributes(ours.class(), ours.attributes(), &theirs.attributes)?;
    }
    same!("methods", ours.methods().len(), theirs.methods.len());
    let mut seen = Seen::default();
    let mut known = vec![None; 256];
    for (ours, theirs) in ours.methods().zip(&theirs.methods) {
        let name = || String::from_utf8_lossy(ours.name()).into_owned();
        method(&ours, theirs, &mut known, &mut seen).with_context(name)?;
    }
    Ok(seen)
}

fn method<'a>(
    ours: &Member<'_, '_>,
    theirs: &cafebabe::MethodInfo<'a>,
    known: &mut Known<'a>,
    seen: &mut Seen,
) -> Result<()> {
    let flags = cafebabe::MethodAccessFlags::all().bits();
    same!(
        "flags",
        ours.access_flags() & flags,
        theirs.access_flags.bits()
    );
    same_text("name", ours.name(), &theirs.name)?;
    same_text(
        "descriptor",
        ours.descriptor(),
        &theirs.descriptor.to_string(),
    )?;
    attributes(ours.class(), ours.attributes(), &theirs.attributes)?;
    // Put the annotations into Loadhook's order: visible ones first.
    let mut annotations = Vec::new();
    for wanted in ["RuntimeVisibleAnnotations", "RuntimeInvisibleAnnotations"] {
        for attribute in theirs.attributes.iter().filter(|it| it.name == wanted) {
            if let AttributeData::RuntimeVisibleAnnotations(list)
            | AttributeData::RuntimeInvisibleAnnotations(list) = &attribute.data
            {
                annotations.extend(list.iter().map(|it| it.type_descriptor.to_string()));
            }
        }
    }
    let ours_annotations: Vec<&[u8]> = ours.annotation_types().collect();
    same!("annotations", ours_annotations.len(), annotations.len());
    for (ours, theirs) in ours_annotations.iter().zip(&annotations) {
        same_text("annotation", ours, theirs)?;
    }
    let code_data = theirs.attributes.iter().find_map(|it| match &it.data {
        AttributeData::Code(code) => Some(code),
        _ => None,
    });
    match (ours.code()?, code_data) {
        (Some(ours_code), Some(theirs)) => code(ours.class(), &ours_code, theirs, known, seen),
        (None, None) => Ok(()),
        (ours, _) => bail!(
            "only one parser reads code; Loadhook does: {}",
            ours.is_some()
        ),
    }
}
