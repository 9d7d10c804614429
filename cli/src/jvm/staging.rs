//! A private folder in which a JVM writes files for this command. While the JVM writes, the folder belongs
//! to the JVM's user.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::process::{getegid, geteuid};

use crate::output::{PRIVATE, say};

/// Minimum age of an abandoned folder. A younger folder may belong to a command that does not hold
/// it yet.
const ABANDONED: Duration = Duration::from_secs(60);

/// The folder in which the JVM writes. It is removed when this value is dropped.
pub(crate) struct StagingDir {
    /// Path of the folder. If the JVM begins to write only after the folder was removed, it can
    /// write nothing.
    folder: PathBuf,
    /// The open folder, which stays valid if the JVM's user owns the parent and renames the folder.
    open: File,
    /// The JVM's user, who owns the folder while the JVM writes.
    user: u32,
}

impl StagingDir {
    /// Makes a folder whose name begins with `prefix`, for the JVM of `user`.
    pub(crate) fn new(parent: &Path, prefix: &OsStr, user: u32) -> io::Result<StagingDir> {
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?
            .keep();
        let mut options = File::options();
        let flags = (OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed();
        let open = options.read(true).custom_flags(flags).open(&folder)?;
        if !is_new(&open)? {
            return Err(io::Error::other("another process put a folder there"));
        }
        let beside = StagingDir { folder, open, user };
        if user != geteuid().as_raw() {
            fchown(&beside.open, Some(user), None)?;
        }
        Ok(beside)
    }

    /// Locks the folder as long as this value lives, so that no other command takes it for an
    /// abandoned folder.
    pub(crate) fn hold(&self) -> io::Result<()> {
        Ok(self.open.try_lock()?)
    }

    /// Removes the folders that killed commands left: folders with this prefix, for a JVM of
    /// `user`, that no command holds. A folder that cannot be removed stays.
    pub(crate) fn remove_abandoned(parent: &Path, prefix: &str, user: u32) {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(prefix.as_bytes()) {
                let _ = remove_if_abandoned(&parent.join(name), user, ABANDONED);
            }
        }
    }

    /// Returns the name of the folder.
    pub(crate) fn name(&self) -> &OsStr {
        self.folder.file_name().unwrap_or_default()
    }

    /// Returns a path to the open folder. It stays valid if the folder is renamed.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()))
    }

    /// Takes ownership of the folder back. From then on no other user can change its files, so the
    /// file that is checked is the file that is renamed to the target.
    pub(crate) fn take_back(&self) -> io::Result<()> {
        fchown(&self.open, Some(geteuid().as_raw()), None)?;
        self.open.set_permissions(Permissions::from_mode(0o700))
    }

    /// Adds a copy of a file that the JVM's user may execute. That user owns the folder and may
    /// have put a link there, so the copy is always a new file.
    pub(crate) fn add(&self, from: &mut File, name: &OsStr) -> io::Result<()> {
        let path = self.path().join(name);
        let mut options = File::options();
        let mut copy = options
            .write(true)
            .create_new(true)
            .mode(PRIVATE)
            .open(path)?;
        io::copy(from, &mut copy)?;
        copy.set_permissions(Permissions::from_mode(0o500))?;
        fchown(&copy, Some(self.user), None)
    }

    /// Creates a file that the JVM's user may read and write.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let mut options = File::options();
        let options = options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(PRIVATE);
        let file = options.open(self.path().join(name))?;
        fchown(&file, Some(self.user), None)?;
        Ok(file)
    }

    /// Takes ownership of a file of the JVM.
    pub(crate) fn take(&self, file: &File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
        if self.user == geteuid().as_raw() {
            return Ok(());
        }
        let group = getegid().as_raw();
        fchown(file, Some(geteuid().as_raw()), Some(group))?;
        // The JVM's user can no longer create another link to the file.
        match file.metadata()?.nlink() {
            1 => Ok(()),
            _ => Err(io::Error::other(
                "the file has other links, by which another user could change it",
            )),
        }
    }

    /// Removes the folder after its contents were taken. If that fails, prints a warning.
    pub(crate) fn remove_or_warn(self) {
        if let Err(error) = self.remove() {
            // The path begins with `/proc/self/fd`, so only the name is shown.
            let name = self.folder.file_name().unwrap_or_default();
            say!("warning: {} could not be removed: {error}", name.display());
        }
    }

    /// Removes the files in the folder, then the folder by its name. The owner of the parent may
    /// have put another folder there, which is removed only if it is empty.
    pub(crate) fn remove(&self) -> io::Result<()> {
        self.take_back()?;
        for entry in fs::read_dir(self.path())? {
            fs::remove_file(self.path().join(entry?.file_name()))?;
        }
        fs::remove_dir(&self.folder)
    }

    /// Opens a file that the JVM wrote.
    pub(crate) fn open(&self, name: &str) -> io::Result<File> {
        let mut options = File::options();
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = options
            .read(true)
            .custom_flags(flags)
            .open(self.path().join(name))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || ![self.user, geteuid().as_raw()].contains(&metadata.uid()) {
            return Err(io::Error::other(
                "the file does not belong to the JVM's user",
            ));
        }
        Ok(file)
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        // The JVM may create one more file meanwhile.
        let _ = self.remove().or_else(|_| self.remove());
    }
}

