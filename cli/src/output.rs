//! Writes messages, and files that are either complete or absent.

use std::fs::{self, File, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loadhook_text::printable;
use loadhook_text::terminal::message;

/// Writes a message on standard error. A failure to write is ignored.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::write_line(&format!($($text)*))
    };
}
pub(crate) use say;

/// Writes the message of [`say`]: escaped, and wrapped if standard error is a terminal.
pub(crate) fn write_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", message(text));
}

/// Joins at most 20 names by commas, and adds the number of omitted names.
pub(crate) fn listed(names: &[String]) -> String {
    const FEW: usize = 20;
    let few: Vec<_> = names.iter().take(FEW).map(|name| printable(name)).collect();
    match names.len().saturating_sub(FEW) {
        0 => few.join(", "),
        more => format!("{} and {more} more", few.join(", ")),
    }
}

/// Writes text on standard error as it is: the caller has escaped it, and its lines may be grey.
pub(crate) fn write_text(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// Returns whether lines can be grey: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn can_grey(out: impl IsTerminal) -> bool {
    out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}

/// The permissions of files about a program, such as profiles: only the owner can read them.
pub(crate) const PRIVATE: u32 = 0o600;

/// The permissions of files that are not [`PRIVATE`], before the user's mask is applied.
pub(crate) const USUAL: u32 = 0o666;

/// Checks early that a file can be written to `path`. Makes missing folders.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let name = || path.display().to_string();
    match fs::metadata(path) {
        Ok(existing) if !existing.is_file() => {
            bail!("{}: not a file; give the name of a file to write", name())
        }
        // The name is too long.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
            return Err(error).with_context(name);
        }
        _ => {}
    }
    let target = behind_links(path);
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    make_folder(folder).with_context(name)?;
    // This file only shows that the folder is writable. It is deleted at once.
    tempfile::tempfile_in(folder).map(drop).with_context(name)
}

/// Makes a folder and its missing parents.
fn make_folder(folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        bail!("{} is not a folder; give another path", folder.display());
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Returns the path behind symbolic links, even if the last link leads to a file that does not exist yet.
pub(crate) fn behind_links(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    if fs::metadata(path).is_ok() {
        // `canonicalize` fails for a target without a path, such as a pipe behind /dev/stdout.
        return fs::canonicalize(path).unwrap_or(target);
    }
    // Like Linux, this function follows at most 40 links.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&target) else {
            break;
        };
        // If the link is absolute, `join` returns the link alone.
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    target
}

/// Returns whether two paths lead to one file, which need not exist yet.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let target = std::path::absolute(behind_links(path)).ok()?;
        let folder = fs::canonicalize(target.parent()?).ok()?;
        Some(folder.join(target.file_name()?))
    };
    place(a).is_some_and(|a| Some(a) == place(b))
}

/// Returns whether two paths lead to one existing file.
pub(crate) fn is_one_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((file.dev(), file.ino()))
    };
    identity(a).is_some_and(|a| Some(a) == identity(b))
}

/// Writes `bytes` to a file beside `path` and renames it, so that a crash or a full
/// disk leaves the old file. Makes missing folders. A link stays, and the file that
/// it leads to is replaced. A new file gets `mode`; an old one keeps its permissions
/// unless `mode` is [`PRIVATE`]. Devices and pipes are written to directly.
pub(crate) fn write_beside(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let name = || path.display().to_string();
    let target = behind_links(path);
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
    let folder = folder.unwrap_or(Path::new("."));
    make_folder(folder).with_context(name)?;
    let permissions = match existing {
        // An existing file keeps its permissions. The user's mask restricts only the
        // permissions of a new file.
        Some(existing) if mode != PRIVATE => Ok(existing.permissions()),
        _ => Err(Permissions::from_mode(mode)),
    };
    let write = || -> io::Result<()> {
        // Other users may write to the folder. The file has a random name and is never opened
        // through a link, so they cannot substitute a file of their own. The name is short, because
        // the name of `path` may have the maximum length.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".loadhook-").suffix(".tmp");
        if let Err(new) = &permissions {
            builder.permissions(new.clone());
        }
        let mut beside = builder.tempfile_in(folder)?;
        if let Ok(existing) = &permissions {
            beside.as_file().set_permissions(existing.clone())?;
        }
        beside.write_all(bytes)?;
        // Without this, a crash of the machine may leave the new name and no data.
        beside.as_file().sync_data()?;
        beside
            .persist(&target)
            .map(drop)
            .map_err(|error| error.error)
    };
    write().with_context(name)
}

/// Writes a result that cannot be had again, like [`write_beside`]. If that fails, for example because the disk is full,
/// writes a [`PRIVATE`] file into the folder for temporary files, and the error names this file.
pub(crate) fn write_or_keep(path: &Path, bytes: &[u8]) -> Result<()> {
    write_beside(path, bytes, PRIVATE).map_err(|error| match keep(path, bytes) {
        Ok(kept) => error.context(format!(
            "the result is in {}, because it cannot be written where it should be",
            kept.display()
        )),
        Err(_) => error,
    })
}

