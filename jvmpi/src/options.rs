//! The layer's options: `lib=PATH,virtual=threads,opts=REST`.

use thiserror::Error;

/// The options of one old profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Path of the profiler's library.
    pub(crate) library: String,
    /// The options that the profiler's `JVM_OnLoad` gets. This text may contain commas.
    pub(crate) options: String,
    /// True if the profiler sees virtual threads as threads, false if it sees their carriers.
    pub(crate) virtual_threads: bool,
}

/// The reason why options are refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum OptionsError {
    /// The library is missing.
    #[error(
        "the options name no profiler; give lib=PATH, and behind it opts=… with the profiler's own options"
    )]
    NoLibrary,
    /// A word is none of the options.
    #[error(
        "{0}: unknown option; give lib=PATH,virtual=threads,opts=…, where everything behind opts= is for the profiler"
    )]
    Unknown(String),
    /// A word for `virtual=` is not known.
    #[error("virtual={0}: give virtual=threads or virtual=carriers")]
    Virtual(String),
}

impl Options {
    /// Reads options. `opts=` comes last, because everything behind it belongs to the profiler.
    pub(crate) fn parse(text: &str) -> Result<Self, OptionsError> {
        let mut library = None;
        let mut options = "";
        let mut virtual_threads = false;
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(own) = rest.strip_prefix("opts=") {
                options = own;
                break;
            }
            let (word, after) = rest.split_once(',').unwrap_or((rest, ""));
            match word.split_once('=') {
                Some(("lib", path)) if !path.is_empty() => library = Some(path.to_owned()),
                Some(("lib", _)) => return Err(OptionsError::NoLibrary),
                Some(("virtual", "carriers")) => virtual_threads = false,
                Some(("virtual", "threads")) => virtual_threads = true,
                Some(("virtual", other)) => return Err(OptionsError::Virtual(other.to_owned())),
                _ => return Err(OptionsError::Unknown(word.to_owned())),
            }
            rest = after;
        }
        Ok(Options {
            library: library.ok_or(OptionsError::NoLibrary)?,
            options: options.to_owned(),
            virtual_threads,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_behind_opts_is_the_profilers() {
        let options = Options::parse("lib=./a.so,opts=cpu=samples,lib=b,depth=4").unwrap();
        assert_eq!(options.library, "./a.so");
        assert_eq!(options.options, "cpu=samples,lib=b,depth=4");
        assert_eq!(Options::parse("lib=a").unwrap().options, "");
    }

    #[test]
    fn a_wrong_option_is_named() {
        assert_eq!(Options::parse(""), Err(OptionsError::NoLibrary));
        assert_eq!(Options::parse("opts=a"), Err(OptionsError::NoLibrary));
        assert_eq!(Options::parse("lib=,opts=a"), Err(OptionsError::NoLibrary));
        let unknown = OptionsError::Unknown("file=x".to_owned());
        assert_eq!(Options::parse("lib=a,file=x"), Err(unknown));
        let other = OptionsError::Virtual("yes".to_owned());
        assert_eq!(Options::parse("virtual=yes,lib=a"), Err(other));
    }

    #[test]
    fn virtual_threads_are_shown_as_carriers_by_default() {
        let shown = |text: &str| Options::parse(text).unwrap().virtual_threads;
        assert!(!shown("lib=a") && !shown("lib=a,virtual=carriers"));
        assert!(shown("lib=a,virtual=threads,opts=virtual=carriers"));
    }
}