/// Removes a folder and its files, unless it is held or younger than `age`.
fn remove_if_abandoned(folder: &Path, user: u32, age: Duration) -> io::Result<()> {
    let mut options = File::options();
    let flags = (OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed();
    let open = options.read(true).custom_flags(flags).open(folder)?;
    let metadata = open.metadata()?;
    let is_ours = [user, geteuid().as_raw()].contains(&metadata.uid());
    let is_old = SystemTime::now()
        .duration_since(metadata.modified()?)
        .is_ok_and(|since| since >= age);
    if !is_ours || !is_old || metadata.mode() & 0o777 != 0o700 {
        return Ok(());
    }
    open.try_lock()?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    for entry in fs::read_dir(&path)? {
        fs::remove_file(path.join(entry?.file_name()))?;
    }
    fs::remove_dir(folder)
}

/// Returns whether a folder looks newly created. The owner of the parent may have put another
/// folder in its place, which must not be given away.
fn is_new(folder: &File) -> io::Result<bool> {
    let metadata = folder.metadata()?;
    let mut entries = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    Ok(metadata.uid() == geteuid().as_raw()
        && metadata.mode() & 0o777 == 0o700
        && entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    /// Name of a file of the JVM.
    const NAME: &str = "dump";

    /// Returns another user's id if the test may change owners, else the test's own.
    fn other() -> u32 {
        match geteuid().is_root() {
            true => 65_534,
            false => geteuid().as_raw(),
        }
    }

    /// The JVM's user owns the folder. That user could put a link there, so that another file would
    /// be overwritten.
    #[test]
    fn nothing_is_copied_through_a_link() {
        let parent = tempfile::tempdir().expect("a temporary folder can be created");
        let victim = parent.path().join("victim");
        let library = parent.path().join("library");
        fs::write(&victim, "ours").expect("the test file can be written");
        fs::write(&library, "the library").expect("the test file can be written");
        let before = fs::metadata(&victim).expect("the metadata can be read");
        let staging = StagingDir::new(parent.path(), OsStr::new("h"), other())
            .expect("the staging folder can be created");
        symlink(&victim, staging.path().join("library")).expect("the symbolic link can be created");
        let add = |name: &str| {
            let mut library = File::open(&library).expect("the test file can be opened");
            staging.add(&mut library, OsStr::new(name))
        };
        let error = add("library").expect_err("a link has this name");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            fs::read_to_string(&victim).expect("the test file can be read"),
            "ours"
        );
        let after = fs::metadata(&victim).expect("the metadata can be read");
        assert_eq!((after.uid(), after.mode()), (before.uid(), before.mode()));
        add("another").expect("the name is free");
        let copy = fs::metadata(staging.path().join("another")).expect("the file was copied");
        assert_eq!((copy.uid(), copy.mode() & 0o777), (other(), 0o500));
    }

    /// The owner of the parent can rename the folder, and put another in its place.
    #[test]
    fn a_renamed_folder_is_still_the_one_that_is_checked() {
        let parent = tempfile::tempdir().expect("a temporary folder can be created");
        let is_root = geteuid().is_root();
        let user = other();
        let staging = StagingDir::new(parent.path(), OsStr::new("h"), user)
            .expect("the staging folder can be created");
        let uid = || {
            staging
                .open
                .metadata()
                .expect("the metadata can be read")
                .uid()
        };
        assert_eq!(uid(), user);
        let write = |text: &str| {
            let file = staging.folder.join(NAME);
            fs::write(&file, text).expect("the test file can be written");
            chown(&file, Some(user), None).expect("the owner can be set");
        };
        write("the dump");
        let name = staging.folder.clone();
        fs::rename(&name, parent.path().join("away")).expect("the test file can be renamed");
        fs::create_dir(&name).expect("the test folder can be created");
        write("another");
        staging
            .take_back()
            .expect("the staging folder can be taken back");
        assert_eq!(uid(), geteuid().as_raw());
        assert_eq!(
            staging
                .open
                .metadata()
                .expect("the metadata can be read")
                .mode()
                & 0o777,
            0o700
        );
        let mut text = String::new();
        let mut file = staging.open(NAME).expect("the dump can be opened");
        file.read_to_string(&mut text).expect("the text is UTF-8");
        assert_eq!(text, "the dump");
        if is_root {
            // A file of a third user, and a pipe, which is not a regular file.
            let path = staging.path();
            chown(path.join(NAME), Some(1), None).expect("the test runs as root");
            symlink(NAME, path.join("link")).expect("the symbolic link can be created");
            fs::create_dir(path.join("folder")).expect("the test folder can be created");
            for name in [NAME, "link", "folder"] {
                assert!(staging.open(name).is_err(), "{name}");
            }
        }
        // The folder in its place is not removed either.
        drop(staging);
        assert_eq!(
            fs::read(name.join(NAME)).expect("the file stays"),
            b"another"
        );
    }

    #[test]
    fn the_folder_of_a_killed_command_is_removed() {
        let parent = tempfile::tempdir().expect("a temporary folder can be created");
        let user = geteuid().as_raw();
        let staging = StagingDir::new(parent.path(), OsStr::new("h"), user)
            .expect("the staging folder can be created");
        fs::write(staging.path().join("profile"), "old").expect("the file can be written");
        let folder = staging.folder.clone();
        let remove = |age| {
            let _ = remove_if_abandoned(&folder, user, age);
            !folder.exists()
        };
        staging.hold().expect("nobody else holds the folder");
        assert!(!remove(Duration::ZERO), "the command lives");
        staging.open.unlock().expect("the folder was held");
        assert!(!remove(ABANDONED), "the folder is young");
        StagingDir::remove_abandoned(parent.path(), "h", user);
        assert!(folder.exists(), "the folder is young");
        assert!(remove(Duration::ZERO));
    }

    #[test]
    fn only_a_folder_that_looks_new_is_given_away() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let open = File::open(folder.path()).expect("the test file can be opened");
        let set = |mode| {
            let set = open.set_permissions(Permissions::from_mode(mode));
            set.expect("the permissions can be set");
        };
        set(0o700);
        assert!(is_new(&open).expect("the folder can be listed"));
        set(0o755);
        assert!(!is_new(&open).expect("the folder can be listed"));
        set(0o700);
        fs::write(folder.path().join("file"), "").expect("the test file can be written");
        assert!(!is_new(&open).expect("the folder can be listed"));
        fs::remove_file(folder.path().join("file")).expect("the test file can be removed");
        if geteuid().is_root() {
            fchown(&open, Some(other()), None).expect("the test runs as root");
            assert!(!is_new(&open).expect("the folder can be listed"));
        }
    }

    #[test]
    fn a_dump_of_another_user_becomes_ours() {
        let parent = tempfile::tempdir().expect("a temporary folder can be created");
        let staging = StagingDir::new(parent.path(), OsStr::new("h"), other())
            .expect("the staging folder can be created");
        let path = staging.path().join(NAME);
        fs::write(&path, "").expect("the test file can be written");
        chown(&path, Some(other()), None).expect("the owner can be set");
        staging
            .take_back()
            .expect("the staging folder can be taken back");
        let file = staging.open(NAME).expect("the dump can be opened");
        staging.take(&file).expect("the file has one name");
        let taken = file.metadata().expect("the metadata can be read");
        assert_eq!(
            (taken.uid(), taken.mode() & 0o777),
            (geteuid().as_raw(), PRIVATE)
        );
        if geteuid().is_root() {
            fs::hard_link(&path, parent.path().join("kept")).expect("the hard link can be created");
            assert!(staging.take(&file).is_err());
        }
    }
}
