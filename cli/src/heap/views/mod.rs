//! The views of a dump: each reads a dump and returns data. Renderers print them.

pub(super) mod class_changes;
pub(super) mod duplicates;
pub(super) mod histogram;
pub(super) mod path;
pub(super) mod retained;
pub(super) mod root_reason;
pub(super) mod threads;
