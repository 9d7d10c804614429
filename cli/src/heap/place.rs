//! Where a dump goes: written beside, checked and renamed.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loadhook_text::printable;
use rustix::fs::OFlags;
use rustix::process::{getegid, geteuid};

use crate::attach::{Answer, Jvm};
use crate::output::{PRIVATE, behind_links, check_writable, say};

/// Where a dump is written, and where it goes when it is whole.
pub(super) struct Place {
    target: PathBuf,
    /// The dump, as the VM names it.
    pub(super) as_seen: PathBuf,
    beside: Beside,
    /// The folder of all, open: a path through the process ends with it. What
    /// is beside is removed through it, hence before.
    _folder: File,
    _made: Made,
}

/// The dump's name in a folder of its own.
const NAME: &str = "dump";

impl Place {
    pub(super) fn new(jvm: &Jvm, output: &Path) -> Result<Place> {
        let name = || output.display().to_string();
        let target = target(output, jvm.user()).with_context(name)?;
        let Some(file_name) = target.file_name() else {
            bail!("{}: not a file", name());
        };
        let parent = target.parent().filter(|path| !path.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let made = Made::missing(parent).with_context(name)?;
        fs::create_dir_all(parent).with_context(name)?;
        check_writable(output)?;
        let folder = File::open(parent).with_context(name)?;
        let as_seen = as_seen(jvm, parent, &folder).with_context(name)?;
        let ours = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let beside = Beside::new(&ours, file_name, jvm.user()).with_context(name)?;
        let own_name = beside.folder.file_name().unwrap_or_default();
        Ok(Place {
            target: ours.join(file_name),
            as_seen: as_seen.join(own_name).join(NAME),
            beside,
            _folder: folder,
            _made: made,
        })
    }

    /// The bytes so far: newer VMs write parts, and join them.
    pub(super) fn written(&self) -> u64 {
        let entries = fs::read_dir(self.beside.path()).into_iter().flatten();
        let entries = entries.flatten().filter(|entry| {
            let name = entry.file_name();
            name.as_bytes().starts_with(NAME.as_bytes())
        });
        entries
            .filter_map(|entry| Some(entry.metadata().ok()?.len()))
            .sum()
    }

    /// What the VM has written beside the dump, under its name and `suffix`: the
    /// first kilobytes.
    pub(super) fn read_beside(&self, suffix: &str) -> io::Result<String> {
        let mut text = Vec::new();
        let file = self.beside.open(&format!("{NAME}{suffix}"))?;
        file.take(1 << 14).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Puts a copy of a file beside the dump; its name for the VM.
    pub(super) fn add(&self, file: &Path) -> Result<PathBuf> {
        let name = file.file_name().unwrap_or_default();
        self.beside.add(&mut File::open(file)?, name)?;
        Ok(self.as_seen.with_file_name(name))
    }

    /// Gives a dump that is whole its name; its size.
    pub(super) fn put(self, answer: &Answer) -> Result<u64> {
        self.beside.take_back()?;
        let size = self.check().with_context(|| {
            // The last line says what went wrong.
            let said = answer.text.trim().lines().last().unwrap_or("nothing");
            format!(
                "the dump is not complete (the JVM says: {})",
                printable(said)
            )
        })?;
        if !answer.accepted {
            bail!("the JVM refuses: {}", printable(answer.text.trim()));
        }
        fs::rename(self.beside.path().join(NAME), &self.target)?;
        self.beside.remove_after_all();
        Ok(size)
    }

    fn check(&self) -> Result<u64> {
        let file = match self.beside.open(NAME) {
            // The VM has said why.
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!("nothing was written"),
            opened => opened?,
        };
        loadhook_hprof::validate(&file)?;
        self.beside.take(&file)?;
        // Lest a crash of the machine leaves the new name and no data.
        file.sync_data()?;
        Ok(file.metadata()?.len())
    }
}

/// A folder of its own, in which the VM writes.
struct Beside {
    /// Holds the dump and whatever else the VM writes beside it. The VM can
    /// write nothing when this is gone, however late it begins.
    folder: PathBuf,
    /// The folder whatever becomes of its name, which may be the VM's user's.
    open: File,
    /// The VM's, who owns it while the VM writes.
    user: u32,
}

impl Beside {
    fn new(parent: &Path, file_name: &OsStr, user: u32) -> io::Result<Beside> {
        let mut prefix = file_name.to_owned();
        prefix.push(".part-");
        let folder = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?
            .keep();
        let mut options = File::options();
        let flags = (OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed();
        let open = options.read(true).custom_flags(flags).open(&folder)?;
        if !is_new(&open)? {
            return Err(io::Error::other("somebody else put a folder there"));
        }
        let beside = Beside { folder, open, user };
        if user != geteuid().as_raw() {
            fchown(&beside.open, Some(user), None)?;
        }
        Ok(beside)
    }

    /// Leads into the folder itself.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()))
    }

    /// From now on nobody else can put something there: what is checked is what
    /// gets the name.
    fn take_back(&self) -> io::Result<()> {
        fchown(&self.open, Some(geteuid().as_raw()), None)?;
        self.open.set_permissions(Permissions::from_mode(0o700))
    }

    /// Adds a copy of a file that the VM's user may execute. The folder is that
    /// user's, who may have put a link there: nothing is written to but what is
    /// made here.
    fn add(&self, from: &mut File, name: &OsStr) -> io::Result<()> {
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

    /// Makes a file of the VM's ours.
    fn take(&self, file: &File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
        if self.user == geteuid().as_raw() {
            return Ok(());
        }
        let group = getegid().as_raw();
        fchown(file, Some(geteuid().as_raw()), Some(group))?;
        // Its user can no longer give it one.
        match file.metadata()?.nlink() {
            1 => Ok(()),
            _ => Err(io::Error::other("the dump has other names")),
        }
    }

    /// Removes it when the dump has its name: what fails then is worth a line,
    /// and no failure.
    fn remove_after_all(self) {
        if let Err(error) = self.remove() {
            // Its path leads through ours to the folder around it.
            let name = self.folder.file_name().unwrap_or_default();
            say!("warning: {} could not be removed: {error}", name.display());
        }
    }

    /// Removes what is in the folder itself, and then its name, if there is
    /// nothing in what has it: who owns the folder around it may have given the
    /// name to another one.
    fn remove(&self) -> io::Result<()> {
        self.take_back()?;
        for entry in fs::read_dir(self.path())? {
            fs::remove_file(self.path().join(entry?.file_name()))?;
        }
        fs::remove_dir(&self.folder)
    }

    /// A file of the VM's.
    fn open(&self, name: &str) -> io::Result<File> {
        let mut options = File::options();
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = options
            .read(true)
            .custom_flags(flags)
            .open(self.path().join(name))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || ![self.user, geteuid().as_raw()].contains(&metadata.uid()) {
            return Err(io::Error::other("not the virtual machine's file"));
        }
        Ok(file)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // The VM may make one more file meanwhile.
        let _ = self.remove().or_else(|_| self.remove());
    }
}

/// Whether a folder can be the one just made: who owns the one around it may have
/// renamed another there, which must not be given away.
fn is_new(folder: &File) -> io::Result<bool> {
    let metadata = folder.metadata()?;
    let mut entries = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    Ok(metadata.uid() == geteuid().as_raw()
        && metadata.mode() & 0o777 == 0o700
        && entries.next().is_none())
}

/// Folders that were not there; what is empty of them goes at the end.
pub(super) struct Made(Vec<PathBuf>);

impl Made {
    pub(super) fn missing(folder: &Path) -> io::Result<Made> {
        let folder = std::path::absolute(folder)?;
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        Ok(Made(missing.map(Path::to_owned).collect()))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for folder in &self.0 {
            // What holds something stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// What gets the dump. Another user's link may have been put there to have some
/// file of ours replaced.
fn target(output: &Path, user: u32) -> Result<PathBuf> {
    if user == geteuid().as_raw() {
        return Ok(behind_links(output));
    }
    if fs::symlink_metadata(output).is_ok_and(|found| found.is_symlink()) {
        bail!("a link, and the process belongs to another user; give the name of the file itself");
    }
    Ok(output.to_owned())
}

/// How the process names a folder of ours: it may live in a container.
fn as_seen(jvm: &Jvm, path: &Path, folder: &File) -> Result<PathBuf> {
    let root = jvm.root();
    let path = match std::path::absolute(path)?.strip_prefix(&root) {
        Ok(below) => Path::new("/").join(below),
        Err(_) => fs::canonicalize(path)?,
    };
    if !sees(jvm, &path, &folder.metadata()?) {
        bail!(
            "the process does not see that folder, since it has its own file system (a container?); give a folder there: -o {}/tmp/heap.hprof",
            root.display()
        );
    }
    Ok(path)
}

/// Whether an absolute path leads the process to this file or folder.
pub(super) fn sees(jvm: &Jvm, path: &Path, what: &Metadata) -> bool {
    let below = path.strip_prefix("/").unwrap_or(path);
    let seen = fs::metadata(jvm.root().join(below));
    seen.is_ok_and(|seen| (seen.dev(), seen.ino()) == (what.dev(), what.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    /// Somebody else's if we may give files away.
    fn other() -> u32 {
        match geteuid().is_root() {
            true => 65_534,
            false => geteuid().as_raw(),
        }
    }

    /// What the VM says is the reason; that there is no file is none.
    #[test]
    fn a_dump_that_is_not_there_was_not_written() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let beside = Beside::new(parent.path(), OsStr::new("h"), geteuid().as_raw());
        let place = Place {
            target: parent.path().join("h"),
            as_seen: parent.path().join("h"),
            beside: beside.expect("ours"),
            _folder: File::open(parent.path()).expect("ours"),
            _made: Made::missing(parent.path()).expect("ours"),
        };
        let answer = Answer {
            accepted: true,
            text: "Dumping\nUnable to create h (Permission denied)\n".to_owned(),
        };
        let error = place.put(&answer).expect_err("there is none");
        let expected = "the dump is not complete (the JVM says: Unable to create h (Permission denied)): nothing was written";
        assert_eq!(format!("{error:#}"), expected);
    }

    /// Its user owns the folder, and could have had any file of ours overwritten.
    #[test]
    fn nothing_is_copied_through_a_link() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let victim = parent.path().join("victim");
        let library = parent.path().join("library");
        fs::write(&victim, "ours").expect("ours");
        fs::write(&library, "the library").expect("ours");
        let before = fs::metadata(&victim).expect("ours");
        let beside = Beside::new(parent.path(), OsStr::new("h"), other()).expect("ours");
        symlink(&victim, beside.path().join("library")).expect("ours");
        let add = |name: &str| {
            let mut library = File::open(&library).expect("ours");
            beside.add(&mut library, OsStr::new(name))
        };
        let error = add("library").expect_err("there is a link");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&victim).expect("ours"), "ours");
        let after = fs::metadata(&victim).expect("ours");
        assert_eq!((after.uid(), after.mode()), (before.uid(), before.mode()));
        add("another").expect("nothing is there");
        let copy = fs::metadata(beside.path().join("another")).expect("copied");
        assert_eq!((copy.uid(), copy.mode() & 0o777), (other(), 0o500));
    }

    /// Who owns a folder can give it another name, and put something else there.
    #[test]
    fn what_is_checked_is_what_gets_the_name() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let is_root = geteuid().is_root();
        let user = other();
        let beside = Beside::new(parent.path(), OsStr::new("h"), user).expect("ours");
        let uid = || beside.open.metadata().expect("ours").uid();
        assert_eq!(uid(), user);
        let write = |text: &str| {
            let file = beside.folder.join(NAME);
            fs::write(&file, text).expect("ours");
            chown(&file, Some(user), None).expect("ours");
        };
        write("the dump");
        let name = beside.folder.clone();
        fs::rename(&name, parent.path().join("away")).expect("ours");
        fs::create_dir(&name).expect("ours");
        write("another");
        beside.take_back().expect("ours");
        assert_eq!(uid(), geteuid().as_raw());
        assert_eq!(beside.open.metadata().expect("ours").mode() & 0o777, 0o700);
        let mut text = String::new();
        let mut file = beside.open(NAME).expect("the dump");
        file.read_to_string(&mut text).expect("UTF-8");
        assert_eq!(text, "the dump");
        if is_root {
            // A third one's, and what is no file.
            let path = beside.path();
            chown(path.join(NAME), Some(1), None).expect("we are root");
            symlink(NAME, path.join("link")).expect("ours");
            fs::create_dir(path.join("folder")).expect("ours");
            for name in [NAME, "link", "folder"] {
                assert!(beside.open(name).is_err(), "{name}");
            }
        }
        // Nor does the other one go.
        drop(beside);
        assert_eq!(fs::read(name.join(NAME)).expect("it stays"), b"another");
    }

    #[test]
    fn only_what_looks_new_is_given_away() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = File::open(folder.path()).expect("ours");
        let set = |mode| {
            let set = open.set_permissions(Permissions::from_mode(mode));
            set.expect("ours");
        };
        set(0o700);
        assert!(is_new(&open).expect("ours"));
        set(0o755);
        assert!(!is_new(&open).expect("ours"));
        set(0o700);
        fs::write(folder.path().join("file"), "").expect("ours");
        assert!(!is_new(&open).expect("ours"));
        fs::remove_file(folder.path().join("file")).expect("ours");
        if geteuid().is_root() {
            fchown(&open, Some(other()), None).expect("we are root");
            assert!(!is_new(&open).expect("ours"));
        }
    }

    #[test]
    fn links_lead_to_dumps_of_our_own_only() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        symlink(&file, &link).expect("ours");
        let ours = geteuid().as_raw();
        assert_eq!(target(&link, ours).expect("ours"), file);
        assert_eq!(target(&file, ours + 1).expect("no link"), file);
        assert!(target(&link, ours + 1).is_err());
        fs::write(&file, "").expect("ours");
        assert!(target(&link, ours + 1).is_err());
    }

    #[test]
    fn a_dump_of_another_user_becomes_ours() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let beside = Beside::new(parent.path(), OsStr::new("h"), other()).expect("ours");
        let path = beside.path().join(NAME);
        fs::write(&path, "").expect("ours");
        chown(&path, Some(other()), None).expect("ours");
        beside.take_back().expect("ours");
        let file = beside.open(NAME).expect("the dump");
        beside.take(&file).expect("one name");
        let taken = file.metadata().expect("ours");
        assert_eq!(
            (taken.uid(), taken.mode() & 0o777),
            (geteuid().as_raw(), PRIVATE)
        );
        if geteuid().is_root() {
            fs::hard_link(&path, parent.path().join("kept")).expect("ours");
            assert!(beside.take(&file).is_err());
        }
    }

    #[test]
    fn folders_go_that_were_not_there() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        for (keeps, left) in [(false, false), (true, true)] {
            let folder = parent.path().join("a/b/c");
            let made = Made::missing(&folder).expect("ours");
            fs::create_dir_all(&folder).expect("ours");
            if keeps {
                fs::write(folder.join("file"), "").expect("ours");
            }
            drop(made);
            assert_eq!(parent.path().join("a").exists(), left);
            assert!(parent.path().exists());
        }
    }
}
