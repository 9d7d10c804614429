//! A dump's file, which may be read more than once.

use std::fs::{File, Metadata};
use std::io::{self, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::report::{open, shown};

/// An open file, and what it was like then.
pub(super) struct Source {
    pub(super) file: File,
    before: Metadata,
    name: String,
}

impl Source {
    pub(super) fn open(file: &Path) -> Result<Source> {
        let name = shown(file);
        let file = open(file)?;
        let before = file.metadata().with_context(|| name.clone())?;
        Ok(Source { file, before, name })
    }

    /// What is read from it [again](Source::again) and again, which a pipe cannot.
    pub(super) fn several_times<T>(
        &self,
        read: impl FnOnce() -> Result<T, loadhook_heap::Error>,
    ) -> Result<T> {
        if !self.is_file() {
            bail!(
                "{}: not a regular file; heap dumps are read more than once, so save it to a file first",
                self.name
            );
        }
        let read = read();
        self.is_unchanged()?;
        read.with_context(|| self.name.clone())
    }

    /// Returns whether it can be read again.
    pub(super) fn is_file(&self) -> bool {
        self.before.is_file()
    }

    /// From the beginning, whatever has its name by now.
    pub(super) fn again(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    /// Whether somebody wrote to it since it was opened.
    pub(super) fn is_unchanged(&self) -> Result<()> {
        let now = self.file.metadata().with_context(|| self.name.clone())?;
        let of = |file: &Metadata| (file.len(), file.modified().ok());
        if self.is_file() && of(&self.before) != of(&now) {
            bail!(
                "{}: the file changed while it was read; wait until it is written completely",
                self.name
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};

    use super::Source;

    #[test]
    fn a_file_that_grows_or_is_written_over_is_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a\u{1b}.hprof");
        fs::write(&path, "JAVA").expect("ours");
        let source = Source::open(&path).expect("it is there");
        source.is_unchanged().expect("it is as it was");
        // Another of the name is another.
        fs::rename(&path, folder.path().join("b")).expect("ours");
        fs::write(&path, "another").expect("ours");
        source.is_unchanged().expect("it is as it was");
        for _ in 0..2 {
            let mut text = String::new();
            let mut again = source.again().expect("a file");
            again.read_to_string(&mut text).expect("text");
            assert_eq!(text, "JAVA");
        }
        let growing = fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join("b"));
        growing.expect("ours").write_all(b"+").expect("ours");
        let error = source.is_unchanged().expect_err("it grew").to_string();
        let expected =
            ".hprof: the file changed while it was read; wait until it is written completely";
        assert!(
            error.ends_with(expected) && !error.contains('\u{1b}'),
            "{error:?}"
        );
    }
}
