//! Appends entries to the manifest, which lists the profiles that the JVMs of one command have written.
//! [`loadhook_settings::manifest`] describes the format.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use loadhook_settings::manifest::{Writer, entry, is_listed};

use crate::diagnostics;

/// Reports before the program runs if the manifest cannot be written.
pub(crate) fn check(manifest: &Path, quiet: bool) {
    match open(manifest) {
        // With `quiet`, a missing manifest means that `loadhook run` has exited and removed the manifest, while a
        // program that it had started still runs.
        Err(error) if quiet && error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => report(manifest, &error),
        Ok(_) => {}
    }
}

/// Calls `put` with the path `file`, and appends this path to the manifest. If the manifest has the path already, a
/// number is inserted into the file name, because two JVMs in different namespaces can have the same process id.
///
/// # Errors
/// Returns the error of `put`. An error of the manifest is reported and not returned.
pub(crate) fn note(
    manifest: &Path,
    file: &Path,
    put: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let (mut list, names) = match read(manifest) {
        Ok(listed) => listed,
        Err(error) => {
            // A missing manifest is not reported here. Either `loadhook run` has exited and removed the manifest, or
            // the error was reported at the start.
            if error.kind() != io::ErrorKind::NotFound {
                report(manifest, &error);
            }
            put(file)?;
            return Ok(file.to_owned());
        }
    };
    let mut name = file.to_owned();
    let mut number = 2_u32;
    while is_listed(&names, &name) {
        name = numbered(file, number);
        number += 1;
    }
    put(&name)?;
    if let Err(error) = list.write_all(&entry(Writer::Agent, &name)) {
        report(manifest, &error);
    }
    Ok(name)
}

/// Appends the name of a profile that the tracker of a rewritten archive has written. Errors are ignored here, because
/// they are reported when the agent appends the name of its own profile.
pub(crate) fn note_of_other(manifest: &Path, file: &Path) {
    if let Ok((mut list, _)) = read(manifest) {
        let _ = list.write_all(&entry(Writer::RewrittenArchive, file));
    }
}

/// Opens, locks and reads the manifest.
fn read(manifest: &Path) -> io::Result<(File, Vec<u8>)> {
    let mut list = open(manifest)?;
    let mut names = Vec::new();
    // Only a regular file is read, because reading a pipe or terminal would wait for ever.
    if list.metadata()?.is_file() {
        lock(&list);
        list.read_to_end(&mut names)?;
    }
    Ok((list, names))
}

