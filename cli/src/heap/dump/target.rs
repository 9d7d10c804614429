//! The target of a dump. The dump is written to a staging folder, checked, and renamed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use loadhook_text::printable;
use rustix::process::geteuid;

use super::super::created_dirs::CreatedDirs;
use crate::jvm::{Answer, Jvm, StagingDir};
use crate::output::{behind_links, check_writable};

/// Name of the dump in the staging folder.
const NAME: &str = "dump";

/// The file that gets the dump when it is complete, and the staging folder where it is written.
pub(super) struct DumpTarget {
    target: PathBuf,
    /// Path of the dump in the staging folder, as the JVM sees it.
    pub(super) as_seen: PathBuf,
    staging: StagingDir,
    /// The parent folder, held open because a path through `/proc/PID` becomes invalid when the
    /// process ends. This field is dropped after the staging folder, which is removed through it.
    _folder: File,
    _created: CreatedDirs,
}

impl DumpTarget {
    pub(super) fn new(jvm: &Jvm, output: &Path) -> Result<DumpTarget> {
        let name = || output.display().to_string();
        let target = target(output, jvm.user()).with_context(name)?;
        let Some(file_name) = target.file_name() else {
            bail!(
                "{}: not the name of a file; give another name to -o",
                name()
            );
        };
        let parent = target.parent().filter(|path| !path.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let created = CreatedDirs::missing(parent).with_context(name)?;
        fs::create_dir_all(parent).with_context(name)?;
        check_writable(output)?;
        let folder = File::open(parent).with_context(name)?;
        let as_seen = as_seen(jvm, parent, &folder).with_context(name)?;
        let ours = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let mut prefix = file_name.to_owned();
        prefix.push(".part-");
        let staging = StagingDir::new(&ours, &prefix, jvm.user()).with_context(name)?;
        let own_name = staging.name();
        Ok(DumpTarget {
            target: ours.join(file_name),
            as_seen: as_seen.join(own_name).join(NAME),
            staging,
            _folder: folder,
            _created: created,
        })
    }

    /// Returns the number of bytes that the JVM has written so far. Newer JVMs write several files
    /// and join them.
    pub(super) fn written(&self) -> u64 {
        let entries = fs::read_dir(self.staging.path()).into_iter().flatten();
        let entries = entries.flatten().filter(|entry| {
            let name = entry.file_name();
            name.as_bytes().starts_with(NAME.as_bytes())
        });
        entries
            .filter_map(|entry| Some(entry.metadata().ok()?.len()))
            .sum()
    }

    /// Reads the first 16 KB of a file beside the dump. Its name is the name of the dump with
    /// `suffix`.
    pub(super) fn read_beside(&self, suffix: &str) -> io::Result<String> {
        let mut text = Vec::new();
        let file = self.staging.open(&format!("{NAME}{suffix}"))?;
        file.take(1 << 14).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Puts a copy of a file into the staging folder, and returns its path as the JVM sees it.
    pub(super) fn add(&self, file: &Path) -> Result<PathBuf> {
        let name = file.file_name().unwrap_or_default();
        self.staging.add(&mut File::open(file)?, name)?;
        Ok(self.as_seen.with_file_name(name))
    }

    /// Gives the complete dump its name, and returns its size.
    pub(super) fn put(self, answer: &Answer) -> Result<u64> {
        self.staging.take_back()?;
        let size = self.check().with_context(|| {
            // The last line of the answer gives the reason.
            let said = answer.text.trim().lines().last().unwrap_or("nothing");
            format!(
                "the dump is not complete (the JVM says: {})",
                printable(said)
            )
        })?;
        if !answer.accepted {
            bail!("the JVM refuses: {}", printable(answer.text.trim()));
        }
        fs::rename(self.staging.path().join(NAME), &self.target)?;
        self.staging.remove_or_warn();
        Ok(size)
    }

    fn check(&self) -> Result<u64> {
        let file = match self.staging.open(NAME) {
            // The JVM's answer gives the reason.
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!("the JVM wrote no dump"),
            opened => opened?,
        };
        loadhook_hprof::validate(&file)?;
        self.staging.take(&file)?;
        // Otherwise a crash of the machine could leave the new name without data.
        file.sync_data()?;
        Ok(file.metadata()?.len())
    }
}

/// Resolves a link to the target file. A link is refused if the process belongs to another user:
/// that user may have made the link so that the dump replaces another file.
fn target(output: &Path, user: u32) -> Result<PathBuf> {
    if user == geteuid().as_raw() {
        return Ok(behind_links(output));
    }
    if fs::symlink_metadata(output).is_ok_and(|found| found.is_symlink()) {
        bail!("a link, and the process belongs to another user; give the name of the file itself");
    }
    Ok(output.to_owned())
}

/// Returns the path of a folder as the process sees it. The process may run in a container.
fn as_seen(jvm: &Jvm, path: &Path, folder: &File) -> Result<PathBuf> {
    let root = jvm.root();
    let path = match std::path::absolute(path)?.strip_prefix(&root) {
        Ok(below) => Path::new("/").join(below),
        Err(_) => fs::canonicalize(path)?,
    };
    if !jvm.sees(&path, &folder.metadata()?) {
        bail!(
            "the process does not see that folder, since it has its own file system (a container?); give a folder there: -o {}/tmp/heap.hprof",
            root.display()
        );
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The error contains the JVM's answer, not just that the file is missing.
    #[test]
    fn a_missing_dump_is_explained_by_the_jvm() {
        let parent = tempfile::tempdir().expect("a temporary folder can be created");
        let staging = StagingDir::new(parent.path(), OsStr::new("h"), geteuid().as_raw());
        let place = DumpTarget {
            target: parent.path().join("h"),
            as_seen: parent.path().join("h"),
            staging: staging.expect("the staging folder can be created"),
            _folder: File::open(parent.path()).expect("the test file can be opened"),
            _created: CreatedDirs::missing(parent.path()).expect("the parent folder exists"),
        };
        let answer = Answer {
            accepted: true,
            text: "Dumping\nUnable to create h (Permission denied)\n".to_owned(),
        };
        let error = place.put(&answer).expect_err("there is no dump");
        let expected = "the dump is not complete (the JVM says: Unable to create h (Permission denied)): the JVM wrote no dump";
        assert_eq!(format!("{error:#}"), expected);
    }

    #[test]
    fn links_lead_to_dumps_of_our_own_only() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        symlink(&file, &link).expect("the symbolic link can be created");
        let ours = geteuid().as_raw();
        assert_eq!(target(&link, ours).expect("the link is ours"), file);
        assert_eq!(
            target(&file, ours + 1).expect("the target is not a link"),
            file
        );
        assert!(target(&link, ours + 1).is_err());
        fs::write(&file, "").expect("the test file can be written");
        assert!(target(&link, ours + 1).is_err());
    }
}
