//! Instrumentation of classes as they are loaded.

mod copies;
mod exclusions;
pub(crate) mod hidden_classes;
pub(crate) mod hidden_names;
pub(crate) mod hook;
pub(crate) mod instrumentation;
mod loader_kinds;
pub(crate) mod loaders;
mod numbered_names;
pub(crate) mod registry;
pub(crate) mod retransform;
pub(crate) mod weak_values;
