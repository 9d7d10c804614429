//! The agent's options, resolved in this process: with the content of pattern files, and with the final names of files.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use loadhook_settings::{AgentOptions, Filter, PatternFileError, Timing, patterns_in_file};
use thiserror::Error;

/// An error in a file that `include-file` names. Its message begins with the file's name.
#[derive(Debug, Error)]
pub(crate) enum IncludeFileError {
    /// The file cannot be read.
    #[error("{file}: {error}")]
    Unreadable {
        /// The file's name.
        file: String,
        /// The error of the system.
        error: io::Error,
    },
    /// The file has no pattern, or has a pattern with an error.
    #[error(transparent)]
    Patterns(#[from] PatternFileError),
}

/// The agent's options, and values that are derived from them in this process.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The options as the user gave them.
    pub(crate) settings: AgentOptions,
    /// The choice of methods to instrument, from the options and from files of patterns. An order may change the choice
    /// later.
    pub(crate) filter: Filter,
    /// The way in which calls are timed; `None` if they are not recorded.
    pub(crate) timing: Option<Timing>,
    /// Name of the profile's file.
    pub(crate) file: PathBuf,
    /// The manifest: a file to which the profile's name is appended.
    pub(crate) manifest: Option<PathBuf>,
}

impl Options {
    /// Resolves the options in the process with this id.
    ///
    /// # Errors
    ///
    /// Fails if a file of patterns cannot be read.
    pub(crate) fn resolve(
        settings: AgentOptions,
        process: u32,
    ) -> Result<Options, IncludeFileError> {
        let mut include = settings.include.clone();
        for file in &settings.include_files {
            let text = text_of(file).map_err(|error| IncludeFileError::Unreadable {
                file: file.clone(),
                error,
            })?;
            include.extend(patterns_in_file(file, &text)?);
        }
        Ok(Options {
            filter: if settings.include_none {
                Filter::none()
            } else {
                Filter::of(include, settings.exclude.clone())
            },
            timing: settings.timing(),
            file: file_of(&settings, process),
            manifest: settings.manifest.clone().map(PathBuf::from),
            settings,
        })
    }

    /// Returns whether probes count allocations.
    pub(crate) fn counts_allocations(&self) -> bool {
        self.settings.counts_allocations()
    }

    /// Returns whether classes are instrumented, or an order may make the agent instrument classes.
    pub(crate) fn rewrites(&self) -> bool {
        self.settings.instruments()
    }

    /// Returns whether few methods will have probes. If none are chosen now but orders are taken, an order may choose
    /// many.
    pub(crate) fn expects_few_methods(&self) -> bool {
        let awaits_choice = self.filter.selects_none() && self.settings.control;
        self.filter.names_few_classes() && !awaits_choice
    }

    /// Returns whether calls are counted by method alone, or may be later: because their times come from samples, or
    /// because the budget may take timing probes out.
    pub(crate) fn counts_by_method(&self) -> bool {
        self.rewrites() && (self.timing == Some(Timing::Sampled) || self.may_lose_timing())
    }

    /// Returns whether the budget may take timing probes out of methods.
    pub(crate) fn may_lose_timing(&self) -> bool {
        self.timing != Some(Timing::Sampled) && self.settings.budget_percent().is_some()
    }
}

/// The maximum size of a file of patterns, in bytes.
const MOST: u64 = 64 << 20;

/// Reads a file of patterns. Fails beyond the maximum size, because a device or pipe may be endless.
fn text_of(file: &str) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(file)?.take(MOST + 1).read_to_string(&mut text);
    if text.len() as u64 > MOST {
        return Err(io::Error::other(
            "more than 64 MiB, too large for a file of patterns",
        ));
    }
    read.map(|_| text)
}

/// Returns the name of the file to write. If HPROF's options forbid overwriting and the file exists, appends the
/// process id to the name, as HPROF does.
fn file_of(settings: &AgentOptions, process: u32) -> PathBuf {
    let Some(hprof) = &settings.hprof else {
        return PathBuf::from(with_process_id(&settings.file, process));
    };
    let file = PathBuf::from(&hprof.file);
    if hprof.force || !file.exists() {
        return file;
    }
    PathBuf::from(hprof.marked(&hprof.file, process))
}

/// Replaces `%p` in a file's name by the process id. In the names of folders, `%p` stays: if the path was made
/// absolute, these names are not from the user.
fn with_process_id(file: &str, process: u32) -> String {
    let (folders, name) = file.split_at(file.rfind('/').map_or(0, |slash| slash + 1));
    format!("{folders}{}", name.replace("%p", &process.to_string()))
}

#[cfg(test)]
pub(crate) fn for_test(text: &str) -> Options {
    let settings = text.parse().expect("the options are valid");
    Options::resolve(settings, 7).expect("the options are valid")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_the_name_has_the_process_id() {
        let file = |text: &str| for_test(text).file;
        assert_eq!(file("file=x-%p"), PathBuf::from("x-7"));
        let expected = PathBuf::from("/100%pure/%p/7-7");
        assert_eq!(file("file=/100%pure/%p/%p-%p"), expected);
        assert_eq!(file(""), PathBuf::from("loadhook-7.pb.gz"));
    }

    #[test]
    fn hprof_does_not_overwrite_unless_it_may() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.txt");
        let written = |force: &str| {
            let text = format!("hprof:heap=sites,file={},force={force}", file.display());
            for_test(&text).file
        };
        assert_eq!([written("y"), written("n")], [file.clone(), file.clone()]);
        std::fs::write(&file, "").expect("write test file");
        let other = folder.path().join("x.7.txt");
        assert_eq!([written("y"), written("n")], [file.clone(), other]);
        let binary = folder.path().join("x.txt.7");
        assert_eq!(written("n,format=b"), binary);
    }

    #[test]
    fn files_of_patterns_are_read() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be created");
        let text = format!("include=c,include-file={}", file.path().display());
        let settings: AgentOptions = text.parse().expect("the options are valid");
        let fault = Options::resolve(settings, 7).expect_err("an empty file is refused");
        let is_empty = matches!(
            fault,
            IncludeFileError::Patterns(PatternFileError::Empty { .. })
        );
        assert!(is_empty, "{fault}");
        let missing = "include-file=/missing/a"
            .parse()
            .expect("the options are valid");
        let fault = Options::resolve(missing, 7).expect_err("the file is missing");
        assert!(fault.to_string().starts_with("/missing/a: "), "{fault}");
        let endless = "include-file=/dev/zero"
            .parse()
            .expect("the options are valid");
        let fault = Options::resolve(endless, 7).expect_err("the file is endless");
        let fault = fault.to_string();
        assert!(fault.starts_with("/dev/zero: more than 64 MiB"), "{fault}");
        file.write_all(b"# two\na,b\n")
            .expect("the test file can be written");
        let options = for_test(&text);
        let patterns: Vec<&str> = options.filter.unmatched().map(|p| p.text()).collect();
        assert_eq!(patterns, ["c", "a", "b"]);
        assert!(for_test("include=none").filter.selects_none());
    }

    #[test]
    fn an_order_may_choose_many_methods() {
        for (text, expected) in [
            ("include=none", true),
            ("include=none,control=true", false),
            ("include=a.B", true),
            ("include=a.B,control=true", true),
            ("include=a.*", false),
        ] {
            assert_eq!(for_test(text).expects_few_methods(), expected, "{text}");
        }
    }
}
