//! Instrumentation of classes as they are loaded.

mod copies;
mod exclusions;
pub(crate) mod hidden_classes;
pub(crate) mod hook;
mod loader_kinds;
pub(crate) mod loaders;
mod numbered_names;
pub(crate) mod registry;
pub(crate) mod retransform;
pub(crate) mod weak_values;
