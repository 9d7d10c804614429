//! Compares outputs with their inputs, after reading both again. Everything but rewritten classes must be equal
//! byte for byte, and rewritten classes must be readable completely.

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