/// Locks the manifest until its file is closed, so that two JVMs do not take the same name. After a second, continues
/// without the lock, because the other JVM may be frozen.
fn lock(list: &File) {
    for _ in 0..100 {
        if list.try_lock().is_ok() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn open(manifest: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(manifest)
}

fn report(manifest: &Path, error: &io::Error) {
    let manifest = manifest.display();
    diagnostics::line(&format!(
        "{manifest}: {error}; loadhook run will not find this profile"
    ));
}

/// Inserts a number before the suffix of a file's name: `x-1.2.pb.gz`.
fn numbered(file: &Path, number: u32) -> PathBuf {
    let name = file.file_name().unwrap_or_default().as_bytes();
    let dot = || name.iter().rposition(|byte| *byte == b'.');
    let stem = match name.strip_suffix(b".pb.gz") {
        Some(stem) => stem.len(),
        None => dot().unwrap_or(name.len()),
    };
    let (stem, suffix) = name.split_at(stem);
    let name = [stem, format!(".{number}").as_bytes(), suffix].concat();
    file.with_file_name(OsStr::from_bytes(&name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::fd::AsRawFd;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_jvm_gets_a_name_of_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let manifest = folder.path().join("list");
        let file = Path::new("/a.b/x-1.pb.gz");
        let put = Mutex::new(Vec::new());
        let names: BTreeSet<PathBuf> = std::thread::scope(|scope| {
            let note = || {
                note(&manifest, file, |name| {
                    put.lock()
                        .expect("the thread did not panic")
                        .push(name.to_owned());
                    Ok(())
                })
                .expect("the manifest can be written")
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(note)).collect();
            let names = threads
                .into_iter()
                .map(|t| t.join().expect("the thread did not panic"));
            names.collect()
        });
        let name = |number| PathBuf::from(format!("/a.b/x-1.{number}.pb.gz"));
        let expected: BTreeSet<PathBuf> = (2..9).map(name).chain([file.to_owned()]).collect();
        assert_eq!(names, expected);
        // The entries are in the order in which the profiles were renamed.
        let listed = std::fs::read(&manifest).expect("the manifest can be read");
        let put = put.into_inner().expect("the thread did not panic");
        let bytes: Vec<u8> = put
            .iter()
            .flat_map(|name| [name.as_os_str().as_bytes(), &[0]].concat())
            .collect();
        assert_eq!(listed, bytes);
    }

    /// The agent waits neither for a pipe nor for a lock of another process.
    #[test]
    fn pipes_and_locks_are_not_waited_for() {
        let (mut reader, writer) = io::pipe().expect("a pipe can be made");
        let pipe = format!("/proc/self/fd/{}", writer.as_raw_fd());
        note(Path::new(&pipe), Path::new("x"), |_| Ok(())).expect("the manifest can be written");
        drop(writer);
        let mut noted = Vec::new();
        reader
            .read_to_end(&mut noted)
            .expect("the pipe can be read");
        assert_eq!(noted, b"x\0");

        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let manifest = folder.path().join("list");
        let held = File::create(&manifest).expect("the manifest can be created");
        held.lock().expect("the manifest can be locked");
        note(&manifest, Path::new("x"), |_| Ok(())).expect("the manifest can be written");
        assert_eq!(
            std::fs::read(&manifest).expect("the manifest can be read"),
            b"x\0"
        );
    }

    #[test]
    fn the_profile_of_a_rewritten_archive_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let manifest = folder.path().join("list");
        note_of_other(&manifest, Path::new("/x.pb.gz"));
        let noted = note(&manifest, Path::new("/x.pb.gz"), |_| Ok(()))
            .expect("the manifest can be written");
        assert_eq!(noted, Path::new("/x.2.pb.gz"));
        let listed = std::fs::read(&manifest).expect("the manifest can be read");
        assert_eq!(listed, b"+/x.pb.gz\0/x.2.pb.gz\0");
    }

    /// A `+` marks the entries of rewritten archives.
    #[test]
    fn a_profile_with_a_plus_before_its_name_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let manifest = folder.path().join("list");
        let note = |name| {
            note(&manifest, Path::new(name), |_| Ok(())).expect("the manifest can be written")
        };
        assert_eq!(note("+x.pb.gz"), Path::new("+x.pb.gz"));
        assert_eq!(note("+x.pb.gz"), Path::new("+x.2.pb.gz"));
        assert_eq!(
            note("x.pb.gz"),
            Path::new("x.pb.gz"),
            "a name without a plus is another file"
        );
        let listed = std::fs::read(&manifest).expect("the manifest can be read");
        assert_eq!(listed, b"./+x.pb.gz\0./+x.2.pb.gz\0x.pb.gz\0");
    }

    #[test]
    fn a_profile_that_is_not_written_is_not_noted() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let manifest = folder.path().join("list");
        let noted = note(&manifest, Path::new("x"), |_| {
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(noted.is_err());
        assert_eq!(
            std::fs::read(&manifest).expect("the manifest can be read"),
            b""
        );
    }

    #[test]
    fn numbers_are_in_front_of_the_suffix() {
        let numbered = |file: &str| numbered(Path::new(file), 2);
        assert_eq!(numbered("x.y/z.pb"), Path::new("x.y/z.2.pb"));
        assert_eq!(numbered("x.y/z"), Path::new("x.y/z.2"));
    }
}
