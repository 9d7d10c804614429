//! Removes an old folder after a new one has replaced it. Files that other programs have put into
//! the old folder meanwhile are kept.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::attributes::{FileState, unless_gone};
use crate::error::at;

/// Permissions with which the owner can read and change a folder.
const OPEN: u32 = 0o700;

/// Number of attempts to empty the old folder. A program that works in the folder may add one file after the
/// other.
const MOST_PASSES: u32 = 10;

/// A file of the old folder, and how it relates to the file of the same name in the new folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The state of the old file when it was read, or linked into the new folder.
    pub(crate) was: FileState,
    /// The state of the file in the new folder.
    pub(crate) ours: FileState,
    /// True if the file in the new folder is a hard link to the old file, false if it has a content of its own.
    pub(crate) is_taken: bool,
}

/// An old folder, and the new one that has replaced it.
#[derive(Debug)]
pub(crate) struct Leftover<'a> {
    pub(crate) old: &'a Path,
    pub(crate) new: &'a Path,
    pub(crate) seen: &'a BTreeMap<PathBuf, Seen>,
}

impl Leftover<'_> {
    /// Removes the files that were linked or copied into the new folder, and moves files that were
    /// added later into the new folder.
    ///
    /// # Errors
    /// When a file changed in both folders: the file stays in the old folder, and the error names
    /// it.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let fault = match self.remove_below(Path::new("")) {
            Ok(None) => return Ok(()),
            Ok(Some(path)) => format!(
                "{} changed during the rewriting",
                self.old.join(path).display()
            ),
            Err(error) => error.to_string(),
        };
        let line = format!(
            "the new folder is complete, but the old one could not be removed: {fault}; check the old folder, then remove it"
        );
        Err(at(self.new, &io::Error::other(line)))
    }

    /// Does the same as [`Leftover::remove`] for the files below a path. Returns a path that could
    /// not be removed; `None` if all were removed.
    fn remove_below(&self, below: &Path) -> io::Result<Option<PathBuf>> {
        let here = self.old.join(below);
        open(&here)?;
        for _ in 0..MOST_PASSES {
            let mut stays = None;
            for entry in fs::read_dir(&here).map_err(|error| at(&here, &error))? {
                let entry = entry.map_err(|error| at(&here, &error))?;
                let path = below.join(entry.file_name());
                let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
                let are_folders = [self.old, self.new].map(|root| is_folder(&root.join(&path)));
                if are_folders == [true; 2] {
                    stays = stays.or(self.remove_below(&path)?);
                } else if !self.remove_one(&path)? {
                    stays = stays.or(Some(path));
                }
            }
            if stays.is_some() {
                return Ok(stays);
            }
            match fs::remove_dir(&here) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                other => return other.map(|()| None).map_err(|error| at(&here, &error)),
            }
        }
        Ok(Some(below.to_owned()))
    }

    /// Removes or moves the file or folder at one path. Returns whether that was
    /// possible.
    fn remove_one(&self, path: &Path) -> io::Result<bool> {
        let (old, new) = (self.old.join(path), self.new.join(path));
        let Some(is) = FileState::of(&old)? else {
            return Ok(true);
        };
        let (seen, there) = (self.seen.get(path), FileState::of(&new)?);
        let removed = match (seen, there) {
            (Some(seen), _) if seen.was == is => fs::remove_file(&old),
            (_, Some(there)) if there.is_same_file(&is) => fs::remove_file(&old),
            (_, None) => fs::rename(&old, &new),
            // A program that appends may have begun the file in the old folder and
            // continued it in the new one: keep both.
            (None, Some(_)) => return Ok(false),
            (Some(seen), Some(there)) => match (there.is_same_file(&seen.ours), seen.is_taken) {
                // The file in the new folder was replaced too, and later.
                (false, _) => fs::remove_file(&old),
                (true, true) => fs::rename(&old, &new),
                (true, false) => return Ok(false),
            },
        };
        unless_gone(removed).map_err(|error| at(&old, &error))?;
        Ok(true)
    }
}

