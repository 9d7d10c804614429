//! Compares outputs with their inputs, reading both again: what should not have
//! changed is equal to the byte, and what has changed can be read completely.

mod archive;
mod changes;
mod checked;
mod class;
mod contents;
mod files;
mod module;
mod pairs;
#[cfg(test)]
mod tests;
mod verifier;

pub use changes::{Changed, Visit, changed_in_archive, changed_in_folder};
pub use checked::Checked;
pub use verifier::Verifier;
