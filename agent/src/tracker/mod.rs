//! Defines the tracker, the Java classes that probes call, and calls its methods.

pub(crate) mod array_kinds;
mod classes;
pub(crate) mod client;
pub(crate) mod definition;
pub(crate) mod heap_reserve;
pub(crate) mod sizes;
pub(crate) mod ticker;

pub(crate) use self::classes::{NAME, PAUSABLE, is_count_probe, is_trackers, owner};
