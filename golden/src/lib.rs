//! The inputs of the golden files: committed classes and classes made by hand.
//!
//! Each input shows one construct; the crate's `README.md` has a table of the constructs. The committed classes
//! are in `inputs/`: `.java` files, and the class files that javac made from them. [`handmade`] assembles the
//! hand-made classes on demand. They show constructs that no compiler writes, or that compilers no longer write.

#![forbid(unsafe_code)]

pub mod handmade;

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A class file in `golden/inputs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The path below `inputs` without `.class`, with `/` between folders. It is also the class's
    /// internal name, except for `module-info`.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Returns the folder of the committed inputs.
pub fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs")
}

/// Returns all committed classes, sorted by name.
///
/// # Errors
/// When the folder or one of its files cannot be read.
pub fn committed() -> io::Result<Vec<Committed>> {
    let root = inputs();
    let mut found = Vec::new();
    collect(&root, "", &mut found)?;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<Committed>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else {
            continue;
        };
        if path.is_dir() {
            collect(&path, &format!("{prefix}{file_name}/"), found)?;
        } else if let Some(stem) = file_name.strip_suffix(".class") {
            let bytes = fs::read(&path)?;
            found.push(Committed {
                name: format!("{prefix}{stem}"),
                path,
                bytes,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Inputs with the same name would share a snapshot, so names must be unique.
    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        for class in handmade::all() {
            assert!(
                names.insert(class.name.clone()),
                "two inputs have the name {}",
                class.name
            );
        }
        for class in committed().expect("the inputs are readable") {
            assert!(
                names.insert(class.name.clone()),
                "two inputs have the name {}",
                class.name
            );
        }
    }

    /// Checks that each source has a class file. A source that was never compiled has none.
    #[test]
    fn every_source_has_its_class() {
        for folder in [inputs(), inputs().join("module"), inputs().join("packaged")] {
            for entry in fs::read_dir(folder).expect("the inputs are readable") {
                let path = entry.expect("the inputs are readable").path();
                if path
                    .extension()
                    .is_some_and(|extension| extension == "java")
                {
                    assert!(path.with_extension("class").exists(), "{}", path.display());
                }
            }
        }
    }
}
