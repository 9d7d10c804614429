//! The options of a report: which part of the profile the report shows, and in which order.

use super::measure::Measure;
use crate::model::Method;

/// The part of a profile to show, and its order.
pub struct Options<'a> {
    /// The measure to show. `None` stands for the profile's default measure, and in tables for all
    /// its measures.
    pub measure: Option<Measure>,
    /// The order of method tables.
    pub sort: Sort,
    /// The maximum number of methods in a table, or of nodes in a tree; `None` for all.
    pub top: Option<usize>,
    /// Keeps only the methods that this function accepts, their callees, and the
    /// path to them.
    pub focus: Option<&'a dyn Fn(&Method) -> bool>,
    /// Keeps only the threads whose names this function accepts.
    pub thread: Option<&'a dyn Fn(&str) -> bool>,
    /// The width of text in columns. Names get at least 30 columns, even if lines become wider than that.
    pub width: usize,
    /// Leaves out branches of the text tree that are below this share of the whole, in percent.
    pub min_percent: f64,
    /// Lists, below a table, all notes and the methods that were not instrumented.
    pub explain: Explain,
    /// Writes rows whose self times are mostly error in grey, for a terminal.
    pub grey: bool,
}

/// The form in which a report lists the methods that were not instrumented, if the profile names them.
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
    /// Returns options for all methods by self time, 100 columns, and branches from 0.5 % on.
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

/// The order of a method table. Numbers are sorted from the largest to the
/// smallest. Tables of allocations are sorted by bytes, unless objects or names
/// are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By self time (`self`); allocations by bytes (`bytes`).
    #[default]
    SelfTime,
    /// By total time (`total`).
    Total,
    /// By calls (`calls`); allocations by objects (`objects`).
    Calls,
    /// By mean time of a call (`mean`).
    Mean,
    /// By the duration that 99 % of the calls do not exceed (`p99`).
    P99,
    /// By name (`name`).
    Name,
}

impl Sort {
    /// All orders.
    pub const ALL: [Sort; 6] = [
        Sort::SelfTime,
        Sort::Total,
        Sort::Calls,
        Sort::Mean,
        Sort::P99,
        Sort::Name,
    ];

    /// Returns the order's name in options.
    pub fn as_str(self) -> &'static str {
        match self {
            Sort::SelfTime => "self",
            Sort::Total => "total",
            Sort::Calls => "calls",
            Sort::Mean => "mean",
            Sort::P99 => "p99",
            Sort::Name => "name",
        }
    }
}
