//! The file of a dump.

use std::fs::{File, Metadata};
use std::io::{self, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail};

use loadhook_heap::{Error, Histogram};
use loadhook_text::{bytes, count};

use super::render::text::{TRAILING_BYTES, shown};
use crate::input;
use crate::output::say;

/// The open file of a dump, and its metadata when it was opened.
pub(super) struct Source {
    pub(super) file: File,
    before: Metadata,
    name: String,
    /// Number of times that the file was opened from its beginning.
    #[cfg(test)]
    pub(super) passes: std::cell::Cell<u32>,
}

impl Source {
    pub(super) fn open(file: &Path) -> Result<Source> {
        let name = shown(file);
        let file = input::open(file, "a heap dump").with_context(|| name.clone())?;
        let before = file.metadata().with_context(|| name.clone())?;
        Ok(Source {
            file,
            before,
            name,
            #[cfg(test)]
            passes: std::cell::Cell::new(0),
        })
    }

    /// Runs `read`, which opens the file [more than once](Source::again). Fails for a pipe, which
    /// can be read only once.
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
        self.check_unchanged()?;
        read.with_context(|| self.name.clone())
    }

    /// Returns whether the file can be read more than once.
    pub(super) fn is_file(&self) -> bool {
        self.before.is_file()
    }

    /// Opens the file again from its beginning, even if its name now belongs to another file.
    pub(super) fn again(&self) -> io::Result<File> {
        #[cfg(test)]
        self.passes.set(self.passes.get() + 1);
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    /// Fails if the file was written to since it was opened.
    pub(super) fn check_unchanged(&self) -> Result<()> {
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

/// Fails if a dump is cut off, unless `--partial` is given. Warns of trailing bytes that are not
/// read.
pub(super) fn check_complete(
    file: &Path,
    wants_part: bool,
    outcome: Result<(), Error>,
    histogram: &Histogram,
) -> Result<()> {
    let name = shown(file);
    if histogram.has_trailing_bytes {
        say!("warning: {name}: {TRAILING_BYTES}");
    }
    let Err(error) = outcome else {
        return Ok(());
    };
    if !error.is_truncated() {
        return Err(error).context(name);
    }
    if !wants_part {
        bail!(
            "{name}: {error}; up to there the file has {} objects with {}; add --partial to show them",
            count(histogram.instances()),
            bytes(histogram.bytes())
        );
    }
    say!("warning: {name}: {error}; only the part before this fault is shown");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};

    use super::Source;

    #[test]
    fn a_file_that_grows_or_is_overwritten_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let path = folder.path().join("a\u{1b}.hprof");
        fs::write(&path, "JAVA").expect("the test file can be written");
        let source = Source::open(&path).expect("the file exists");
        source.check_unchanged().expect("the file is unchanged");
        // Only the open file matters, not another file of the same name.
        fs::rename(&path, folder.path().join("b")).expect("the test file can be renamed");
        fs::write(&path, "another").expect("the test file can be written");
        source.check_unchanged().expect("the file is unchanged");
        for _ in 0..2 {
            let mut text = String::new();
            let mut again = source.again().expect("the file can be opened again");
            again
                .read_to_string(&mut text)
                .expect("the test file can be read");
            assert_eq!(text, "JAVA");
        }
        let growing = fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join("b"));
        growing
            .expect("the test file can be written")
            .write_all(b"+")
            .expect("the test file can be written");
        let error = source
            .check_unchanged()
            .expect_err("the file grew")
            .to_string();
        let expected =
            ".hprof: the file changed while it was read; wait until it is written completely";
        assert!(
            error.ends_with(expected) && !error.contains('\u{1b}'),
            "{error:?}"
        );
    }
}
