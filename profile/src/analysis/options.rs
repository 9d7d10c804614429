//! The part of a profile that a report shows, and in what order.

use super::measure::Measure;
use crate::model::Method;

/// The part of a profile to write, and its order.
pub struct Options<'a> {
    /// The measure to show; `None` for the one that the profile was made for, and in tables for all
    /// that it has.
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
    /// List the methods that were not instrumented below a table, and all notes.
    pub explain: Explain,
    /// Write rows that are mostly error in grey: for a terminal.
    pub grey: bool,
}

/// The list of methods that were not instrumented, if the profile names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Explain {
    /// Only the number of methods.
    #[default]
    No,
    /// The classes with most of the methods, and the number of methods for each reason.
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
