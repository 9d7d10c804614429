//! Where a profile goes, and how: there is a whole one or what was there
//! before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loadhook_profile::Profile;
use loadhook_profile::format::pprof;

/// Where a profile goes.
enum Place {
    /// Replaced whole, or made.
    File(PathBuf),
    /// `/dev/null` and its like: written to, never replaced.
    Device(PathBuf),
}

/// Says now, before the program runs, if a profile could not be written. Makes the folders that are
/// missing.
pub(crate) fn check(file: &Path) -> io::Result<()> {
    let Place::File(target) = place(file)? else {
        return Ok(());
    };
    create(&beside(&target)).map(drop)
}

/// Returns whether two names lead to the same regular file.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    match (place(a), place(b)) {
        (Ok(Place::File(a)), Ok(Place::File(b))) => {
            a == b || std::path::absolute(a).ok() == std::path::absolute(b).ok()
        }
        _ => false,
    }
}

/// A profile that is written, and not in its place yet; dropped, it is gone.
pub(crate) struct Written(PathBuf);

impl Written {
    /// Puts it in the place of `file`.
    pub(crate) fn put(self, file: &Path) -> io::Result<()> {
        match place(file)? {
            Place::File(target) => fs::rename(&self.0, target),
            Place::Device(_) => Err(io::Error::other("not a file")),
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // It is not there if it was put in its place.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes a profile beside where `file` is to be, as long as `goes_on`; `None`
/// if that is a device and has it.
pub(crate) fn write(
    file: &Path,
    profile: &Profile,
    goes_on: impl Fn() -> bool,
) -> io::Result<Option<Written>> {
    let (out, written) = match place(file)? {
        Place::File(target) => {
            let (out, written) = create(&beside(&target))?;
            (out, Some(written))
        }
        Place::Device(device) => (OpenOptions::new().write(true).open(device)?, None),
    };
    let mut out = BufWriter::new(Wanted { out, goes_on });
    pprof::write(profile, &mut out)?;
    out.flush()?;
    Ok(written)
}

/// Writes as long as what is written is wanted.
struct Wanted<G> {
    out: File,
    goes_on: G,
}

impl<G: Fn() -> bool> Write for Wanted<G> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.goes_on)() {
            self.out.write(bytes)
        } else {
            Err(io::Error::other("given up"))
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Follows links, so that a link stays one, though it leads to nothing yet.
fn place(file: &Path) -> io::Result<Place> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| behind_links(file));
    let Ok(existing) = fs::metadata(&target) else {
        return Ok(Place::File(target));
    };
    let kind = existing.file_type();
    if kind.is_file() {
        Ok(Place::File(target))
    } else if kind.is_char_device() {
        Ok(Place::Device(target))
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        // Opening a pipe waits for its reader.
        Err(io::Error::other("not a file"))
    }
}

/// Where links lead, though there be nothing yet.
fn behind_links(file: &Path) -> PathBuf {
    let mut target = file.to_owned();
    // As many as Linux follows; none where something without a name is behind.
    for _ in 0..40 {
        match fs::read_link(&target) {
            // An absolute one replaces all.
            Ok(link) if fs::metadata(file).is_err() => {
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            _ => break,
        }
    }
    target
}

/// Only the user's own: a profile tells what a program does. Nothing is
/// followed and nothing shared that lies there.
fn create(path: &Path) -> io::Result<(File, Written)> {
    let _ = fs::remove_file(path);
    // Programs that clean their output folder may have removed it since the start.
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        fs::create_dir_all(folder)?;
    }
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    Ok((out, Written(path.to_owned())))
}

/// A name that no other process uses: in another namespace one can have the
/// same id.
fn beside(file: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}-{now:x}.tmp", std::process::id()));
    name.into()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_given_up_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x");
        let names = || fs::read_dir(folder.path()).expect("it is there").count();
        let left = Cell::new(0);
        let goes_on = || left.replace(left.get() - 1) > 0;
        for pieces in [0, 1] {
            left.set(pieces);
            let written = write(&file, &Profile::default(), goes_on);
            match written {
                Err(_) => assert!(pieces == 0 && names() == 0),
                Ok(None) => panic!("it is no device"),
                Ok(Some(written)) => {
                    assert!(pieces == 1 && !file.exists());
                    written.put(&file).expect("there is nothing");
                    assert!(file.exists() && names() == 1);
                }
            }
        }
    }
}
