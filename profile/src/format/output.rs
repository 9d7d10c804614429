//! The choice of a format by its name.

use std::io::{self, Write};

use loadhook_text::JsonWriter;

use super::{chrome, collapsed, hprof, html, json, pprof, speedscope, table, tree};
use crate::analysis::measure::Measure;
use crate::analysis::options::Options;
use crate::model::Profile;

/// The reason why trace events cannot show allocations and locks.
const ONLY_TIMES: &str = "trace events have times of calls only; \
    use --format speedscope or html for allocations and locks";

/// A format in which a profile can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text: one line a method.
    Table,
    /// Text: the calling-context tree of all threads together.
    Tree,
    /// Folded stacks: one line `a;b;c nanoseconds` for each stack, as
    /// `flamegraph.pl` reads them.
    Collapsed,
    /// Gzipped pprof protobuf. It holds the whole profile, so options have no effect.
    Pprof,
    /// Our own JSON, version 2: see `docs/user/formats.md`.
    Json,
    /// One self-contained page.
    Html,
    /// The file format of <https://www.speedscope.app>.
    Speedscope,
    /// Trace events, for `chrome://tracing` and Perfetto; they cannot show allocations and locks.
    Chrome,
    /// HPROF's text: samples or times by trace, and allocation sites.
    Hprof,
}

impl Format {
    /// All formats, in the order of the documentation.
    pub const ALL: [Format; 9] = [
        Format::Table,
        Format::Tree,
        Format::Collapsed,
        Format::Pprof,
        Format::Json,
        Format::Html,
        Format::Speedscope,
        Format::Chrome,
        Format::Hprof,
    ];

    /// Returns the format's name in options.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Tree => "tree",
            Format::Collapsed => "collapsed",
            Format::Pprof => "pprof",
            Format::Json => "json",
            Format::Html => "html",
            Format::Speedscope => "speedscope",
            Format::Chrome => "chrome",
            Format::Hprof => "hprof",
        }
    }

    /// Writes `profile`. Give a buffered writer.
    ///
    /// # Errors
    ///
    /// Fails if writing to `out` fails. Fails with [`io::ErrorKind::Unsupported`] if allocations
    /// or locks are to be written as trace events, which cannot show them.
    pub fn write(
        self,
        profile: &Profile,
        options: &Options<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let wanted = options;
        let measure = wanted.measure.unwrap_or(Measure::of(profile));
        if self == Format::Chrome && measure != Measure::Time {
            return Err(io::Error::new(io::ErrorKind::Unsupported, ONLY_TIMES));
        }
        let options = &Options {
            measure: Some(measure),
            ..*wanted
        };
        match self {
            Format::Table => table::write(profile, wanted, out),
            Format::Tree => tree::write(profile, options, out),
            Format::Collapsed => collapsed::write(profile, options, out),
            Format::Pprof => pprof::write(profile, out),
            Format::Json => json::write(profile, options, &mut JsonWriter(out)),
            Format::Html => html::write(profile, wanted, out),
            Format::Speedscope => speedscope::write(profile, options, &mut JsonWriter(out)),
            Format::Chrome => chrome::write(profile, options, &mut JsonWriter(out)),
            Format::Hprof => hprof::write(profile, &hprof::Detail::default(), options, out),
        }
    }
}
