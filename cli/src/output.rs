//! Files written whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes `bytes` to a file beside `path` and renames it, so that a crash or
/// a full disk leaves what was there. Makes the folders that are missing.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = || path.display().to_string();
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(name)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = Path::new(&beside);
    let written = (|| {
        let mut file = File::create(beside)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(beside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(beside);
    }
    written.with_context(name)
}
