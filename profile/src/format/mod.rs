//! The formats a profile is written in, one module each.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use crate::allocated;
use crate::measure::Measure;
use crate::model::{Method, Profile};

pub(crate) mod chrome;
pub(crate) mod collapsed;
pub(crate) mod columns;
mod explained;
mod hprof;
mod html;
pub(crate) mod json;
pub mod pprof;
mod protobuf;
pub(crate) mod sites;
pub(crate) mod speedscope;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod units;

pub use html::{differences as difference_page, fill as fill_page};

/// Notes that are written where not all are asked for.
const FEW_NOTES: usize = 10;

/// Why there is no picture of allocations.
const NO_BYTES: &str = "trace events have times only, no bytes; \
    use --format speedscope or html for allocations";

/// Which part of a profile to write, and in what order.
pub struct Options<'a> {
    /// What to weigh by; `None` for what the profile was made for, and tables of all that it tells.
    pub measure: Option<Measure>,
    /// The order of method tables.
    pub sort: Sort,
    /// At most this many methods in a table, or nodes in a tree; `None` for all.
    pub top: Option<usize>,
    /// Keep only what runs in a method for which this is true, and the way there.
    pub focus: Option<&'a dyn Fn(&Method) -> bool>,
    /// Keep only the threads whose name this accepts.
    pub thread: Option<&'a dyn Fn(&str) -> bool>,
    /// Columns of text to fill; names get at least 30, whatever this says.
    pub width: usize,
    /// Leave branches of the text tree out that are below this share of the
    /// whole, in percent.
    pub min_percent: f64,
    /// Which methods were not instrumented, below a table, and all notes however many.
    pub explain: Explain,
    /// Write rows that are mostly error in grey: for a terminal.
    pub grey: bool,
}

/// How much to say about the methods that were not instrumented, if the profile names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Explain {
    /// Only their number.
    #[default]
    No,
    /// The classes that have most of them, with a number for each reason.
    Classes,
    /// Each method.
    Methods,
}

impl Default for Options<'_> {
    /// Everything, by self time, 100 columns, branches from 0.5 %.
    fn default() -> Self {
        Options {
            measure: None,
            sort: Sort::SelfTime,
            top: None,
            focus: None,
            thread: None,
            width: 100,
            min_percent: 0.5,
            explain: Explain::No,
            grey: false,
        }
    }
}

/// The order of a method table; numbers sort downwards. Allocations by place sort by bytes, unless
/// objects or names are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// `self`, or `bytes`, which take its place
    #[default]
    SelfTime,
    /// `total`
    Total,
    /// `calls`, or `objects`, which take their place
    Calls,
    /// `mean`
    Mean,
    /// `name`
    Name,
}

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text: one line a method.
    Table,
    /// Text: the calling-context tree of all threads together.
    Tree,
    /// Folded stacks, `a;b;c nanoseconds` a line, as `flamegraph.pl` reads.
    Collapsed,
    /// Gzipped pprof protobuf. It holds the whole profile: options do not apply.
    Pprof,
    /// Our own JSON, version 1: see `docs/user/formats.md`.
    Json,
    /// One self-contained page.
    Html,
    /// For <https://www.speedscope.app>.
    Speedscope,
    /// Trace events, for `chrome://tracing` and Perfetto; of allocations there are none.
    Chrome,
    /// HPROF's text of allocation sites; of a profile without allocations there are none.
    Hprof,
}

/// A word that names none of the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    word: String,
    choices: Vec<&'static str>,
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

    /// The format's name in options.
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
    /// Those of `out`, and [`io::ErrorKind::Unsupported`] of what the format has no place for:
    /// allocations as trace events.
    pub fn write(
        self,
        profile: &Profile,
        options: &Options<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let wanted = options;
        let measure = wanted.measure.unwrap_or(Measure::of(profile));
        let weighed;
        let profile = match (self, measure) {
            (_, Measure::Time) => profile,
            (Format::Chrome, _) => {
                return Err(io::Error::new(io::ErrorKind::Unsupported, NO_BYTES));
            }
            // They tell several, or all.
            (Format::Table | Format::Pprof | Format::Json | Format::Html | Format::Hprof, _) => {
                profile
            }
            _ => {
                weighed = allocated::as_calls(profile, measure);
                &weighed
            }
        };
        let options = &Options {
            measure: Some(measure),
            ..*wanted
        };
        match self {
            Format::Table => {
                tables(profile, wanted, out)?;
                explained::write(&profile.header, wanted, out)
            }
            Format::Tree => tree::write(profile, options, out),
            Format::Collapsed => collapsed::write(profile, options, out),
            Format::Pprof => pprof::write(profile, out),
            Format::Json => json::write(profile, options, out),
            Format::Html => html::write(profile, wanted, out),
            Format::Speedscope => speedscope::write(profile, options, out),
            Format::Chrome => chrome::write(profile, options, out),
            Format::Hprof => hprof::write(profile, options, out),
        }
    }
}

/// The tables of what is wanted, or of all that the profile tells.
fn tables(profile: &Profile, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or(Measure::of(profile));
    let Some(allocations) = &profile.allocations else {
        return table::write(profile, options, out);
    };
    let has_times = measure == Measure::Time;
    if has_times {
        table::write(profile, options, out)?;
        if options.measure.is_some() {
            return Ok(());
        }
        writeln!(out)?;
    } else {
        table::program(profile, options, out)?;
    }
    let measure = match options.measure {
        Some(measure) => measure,
        None if allocations.live => Measure::Live,
        None => Measure::Allocated,
    };
    sites::write(profile, allocations, measure, options, out)?;
    match has_times {
        true => Ok(()),
        false => table::remarks(
            &profile.header,
            [false; 4],
            options.explain != Explain::No,
            out,
        ),
    }
}

impl Sort {
    /// All orders.
    pub const ALL: [Sort; 5] = [
        Sort::SelfTime,
        Sort::Total,
        Sort::Calls,
        Sort::Mean,
        Sort::Name,
    ];

    /// The order's name in options.
    pub fn as_str(self) -> &'static str {
        match self {
            Sort::SelfTime => "self",
            Sort::Total => "total",
            Sort::Calls => "calls",
            Sort::Mean => "mean",
            Sort::Name => "name",
        }
    }
}

impl FromStr for Measure {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Measure, UnknownWord> {
        choose(word, &Measure::ALL, Measure::as_str)
    }
}

impl FromStr for Format {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Format, UnknownWord> {
        choose(word, &Format::ALL, Format::as_str)
    }
}

impl FromStr for Sort {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Sort, UnknownWord> {
        match word {
            "bytes" => Ok(Sort::SelfTime),
            "objects" => Ok(Sort::Calls),
            _ => choose(word, &Sort::ALL, Sort::as_str).map_err(|mut unknown| {
                unknown.choices.extend(["bytes", "objects"]);
                unknown
            }),
        }
    }
}

fn choose<T: Copy>(word: &str, all: &[T], as_str: fn(T) -> &'static str) -> Result<T, UnknownWord> {
    let found = all.iter().find(|choice| as_str(**choice) == word);
    found.copied().ok_or_else(|| UnknownWord {
        word: word.to_owned(),
        choices: all.iter().map(|choice| as_str(*choice)).collect(),
    })
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices = self.choices.join(", ");
        write!(f, "unknown word `{}`; expected one of {choices}", self.word)
    }
}

impl std::error::Error for UnknownWord {}