/// Gives the owner all permissions of a folder. Without them, the files in the folder cannot be
/// removed.
fn open(folder: &Path) -> io::Result<()> {
    let metadata = fs::metadata(folder).map_err(|error| at(folder, &error))?;
    if metadata.permissions().mode() & OPEN != OPEN {
        let permissions = Permissions::from_mode(OPEN);
        fs::set_permissions(folder, permissions).map_err(|error| at(folder, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An old folder and a new one, and the states of the old one's files.
    struct Case {
        folder: tempfile::TempDir,
        seen: BTreeMap<PathBuf, Seen>,
    }

    impl Case {
        fn new() -> io::Result<Case> {
            let folder = tempfile::tempdir()?;
            for place in ["old/logs", "new/logs"] {
                fs::create_dir_all(folder.path().join(place))?;
            }
            let seen = BTreeMap::new();
            Ok(Case { folder, seen })
        }

        fn at(&self, path: &str) -> PathBuf {
            self.folder.path().join(path)
        }

        fn write(&self, path: &str, content: &str) -> io::Result<()> {
            fs::write(self.at(path), content)
        }

        fn see(&mut self, path: &str) -> io::Result<()> {
            let state = |root| FileState::of(&self.at(root).join(path));
            let (was, ours) = (state("old")?.expect(path), state("new")?.expect(path));
            let is_taken = was == ours;
            let seen = Seen {
                was,
                ours,
                is_taken,
            };
            self.seen.insert(path.into(), seen);
            Ok(())
        }

        /// Links a file of the old folder into the new one.
        fn link(&mut self, path: &str) -> io::Result<()> {
            self.write(&format!("old/{path}"), "linked")?;
            let [old, new] = ["old", "new"].map(|root| self.at(root).join(path));
            fs::hard_link(old, new)?;
            self.see(path)
        }

        fn replace(&self, path: &str, content: &str) -> io::Result<()> {
            self.write("beside", content)?;
            fs::rename(self.at("beside"), self.at(path))
        }

        fn remove(&self) -> io::Result<()> {
            let leftover = Leftover {
                old: &self.at("old"),
                new: &self.at("new"),
                seen: &self.seen,
            };
            leftover.remove()
        }

        fn expect(&self, path: &str, content: &str) {
            let found = fs::read_to_string(self.at(path));
            assert_eq!(found.expect(path), content, "{path}");
        }
    }

    #[test]
    fn files_added_later_move_to_the_new_folder() -> io::Result<()> {
        let mut case = Case::new()?;
        for path in ["logs/same", "logs/appended", "logs/replaced"] {
            case.link(path)?;
        }
        case.write("old/class", "old")?;
        case.write("new/class", "rewritten")?;
        case.see("class")?;

        case.write("old/logs/appended", "linked and more")?;
        case.replace("old/logs/replaced", "later")?;
        case.write("old/logs/made", "made")?;
        fs::create_dir(case.at("old/made"))?;
        case.write("old/made/in it", "made")?;
        std::os::unix::fs::symlink("nothing", case.at("old/logs/link"))?;
        fs::set_permissions(case.at("old/logs"), Permissions::from_mode(0o555))?;
        // The file in the new folder was replaced later.
        for path in ["both", "only new", "gone"] {
            case.link(path)?;
        }
        case.replace("old/both", "of the old one")?;
        case.replace("new/both", "of the new one")?;
        case.replace("new/only new", "of the new one")?;
        fs::remove_file(case.at("new/gone"))?;
        case.remove()?;

        assert!(!case.at("old").exists());
        for (path, content) in [
            ("class", "rewritten"),
            ("logs/same", "linked"),
            ("logs/appended", "linked and more"),
            ("logs/replaced", "later"),
            ("logs/made", "made"),
            ("made/in it", "made"),
            ("both", "of the new one"),
            ("only new", "of the new one"),
        ] {
            case.expect(&format!("new/{path}"), content);
        }
        assert!(!case.at("new/gone").exists());
        assert!(case.at("new/logs/link").is_symlink());
        Ok(())
    }

    #[test]
    fn files_changed_in_both_folders_stay() -> io::Result<()> {
        let mut case = Case::new()?;
        case.write("old/class", "old")?;
        case.write("new/class", "rewritten")?;
        case.see("class")?;
        case.write("old/class", "compiled anew")?;
        case.write("old/logs/made", "one")?;
        case.write("new/logs/made", "two")?;
        case.write("old/logs/other", "goes over")?;
        let fault = case
            .remove()
            .expect_err("a changed file stays in the old folder")
            .to_string();
        assert!(
            fault.contains("the old one could not be removed"),
            "{fault}"
        );
        let old = case.at("old").display().to_string();
        assert!(fault.contains(&old), "{fault}");
        for (path, old, new) in [
            ("class", "compiled anew", "rewritten"),
            ("logs/made", "one", "two"),
        ] {
            case.expect(&format!("old/{path}"), old);
            case.expect(&format!("new/{path}"), new);
        }
        assert!(!case.at("old/logs/other").exists());
        case.expect("new/logs/other", "goes over");
        Ok(())
    }
}
