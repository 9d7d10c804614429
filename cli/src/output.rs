//! What is written: files whole or not at all, and messages.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Says something on standard error. That it is closed or full is no reason
/// to fail.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}
pub(crate) use say;

/// Permissions of what tells about a program: its owner's only.
pub(crate) const PRIVATE: u32 = 0o600;

/// Permissions of other files, as far as the user's mask leaves them.
pub(crate) const USUAL: u32 = 0o666;

/// Finds out whether a file can be written there, before there is anything to
/// write.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let name = || path.display().to_string();
    let existing = fs::metadata(path);
    if existing.is_ok_and(|existing| !existing.is_file()) {
        bail!("{}: not a file", name());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Made and gone again.
    tempfile::tempfile_in(folder).map(drop).with_context(name)
}

/// Writes `bytes` to a file beside `path` and renames it, so that a crash or
/// a full disk leaves what was there. Makes the folders that are missing. A
/// link stays one and a file keeps its permissions, a new one gets `mode`; a
/// device or pipe is written to.
pub(crate) fn write_beside(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let name = || path.display().to_string();
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) => path.to_owned(),
    };
    let existing = fs::metadata(&target).ok();
    if existing
        .as_ref()
        .is_some_and(|m| !m.is_file() && !m.is_dir())
    {
        let written = File::options().write(true).open(&target);
        return written
            .and_then(|mut file| file.write_all(bytes))
            .with_context(name);
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty());
    fs::create_dir_all(folder.unwrap_or(Path::new("."))).with_context(name)?;
    let mut beside = target.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = Path::new(&beside);
    let write = || -> io::Result<()> {
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(beside)?;
        file.write_all(bytes)?;
        if let Some(existing) = existing {
            file.set_permissions(existing.permissions())?;
        }
        drop(file);
        fs::rename(beside, &target)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(beside);
    }
    written.with_context(name)
}
