//! The layer's options: `lib=PATH,opts=REST`.

use thiserror::Error;

/// The options of one old profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Path of the profiler's library.
    pub(crate) library: String,
    /// The options that the profiler's `JVM_OnLoad` gets. This text may contain commas.
    pub(crate) options: String,
}

/// The reason why options are refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum OptionsError {
    /// The library is missing.
    #[error(
        "the options name no profiler; give lib=PATH, and behind it opts=… with the profiler's own options"
    )]
    NoLibrary,
    /// A word is neither `lib` nor `opts`.
    #[error(
        "{0}: unknown option; give lib=PATH,opts=…, where everything behind opts= is for the profiler"
    )]
    Unknown(String),
    /// Virtual threads cannot be shown as threads.
    #[error(
        "virtual=threads is not supported; leave it out, and virtual threads appear as their carrier threads"
    )]
    VirtualThreads,
}

impl Options {
    /// Reads options. `opts=` comes last, because everything behind it belongs to the profiler.
    pub(crate) fn parse(text: &str) -> Result<Self, OptionsError> {
        let mut library = None;
        let mut options = "";
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
                Some(("virtual", "carriers")) => {}
                Some(("virtual", "threads")) => return Err(OptionsError::VirtualThreads),
                _ => return Err(OptionsError::Unknown(word.to_owned())),
            }
            rest = after;
        }
        Ok(Options {
            library: library.ok_or(OptionsError::NoLibrary)?,
            options: options.to_owned(),
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
    }
}
