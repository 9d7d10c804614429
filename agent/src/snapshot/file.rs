//! Writes the file of a profile. The file is replaced as a whole, so at any moment it contains its complete old content
//! or the complete new profile.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// The destination of a profile.
enum Destination {
    /// A regular file, which is made or replaced.
    File(PathBuf),
    /// A device such as `/dev/null`. It is written to, and never replaced.
    Device(PathBuf),
}

/// Checks whether a profile can be written to a file, before the program runs. Makes missing folders.
pub(crate) fn check(file: &Path) -> io::Result<()> {
    let Destination::File(target) = destination(file)? else {
        return Ok(());
    };
    match fs::metadata(&target) {
        // The name is too long, which no retry can mend.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Err(error),
        _ => {}
    }
    create(&temporary_name(&target)).map(drop)
}

/// Returns whether two names lead to the same regular file.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    match (destination(a), destination(b)) {
        (Ok(Destination::File(a)), Ok(Destination::File(b))) => {
            a == b || std::path::absolute(a).ok() == std::path::absolute(b).ok()
        }
        _ => false,
    }
}

/// A complete profile in a temporary file. Dropping this removes the file.
pub(crate) struct PendingProfile(PathBuf);

impl PendingProfile {
    /// Moves the profile to `file`.
    pub(crate) fn put(self, file: &Path) -> io::Result<()> {
        match destination(file)? {
            Destination::File(target) => fs::rename(&self.0, target),
            Destination::Device(_) => Err(not_a_file()),
        }
    }
}

impl Drop for PendingProfile {
    fn drop(&mut self) {
        // This fails if the profile was moved, because then the file no longer exists.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes the content of a profile to a temporary file beside `file`. Gives up when `goes_on` returns false. If `file`
/// is a device, writes to the device itself and returns `None`.
pub(crate) fn write(
    file: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    goes_on: impl Fn() -> bool,
) -> io::Result<Option<PendingProfile>> {
    let (out, pending) = match destination(file)? {
        Destination::File(target) => {
            let (out, pending) = create(&temporary_name(&target))?;
            (out, Some(pending))
        }
        Destination::Device(device) => (OpenOptions::new().write(true).open(device)?, None),
    };
    fill(out, content, goes_on)?;
    Ok(pending)
}

/// Returns whether a name leads to a device.
pub(crate) fn is_device(file: &Path) -> bool {
    matches!(destination(file), Ok(Destination::Device(_)))
}

/// Makes an empty file without a name, which vanishes when the process ends. The file is in the folder of `file`, or,
/// if `file` is a device, in the folder for temporary files.
pub(crate) fn unnamed(file: &Path) -> io::Result<File> {
    let beside = match destination(file)? {
        Destination::File(target) => target,
        Destination::Device(_) => std::env::temp_dir().join("loadhook"),
    };
    let path = temporary_name(&beside);
    match create(&path) {
        Ok((out, _named)) => Ok(out),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", path.display()),
        )),
    }
}

/// Makes or replaces a regular file. Gives up when `goes_on` returns false. Fails for other files, because a device can
/// make its writer wait for ever.
pub(crate) fn replace(
    file: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    goes_on: impl Fn() -> bool,
) -> io::Result<()> {
    let Destination::File(target) = destination(file)? else {
        return Err(not_a_file());
    };
    let (out, pending) = create(&temporary_name(&target))?;
    fill(out, content, goes_on)?;
    fs::rename(&pending.0, target)
}

fn fill(
    out: File,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    goes_on: impl Fn() -> bool,
) -> io::Result<()> {
    let mut out = BufWriter::new(Cancellable { out, goes_on });
    content(&mut out)?;
    out.flush()
}

fn not_a_file() -> io::Error {
    io::Error::other("not a regular file, but a device or a pipe; choose another name")
}

/// A file whose writes fail when `goes_on` returns false.
struct Cancellable<G> {
    out: File,
    goes_on: G,
}

