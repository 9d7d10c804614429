//! Opens the files that the user names. Each error says what the user can do.

use std::env;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Error, Result, anyhow, bail};

/// Opens a file for reading. The error does not name the file. `what` names the kind of file that is expected, for
/// example `a heap dump`; the error for a folder says that this kind of file in the folder is needed.
pub(crate) fn open(file: &Path, what: &str) -> Result<File> {
    let opened = File::open(file).map_err(|error| unreadable(file, error))?;
    if opened.metadata()?.is_dir() {
        bail!("this is a folder; give {what} in it");
    }
    Ok(opened)
}

/// Returns the error for a file or folder that cannot be read. The caller adds the path to the message.
pub(crate) fn unreadable(file: &Path, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => missing(file),
        ErrorKind::PermissionDenied => anyhow!(
            "no permission to read this file; run loadhook as the owner of the file, or have the owner allow reading (chmod)"
        ),
        ErrorKind::NotADirectory => {
            anyhow!("no such file: a part of this path is a file, not a folder; check the path")
        }
        _ => error.into(),
    }
}

/// Returns the error for a file that does not exist. The message says which part of the path is missing.
fn missing(file: &Path) -> Error {
    let folder = match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => env::current_dir().unwrap_or_default(),
        Some(folder) => folder.to_owned(),
        None => return anyhow!("no such file; give the path of a file"),
    };
    let shown = folder.display();
    if file.is_symlink() {
        anyhow!("this is a link to a file that does not exist; give another file")
    } else if folder.is_dir() {
        anyhow!("no such file in {shown}; check the name, or give the path of another folder")
    } else {
        anyhow!("no such file, since there is no folder {shown}; check the path")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn refusals_say_what_helps() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "").expect("the test file can be written");
        symlink("nothing", path("link")).expect("the symbolic link can be created");
        let said = |name: &str| match open(&path(name), "a profile") {
            Ok(_) => panic!("{name} was opened"),
            Err(error) => error.to_string(),
        };
        let here = folder.path().display();
        assert_eq!(
            said("x"),
            format!("no such file in {here}; check the name, or give the path of another folder")
        );
        assert_eq!(
            said("a/x"),
            format!("no such file, since there is no folder {here}/a; check the path")
        );
        assert_eq!(
            said("file/x"),
            "no such file: a part of this path is a file, not a folder; check the path"
        );
        assert_eq!(
            said("link"),
            "this is a link to a file that does not exist; give another file"
        );
        assert_eq!(said(""), "this is a folder; give a profile in it");
        // Tests may run as root, who may read every file.
        let denied = unreadable(&path("file"), ErrorKind::PermissionDenied.into());
        assert!(
            denied
                .to_string()
                .starts_with("no permission to read this file; ")
        );
        assert!(open(&path("file"), "a profile").is_ok());
    }
}