/// Writes a file into the folder for temporary files, with a new name that ends like that of `path` unless that end is
/// long.
fn keep(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = name.find('.').map(|at| &name[at..]);
    // The whole name must not be longer than a file system allows.
    let end = end.filter(|end| end.len() <= 32).unwrap_or_default();
    let mut file = tempfile::Builder::new()
        .prefix("loadhook-")
        .suffix(end)
        .tempfile()?;
    file.write_all(bytes)?;
    let (_, kept) = file.keep().map_err(|error| error.error)?;
    Ok(kept)
}

/// Renames a [`PRIVATE`] file. An old file of the new name is replaced; a link
/// stays, and the file that it leads to is replaced.
pub(crate) fn move_to(from: &Path, to: &Path) -> Result<()> {
    match fs::rename(from, behind_links(to)) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let bytes = fs::read(from).with_context(|| from.display().to_string())?;
            write_beside(to, &bytes, PRIVATE)?;
            fs::remove_file(from).with_context(|| from.display().to_string())
        }
        moved => moved.with_context(|| to.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(file: &Path) -> u32 {
        let metadata = fs::metadata(file).expect("the metadata can be read");
        metadata.permissions().mode() & 0o777
    }

    #[test]
    fn private_output_loses_the_permissions_of_others() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("file");
        for (wanted, expected) in [(USUAL, 0o640), (PRIVATE, 0o600)] {
            fs::write(&file, "old").expect("the test file can be written");
            fs::set_permissions(&file, Permissions::from_mode(0o640))
                .expect("the permissions can be set");
            write_beside(&file, b"new", wanted).expect("the test file can be written");
            assert_eq!(mode(&file), expected);
        }
    }

    #[test]
    fn a_result_that_cannot_be_written_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("file");
        fs::write(&file, "no folder").expect("the test file can be written");
        let error =
            write_or_keep(&file.join("a.pb.gz"), b"result").expect_err("a file is no folder");
        let told = format!("{error:#}");
        let rest = told.strip_prefix("the result is in ").expect(&told);
        let (kept, rest) = rest.split_once(", because ").expect(&told);
        assert!(kept.ends_with(".pb.gz"), "{told}");
        assert!(rest.contains("/file/a.pb.gz"), "{told}");
        let bytes = fs::read(kept).expect("the result can be read");
        assert_eq!((&*bytes, mode(Path::new(kept))), (&b"result"[..], 0o600));
        fs::remove_file(kept).expect("the result can be removed");
        assert!(
            keep(Path::new(&"a.".repeat(120)), b"").is_ok_and(|kept| fs::remove_file(kept).is_ok())
        );
    }

    #[test]
    fn the_longest_name_is_written() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("é".repeat(127) + "x");
        check_writable(&file).expect("the test file can be written");
        write_beside(&file, b"text", PRIVATE).expect("the test file can be written");
        assert_eq!(fs::read(&file).expect("the test file can be read"), b"text");
        let longer = folder.path().join("x".repeat(256));
        assert!(check_writable(&longer).is_err());
    }

    #[test]
    fn a_link_to_a_pipe_is_written_to() {
        let (mut reader, writer) = io::pipe().expect("the stream is a pipe");
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        write_beside(Path::new(&path), b"text", PRIVATE).expect("the test file can be written");
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("the text is UTF-8");
        assert_eq!(text, "text");
    }

    #[test]
    fn links_stay_links() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).expect("the test folder can be created");
        symlink("sub/second", path("first")).expect("the symbolic link can be created");
        symlink(path("sub/file"), path("sub/second")).expect("the symbolic link can be created");
        // The first file is written through dangling links, the second through valid ones.
        for text in ["one", "two"] {
            check_writable(&path("first")).expect("the test file can be written");
            write_beside(&path("first"), text.as_bytes(), PRIVATE)
                .expect("the test file can be written");
            assert_eq!(
                fs::read_to_string(path("sub/file")).expect("the test file can be read"),
                text
            );
            for link in ["first", "sub/second"] {
                assert!(fs::read_link(path(link)).is_ok(), "{link}");
            }
        }
        fs::write(path("own"), "three").expect("the test file can be written");
        move_to(&path("own"), &path("first")).expect("the test file can be renamed");
        let moved = fs::read_to_string(path("sub/file")).expect("the test file can be read");
        assert_eq!((&*moved, path("own").exists()), ("three", false));
        assert!(fs::read_link(path("sub/second")).is_ok());
        symlink("none/file", path("lost")).expect("the symbolic link can be created");
        check_writable(&path("lost")).expect("the test folder can be created");
        assert!(path("none").is_dir());
        fs::write(path("file"), "").expect("the test file can be written");
        assert!(check_writable(&path("file/below")).is_err());
    }
}
