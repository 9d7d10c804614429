//! The files that the profiles of a command are written to.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::agent_path::utf8;

/// The files that the profiles of a command are written to.
pub(super) struct Target {
    /// Name of the profile in the agent's options.
    pub(super) file: PathBuf,
    /// File for the profiles of all JVMs together, if the user named one file for a
    /// command that may start several JVMs.
    pub(super) whole: Option<PathBuf>,
}

impl Target {
    pub(super) fn new(output: &Path, is_java: bool) -> Result<Target> {
        let file = std::path::absolute(output)?;
        utf8(&file)?;
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name
            .with_context(|| format!("--output: {}: not the name of a file", output.display()))?;
        // Only in the name of the file does %p stand for the process id.
        if is_java || name.contains("%p") {
            return Ok(Target { file, whole: None });
        }
        // A leading dot begins no extension.
        let dot = name.char_indices().skip(1).find(|(_, char)| *char == '.');
        let (stem, extension) = name.split_at(dot.map_or(name.len(), |(at, _)| at));
        Ok(Target {
            file: file.with_file_name(format!("{stem}-%p{extension}")),
            whole: Some(file),
        })
    }
}
