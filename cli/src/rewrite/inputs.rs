//! Inputs, and the paths of their outputs.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loadhook_offline::{Found, find, is_archive};

use super::usage_error::usage_error;
use crate::input;
use crate::output::say;

/// An input, and the path of its output.
pub(super) struct Input {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) kind: Kind,
    len: u64,
}

pub(super) enum Kind {
    Class,
    Archive,
    Folder(Vec<Found>),
}

impl Input {
    /// Returns the size of the input in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match &self.kind {
            Kind::Folder(files) => files.iter().map(Found::bytes).sum(),
            Kind::Class | Kind::Archive => self.len,
        }
    }
}

/// Finds the inputs. With `quiet`, only errors are printed.
pub(super) fn inputs(from: &[PathBuf], output: &Path, quiet: bool) -> Result<Vec<Input>> {
    let several = from.len() > 1;
    if several && output.is_file() {
        return usage_error(format!(
            "{}: this is a file; several inputs need a folder for -o",
            output.display()
        ));
    }
    let mut targets: HashMap<PathBuf, &Path> = HashMap::new();
    let mut inputs = Vec::new();
    for from in from {
        let input = input(from, output, several, quiet)?;
        if let Some(other) = targets.insert(input.to.clone(), from) {
            return usage_error(format!(
                "{} and {} would both be written to {}; rewrite them separately",
                other.display(),
                from.display(),
                input.to.display()
            ));
        }
        inputs.push(input);
    }
    Ok(inputs)
}

fn input(from: &Path, output: &Path, several: bool, quiet: bool) -> Result<Input> {
    let name = || from.display().to_string();
    let metadata = fs::metadata(from).map_err(|error| input::unreadable(from, error));
    let metadata = metadata.with_context(name)?;
    let is_folder = several
        || output.is_dir() && !metadata.is_dir()
        || output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let to = match (is_folder, from.file_name()) {
        (true, Some(last)) if several || !metadata.is_dir() => output.join(last),
        _ => output.to_owned(),
    };
    let kind = if metadata.is_dir() {
        if to.is_file() {
            return usage_error(format!(
                "{} is a folder, but -o {} is a file; give -o a folder",
                name(),
                to.display()
            ));
        }
        let (real_from, real_to) = (real(from)?, real(&to)?);
        if real_to != real_from && real_to.starts_with(&real_from) {
            return usage_error(format!(
                "-o {} is inside the input {}; give a folder outside of it",
                to.display(),
                name()
            ));
        }
        let mut left_out = |path: &Path| {
            if !quiet {
                say!(
                    "not rewritten: {}: a link out of the folder, or not a regular file",
                    path.display()
                );
            }
        };
        Kind::Folder(find(from, &mut left_out)?)
    } else if metadata.is_file() {
        file_kind(from).with_context(name)?
    } else {
        // Opening a pipe would wait for its writer.
        bail!(
            "{}: neither a file nor a folder, so it cannot be rewritten",
            name()
        );
    };
    if to.is_symlink() && !to.exists() {
        bail!("{}: a link to a file that does not exist", to.display());
    }
    Ok(Input {
        from: from.to_owned(),
        to,
        kind,
        len: metadata.len(),
    })
}

/// Returns the kind of a file. An archive is recognised by its name, as in the JVM, or by its first
/// bytes; any other file may be a class.
fn file_kind(path: &Path) -> Result<Kind> {
    let file = input::open(path, "a class file or an archive")?;
    if is_archive(&path.to_string_lossy()) {
        return Ok(Kind::Archive);
    }
    let mut begin = Vec::new();
    file.take(4).read_to_end(&mut begin)?;
    match &*begin {
        b"PK\x03\x04" | b"PK\x05\x06" => Ok(Kind::Archive),
        b"JM\x01\x00" => bail!(
            "a JMOD file cannot be rewritten; rewrite the module's jar or folder, and give that to jlink"
        ),
        _ => Ok(Kind::Class),
    }
}

/// Returns the canonical path of a file or folder that may not exist yet.
pub(super) fn real(path: &Path) -> Result<PathBuf> {
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
