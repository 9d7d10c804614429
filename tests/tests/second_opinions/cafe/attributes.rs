//! Compares the names and the order of attributes with the attributes that `cafebabe` reads.

use anyhow::Result;
use cafebabe::attributes::AttributeInfo;
use loadhook_rewrite::ClassFile;
use loadhook_rewrite::class::Attributes;

use crate::names::{same, same_text};

/// Compares the names and the order of attributes.
pub(super) fn attributes(
    class: &ClassFile<'_>,
    ours: Attributes<'_>,
    theirs: &[AttributeInfo<'_>],
) -> Result<()> {
    same!("attributes", usize::from(ours.count_left()), theirs.len());
    for (ours, theirs) in ours.zip(theirs) {
        same_text(
            "attribute",
            class.pool().utf8(ours?.name_index)?,
            &theirs.name,
        )?;
    }
    Ok(())
}
