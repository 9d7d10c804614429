//! The `Code` attribute (JVMS §4.7.3): read in place, and relocated.
//!
//! One file for each structure, with reading and relocating side by side.

pub(crate) mod bci;
mod code_attribute;
pub(crate) mod constructor;
pub(crate) mod constructor_flow;
mod debug_table;
pub(crate) mod emit;
pub(crate) mod frame_splice;
pub(crate) mod frame_states;
pub mod frames;
pub mod handlers;
pub mod instructions;
pub(crate) mod layout;
pub mod line_table;
pub mod local_table;
pub(crate) mod relocation;
pub(crate) mod simulate;
pub mod type_annotations;
pub mod types;
pub(crate) mod work;

pub use bci::Bci;
pub use code_attribute::Code;
pub(crate) use code_attribute::MAX_CODE_LENGTH;
