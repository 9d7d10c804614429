//! Real classes for tests: all classes of a JDK, as files.

use anyhow::Result;
use std::path::{Path, PathBuf};

use crate::jdk::Jdk;
pub use crate::paths::files;
use crate::{java_tools, paths, process};

/// Returns the folder with every class of a JDK, in
/// `target/loadhook-corpus/jdk-<version>/<module>/<package>/<Name>.class`.
///
/// The files are written when they are used for the first time, which takes about three seconds.
///
/// # Errors
///
/// When the JDK is missing or cannot export its classes.
pub fn jdk_classes(feature: u32) -> Result<PathBuf> {
    let jdk = Jdk::find(feature)?;
    let folder = paths::target()
        .join("loadhook-corpus")
        .join(format!("jdk-{}", jdk.version));
    paths::make_once(&folder, |out| {
        // The Java tool that exports classes needs JDK 17 or later, and a later JDK can read only
        // its own image.
        let runs = if jdk.feature < 17 {
            Jdk::find(17)?
        } else {
            jdk.clone()
        };
        let mut export = java_tools::java(&runs, &["-Xshare:auto"], "ExportClasses")?;
        process::output(export.arg(out).arg(&jdk.home)).map(drop)
    })?;
    Ok(folder)
}

/// Lists every class file below a folder, sorted.
///
/// # Errors
///
/// When a folder cannot be read, or there is no class file: with an empty corpus every test would
/// pass.
pub fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let classes = files(folder, "class")?;
    anyhow::ensure!(
        !classes.is_empty(),
        "{} has no class file",
        folder.display()
    );
    Ok(classes)
}
