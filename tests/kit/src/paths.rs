//! Paths in cargo's target folder, where tests find built files and store their own.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, ensure};

/// Returns the folder of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    kit.ancestors().nth(2).unwrap_or(kit).to_path_buf()
}

/// Returns cargo's target folder: `CARGO_TARGET_DIR`, else `target` in the workspace.
#[must_use]
pub fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => workspace().join(folder),
        None => workspace().join("target"),
    }
}

/// Returns the agent's library. Cargo builds it beside the tests of a crate that depends on the
/// agent.
///
/// # Errors
///
/// When it was not built.
pub fn agent_library() -> Result<PathBuf> {
    library("libloadhook_agent.so")
}

/// Returns the library that gives JVMPI to old profilers. Cargo builds it beside the tests of a crate that depends on
/// `loadhook-jvmpi`.
///
/// # Errors
///
/// When it was not built.
pub fn jvmpi_library() -> Result<PathBuf> {
    library("libloadhook_jvmpi.so")
}

fn library(name: &str) -> Result<PathBuf> {
    let library = env::current_exe()?.with_file_name(name);
    ensure!(library.is_file(), "{} was not built", library.display());
    Ok(library)
}

/// Makes a folder unless it exists. `fill` gets an empty folder. That folder is renamed when it is
/// complete, so that no other process sees an incomplete folder.
///
/// If two processes make the same folder at the same time, the first to finish wins, and the other
/// uses that folder.
///
/// # Errors
///
/// Fails as `fill` does, and if a file cannot be written or read.
pub fn make_once(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder
        .parent()
        .with_context(|| format!("{} has no parent", folder.display()))?;
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let temporary = tempfile::Builder::new()
        .prefix(".unfinished-")
        .tempdir_in(parent)
        .with_context(|| format!("cannot create a folder in {}", parent.display()))?;
    let filled = temporary.path().join("content");
    fs::create_dir(&filled)?;
    fill(&filled)?;
    match fs::rename(&filled, folder) {
        Ok(()) => Ok(()),
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot create {}", folder.display())),
    }
}

/// Lists every file with an extension below a folder, sorted.
///
/// # Errors
///
/// When a folder cannot be read.
pub fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the names of the files and folders in a folder, sorted.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
