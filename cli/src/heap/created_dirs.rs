//! Folders that are created for a file, and removed if the file is not written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that did not exist before. The empty ones are removed when this value is dropped.
pub(super) struct CreatedDirs(Vec<PathBuf>);

impl CreatedDirs {
    /// Lists the folders on the way to `folder` that do not exist yet.
    pub(super) fn missing(folder: &Path) -> io::Result<CreatedDirs> {
        let folder = std::path::absolute(folder)?;
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        Ok(CreatedDirs(missing.map(Path::to_owned).collect()))
    }
}

impl Drop for CreatedDirs {
    fn drop(&mut self) {
        for folder in &self.0 {
            // A folder with files stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_folders_that_stay_empty_are_removed() {
        let parent = tempfile::tempdir().expect("a temporary folder can be created");
        for (keeps, left) in [(false, false), (true, true)] {
            let folder = parent.path().join("a/b/c");
            let created = CreatedDirs::missing(&folder).expect("the folders can be created");
            fs::create_dir_all(&folder).expect("the test folder can be created");
            if keeps {
                fs::write(folder.join("file"), "").expect("the test file can be written");
            }
            drop(created);
            assert_eq!(parent.path().join("a").exists(), left);
            assert!(parent.path().exists());
        }
    }
}
