//! Which files are read, and where what became of them is written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::output::say;

/// One file to rewrite or copy.
pub(super) struct Job {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    /// As it is named in messages.
    pub(super) name: String,
    /// Whether the file was named itself, so that a fault ends the command.
    pub(super) alone: bool,
}

pub(super) fn jobs(input: &Path, output: &Path) -> Result<Vec<Job>> {
    let metadata = fs::metadata(input).with_context(|| input.display().to_string())?;
    if metadata.is_dir() {
        if output.is_file() {
            bail!(
                "{} is a folder, {} a file",
                input.display(),
                output.display()
            );
        }
        let (real_input, real_output) = (real(input)?, real(output)?);
        if real_output.starts_with(&real_input) && real_output != real_input {
            bail!("{} lies inside {}", output.display(), input.display());
        }
        let mut files = Vec::new();
        collect(input, Path::new(""), &mut files)?;
        files.sort();
        return Ok(files
            .into_iter()
            .map(|file| Job {
                from: input.join(&file),
                to: output.join(&file),
                name: file.display().to_string(),
                alone: false,
            })
            .collect());
    }
    let is_folder = output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let to = match (is_folder, input.file_name()) {
        (true, Some(name)) => output.join(name),
        _ => output.to_owned(),
    };
    Ok(vec![Job {
        from: input.to_owned(),
        to,
        name: input.display().to_string(),
        alone: true,
    }])
}

/// The canonical path of something that may not exist yet.
fn real(path: &Path) -> Result<PathBuf> {
    let mut missing = Vec::new();
    let mut path = std::path::absolute(path)?;
    loop {
        match fs::canonicalize(&path) {
            Ok(real) => {
                return Ok(missing
                    .iter()
                    .rev()
                    .fold(real, |path, name| path.join(name)));
            }
            Err(error) => match (path.file_name().map(ToOwned::to_owned), path.parent()) {
                (Some(name), Some(parent)) => {
                    missing.push(name);
                    path = parent.to_owned();
                }
                _ => return Err(error).context(path.display().to_string()),
            },
        }
    }
}

fn collect(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let dir = root.join(below);
    for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
        let entry = entry.with_context(|| dir.display().to_string())?;
        let path = below.join(entry.file_name());
        // Follows links to files, not to folders, which could lead in circles.
        let file_type = entry.file_type()?;
        if file_type.is_dir() {
            collect(root, &path, files)?;
        } else if entry.path().is_file() {
            files.push(path);
        } else {
            say!(
                "left out: {}: a link to a folder, or no file",
                path.display()
            );
        }
    }
    Ok(())
}
