//! The manifest of one `loadhook run`: the list of the profiles that its JVMs wrote.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use loadhook_settings::manifest::{Writer, entries};

/// A manifest. It is kept open from the start, because the file can be removed while the program
/// runs, for example by a service that cleans the folder for temporary files.
pub(super) struct Manifest {
    pub(super) path: PathBuf,
    file: File,
}

/// The profiles that the JVMs of a command wrote.
#[derive(Default)]
pub(super) struct Noted {
    /// The profiles that agents wrote.
    pub(super) agents: Vec<PathBuf>,
    /// The profiles that rewritten archives wrote in the same JVMs. They count the same calls as
    /// the profiles of the agents, so the two are not added.
    pub(super) trackers: Vec<PathBuf>,
    /// True if the manifest was removed while the program ran. Then profiles may be missing here.
    pub(super) was_removed: bool,
}

impl Manifest {
    /// Creates an empty manifest.
    pub(super) fn create(path: PathBuf) -> Result<Manifest> {
        let mut options = File::options();
        let file = options.read(true).append(true).create_new(true).open(&path);
        let file = file.with_context(|| path.display().to_string())?;
        Ok(Manifest { path, file })
    }

    /// Reads the manifest; each profile is listed once.
    pub(super) fn read(mut self) -> Result<Noted> {
        let mut written = Vec::new();
        let read = self.file.read_to_end(&mut written);
        read.with_context(|| self.path.display().to_string())?;
        let was_removed = !self.is_in_its_place();
        if was_removed {
            // JVMs that ended after the removal have created a new manifest under the same name.
            written.extend(fs::read(&self.path).unwrap_or_default());
        }
        let mut noted = Noted {
            was_removed,
            ..Noted::default()
        };
        for (writer, profile) in entries(&written) {
            let profiles = match writer {
                Writer::Agent => &mut noted.agents,
                Writer::RewrittenArchive => &mut noted.trackers,
            };
            if !profiles.iter().any(|known| known == profile) {
                profiles.push(profile.to_owned());
            }
        }
        Ok(noted)
    }

    /// Returns whether the open file still has its name.
    fn is_in_its_place(&self) -> bool {
        let identity =
            |file: io::Result<fs::Metadata>| file.ok().map(|file| (file.dev(), file.ino()));
        identity(self.file.metadata()) == identity(fs::metadata(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use loadhook_settings::manifest::entry;

    use super::*;

    /// Makes a manifest with one entry.
    fn with_entry(folder: &Path, name: &str) -> Manifest {
        let manifest = Manifest::create(folder.join("list")).expect("the manifest can be created");
        let entry = entry(Writer::Agent, Path::new(name));
        // The test opens the file a second time, as a JVM does.
        let mut list = File::options()
            .append(true)
            .open(&manifest.path)
            .expect("the manifest can be opened");
        list.write_all(&[&entry[..], &entry].concat())
            .expect("the manifest can be written");
        manifest
    }

    #[test]
    fn each_profile_is_listed_once() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let noted = with_entry(folder.path(), "/a")
            .read()
            .expect("the manifest can be read");
        assert_eq!(noted.agents, [Path::new("/a")]);
        assert!(noted.trackers.is_empty() && !noted.was_removed);
    }

    #[test]
    fn a_removed_manifest_keeps_its_entries() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let manifest = with_entry(folder.path(), "/a");
        fs::remove_file(&manifest.path).expect("the manifest can be removed");
        let later = entry(Writer::RewrittenArchive, Path::new("/b"));
        fs::write(&manifest.path, later).expect("the manifest can be written");
        let noted = manifest.read().expect("the manifest can be read");
        assert_eq!(
            (noted.agents, noted.trackers),
            (vec!["/a".into()], vec!["/b".into()])
        );
        assert!(noted.was_removed);
    }
}
