//! Compares the names, the order and the contents of attributes with the attributes that
//! `classfile-parser` reads.

use anyhow::{Result, ensure};
use loadhook_rewrite::class::Attributes;

use crate::names::same;

pub(super) fn attributes<'t>(
    ours: Attributes<'_>,
    theirs: impl ExactSizeIterator<Item = (u16, &'t [u8])>,
) -> Result<()> {
    same!("attributes", usize::from(ours.count_left()), theirs.len());
    for (ours, theirs) in ours.zip(theirs) {
        let ours = ours?;
        same!("attribute", ours.name_index.0, theirs.0);
        ensure!(ours.info == theirs.1, "the contents of an attribute differ");
    }
    Ok(())
}
