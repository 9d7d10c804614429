//! The arguments of `loadhook report`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use loadhook_profile::Measure;
use loadhook_profile::format::{Format, Sort, UnknownWord};

/// Arguments of `loadhook report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Profiles that loadhook run has written: loadhook-PID.pb.gz
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,

    /// For --diff with several runs of each side: the profiles after the change;
    /// the profiles before the change stand in front of the --
    #[arg(last = true, value_name = "AFTER")]
    pub(super) after: Vec<PathBuf>,

    /// Output format: table, tree, collapsed, pprof, json, html, speedscope,
    /// chrome or hprof
    #[arg(long, default_value = "table")]
    pub(super) format: Format,

    /// Measure to show: time, allocated (bytes), live (bytes still alive) or
    /// contention (time of waiting for locks)
    /// [default: all measures of the profile in a table, the first of them in other formats]
    #[arg(long, value_name = "MEASURE")]
    pub(super) show: Option<Measure>,

    /// Sort methods by self, total, calls, mean, p99 or name [default: self];
    /// allocations by bytes, objects or name [default: bytes]
    #[arg(long)]
    pub(super) sort: Option<SortWord>,

    /// Show at most N rows of a table, or N nodes of a tree, also of the call tree
    /// in a page [default: all]
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,

    /// Show only the methods that match, the calls that lead to these methods, and the calls that
    /// these methods make, for example com.example.** or com.example.Service::handle*
    #[arg(long, value_name = "PATTERNS")]
    pub(super) focus: Vec<String>,

    /// Show only the threads whose name contains NAME. Ended threads are grouped
    /// and named with # for any number: worker-3 is in the group worker-#
    #[arg(long, value_name = "NAME")]
    pub(super) thread: Option<String>,

    /// Sum several profiles: --merge A B…
    #[arg(long)]
    pub(super) merge: bool,

    /// Compare two profiles, --diff A B, or several runs of each side, to tell change from noise:
    /// --diff A1 A2 A3… -- B1 B2 B3…. Writes a table, json or html. Compares the measure of --show
    /// [default: the first measure that all profiles have]
    #[arg(long, conflicts_with = "merge")]
    pub(super) diff: bool,

    /// Show where threads waited, and for what, instead of where they ran. Needs
    /// a profile of run --timing sampled
    #[arg(long, conflicts_with_all = ["diff", "sort", "explain", "show"])]
    pub(super) waiting: bool,

    /// Show how long calls take, instead of the time of methods: the durations that 50, 90, 99 and
    /// 99.9 % of a method's calls do not exceed, and the longest. Needs a profile of run
    /// --latencies
    #[arg(long, conflicts_with_all = ["diff", "waiting", "explain", "show"])]
    pub(super) latencies: bool,

    /// Write to this file instead of standard output; missing folders are created
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// Show which classes have methods that were not instrumented, and why. With
    /// -o FILE, list each method. Needs a profile of run --explain
    #[arg(long)]
    pub(super) explain: bool,
}

impl ReportArgs {
    /// Returns the profiles before and after the change.
    pub(super) fn all_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(&self.after)
    }
}

/// An order of `--sort`, and the word for it. `bytes` and `self` are the same order, but only
/// allocations have bytes.
#[derive(Clone, Debug)]
pub(super) struct SortWord {
    pub(super) word: String,
    pub(super) sort: Sort,
}

impl FromStr for SortWord {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<SortWord, UnknownWord> {
        let sort = word.parse()?;
        let word = word.to_owned();
        Ok(SortWord { word, sort })
    }
}
