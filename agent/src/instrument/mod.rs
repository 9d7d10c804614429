//! Instruments classes when they are loaded, and changes loaded classes.

mod constructors;
mod copies;
pub(crate) mod exclusions;
pub(crate) mod hidden_classes;
pub(crate) mod hidden_names;
pub(crate) mod hook;
pub(crate) mod instrumentation;
pub(crate) mod levels;
mod loaded;
mod loader_kinds;
pub(crate) mod loaders;
pub(crate) mod lowering;
mod numbered_names;
pub(crate) mod pace;
mod past_ids;
pub(crate) mod redefinitions;
pub(crate) mod registry;
pub(crate) mod removal;
pub(crate) mod retransform;
mod tally;
mod under_way;
mod values;
pub(crate) mod watch;
pub(crate) mod watch_change;
pub(crate) mod weak_values;