impl<G: Fn() -> bool> Write for Cancellable<G> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.goes_on)() {
            self.out.write(bytes)
        } else {
            Err(io::Error::other("writing the profile was abandoned"))
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the destination to which a name leads. Links are followed, also to files that do not exist yet, so that the
/// file is replaced and not the link.
fn destination(file: &Path) -> io::Result<Destination> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| target_of_links(file));
    let Ok(existing) = fs::metadata(&target) else {
        return Ok(Destination::File(target));
    };
    let kind = existing.file_type();
    if kind.is_file() {
        Ok(Destination::File(target))
    } else if kind.is_char_device() {
        Ok(Destination::Device(target))
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        // A pipe is refused, because opening a pipe waits for its reader.
        Err(not_a_file())
    }
}

/// Returns the name to which links lead, even if no file of this name exists.
fn target_of_links(file: &Path) -> PathBuf {
    let mut target = file.to_owned();
    // Linux follows at most 40 links. If the file exists although it has no canonical name, no link is followed.
    for _ in 0..40 {
        match fs::read_link(&target) {
            // An absolute link replaces the whole path.
            Ok(link) if fs::metadata(file).is_err() => {
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            _ => break,
        }
    }
    target
}

/// Creates a file that only the user can read, because a profile contains details of the program. An existing file or
/// link of this name is removed first.
fn create(path: &Path) -> io::Result<(File, PendingProfile)> {
    let _ = fs::remove_file(path);
    // The folder is made again, because the program may have removed its output folder since the start.
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        fs::create_dir_all(folder)?;
    }
    let out = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    Ok((out, PendingProfile(path.to_owned())))
}

/// Makes a temporary name beside a file. The name has three parts: the process id; the time, because a process in
/// another namespace can have the same id; and a number, because two profiles can be written at the same time. The name
/// of the file is not a part, because it may already have the maximum length.
fn temporary_name(file: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    let process = std::process::id();
    file.with_file_name(format!(".loadhook-{process}-{now:x}-{number}.tmp"))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use loadhook_profile::Profile;
    use loadhook_profile::format::pprof;

    use super::*;

    fn content(out: &mut dyn Write) -> io::Result<()> {
        pprof::write(&Profile::default(), out)
    }

    #[test]
    fn the_longest_name_is_written() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("x".repeat(255));
        check(&file).expect("the file can be written");
        let pending = write(&file, content, || true).expect("the profile is written");
        pending
            .expect("the file is regular")
            .put(&file)
            .expect("the file can be renamed");
        assert!(file.is_file());
        assert!(check(&folder.path().join("x".repeat(256))).is_err());
    }

    #[test]
    fn only_a_file_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("x");
        replace(&file, content, || true).expect("the profile is written");
        assert!(file.is_file());
        let error = replace(Path::new("/dev/null"), content, || true);
        let error = error.expect_err("it is a device").to_string();
        assert_eq!(
            error,
            "not a regular file, but a device or a pipe; choose another name"
        );
    }

    #[test]
    fn nothing_is_left_of_a_file_without_a_name() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let missing = folder.path().join("missing");
        let file = unnamed(&missing.join("x")).expect("the folder is made");
        (&file).write_all(b"text").expect("the file can be written");
        let left = fs::read_dir(&missing).expect("the folder can be listed");
        assert_eq!(left.count(), 0);
        unnamed(Path::new("/dev/null")).expect("the file is not in /dev");
        let error = unnamed(Path::new("/proc/x")).expect_err("there is no room for files");
        assert!(error.to_string().starts_with("/proc/."), "{error}");
    }

    #[test]
    fn a_cancelled_write_leaves_the_file_from_before() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("x");
        let names = || {
            fs::read_dir(folder.path())
                .expect("the folder can be listed")
                .count()
        };
        let left = Cell::new(0);
        let goes_on = || left.replace(left.get() - 1) > 0;
        for pieces in [0, 1] {
            left.set(pieces);
            match write(&file, content, goes_on) {
                Err(_) => assert!(pieces == 0 && names() == 0),
                Ok(None) => panic!("it is no device"),
                Ok(Some(pending)) => {
                    assert!(pieces == 1 && !file.exists());
                    pending.put(&file).expect("the file can be renamed");
                    assert!(file.exists() && names() == 1);
                }
            }
        }
    }
}
