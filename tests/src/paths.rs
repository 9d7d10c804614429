//! Where the tests keep what they make: cargo's target folder.

use std::env;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().unwrap_or(crate_folder).to_path_buf()
}

/// Cargo's target folder: `CARGO_TARGET_DIR`, else `target` in the workspace.
#[must_use]
pub fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => workspace().join(folder),
        None => workspace().join("target"),
    }
}
