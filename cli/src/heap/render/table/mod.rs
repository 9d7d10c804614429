//! Views as tables and text for a terminal.

pub(in crate::heap) mod class_changes;
pub(in crate::heap) mod duplicates;
pub(in crate::heap) mod histogram;
pub(in crate::heap) mod path;
pub(in crate::heap) mod retained;
pub(in crate::heap) mod threads;
