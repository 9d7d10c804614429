//! Options for a dump file.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use loadhook_heap::ProfilerObjects;

use super::memory::available_for_views;
use super::render::text::shown;
use crate::output::is_one_file;

/// Default number of rows of a table.
const TOP: usize = 20;

/// Options for a dump file.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Maximum number of rows. With --threads it also limits the frames of each thread, and the
    /// variables of each frame; with --path it limits the objects of the path
    #[arg(long, value_name = "N", default_value_t = TOP)]
    pub(super) top: usize,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,

    /// Order of the classes: by the bytes of their objects, or by retained size
    #[arg(long, value_enum, default_value_t = By::Bytes)]
    pub(super) by: By,

    /// Show the objects with the largest retained size, instead of classes
    #[arg(long, conflicts_with_all = ["by", "path"])]
    pub(super) biggest: bool,

    /// Show the path from an object to its nearest GC root. ID is the object's
    /// identifier, for example 0x7f00; CLASS stands for the first reachable object
    /// of that class, and 'class NAME' for the class itself
    #[arg(long, value_name = "ID|CLASS", conflicts_with = "by")]
    pub(super) path: Option<String>,

    /// Show strings and arrays that occur more than once, those that waste most bytes first
    #[arg(long, conflicts_with_all = ["by", "biggest", "path"])]
    pub(super) duplicates: bool,

    /// Show threads with their stacks, and the objects that local variables refer to
    #[arg(long, conflicts_with_all = ["by", "biggest", "path", "duplicates"])]
    pub(super) threads: bool,

    /// Show what changed from FILE to the dump LATER, class by class
    #[arg(long, value_name = "LATER",
        conflicts_with_all = ["by", "biggest", "path", "duplicates", "threads"])]
    pub(super) diff: Option<PathBuf>,

    /// Also show the profiler's own objects, which are left out otherwise. With a process id: also
    /// dump unreachable objects, instead of collecting garbage before the dump
    #[arg(long, help_heading = "Options")]
    pub(super) all: bool,

    /// Show the readable part of a dump that is cut off
    #[arg(long)]
    pub(super) partial: bool,
}

/// Order of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    Bytes,
    Retained,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Table,
    Json,
    /// One page with all views, for a browser
    Html,
}

impl ReportArgs {
    /// Returns whether the options select another view than the histogram of one dump.
    fn has_view(&self) -> bool {
        self.by != By::Bytes
            || self.biggest
            || self.path.is_some()
            || self.duplicates
            || self.threads
    }

    /// Returns whether an option is given that applies only to dump files.
    pub(super) fn is_given(&self) -> bool {
        self.has_view()
            || self.diff.is_some()
            || self.format != Format::Table
            || self.top != TOP
            || self.partial
    }

    /// Refuses options that would have no effect, and an output that would replace a dump.
    pub(super) fn check(&self, file: &Path, output: Option<&Path>) -> Result<()> {
        if self.format == Format::Html && (self.has_view() || self.top != TOP) {
            bail!(
                "--format html shows all views of a dump; the only other options it takes are --diff, --all, --partial and -o"
            );
        }
        let mut dumps = [Some(file), self.diff.as_deref()].into_iter().flatten();
        match output.filter(|output| dumps.any(|dump| is_one_file(dump, output))) {
            Some(output) => bail!(
                "{}: the output would replace the dump; give -o another name",
                shown(output)
            ),
            None => Ok(()),
        }
    }

    /// Returns the treatment of the profiler's own objects in a view that needs no graph.
    pub(super) fn profiler_objects(&self) -> ProfilerObjects<'static> {
        if self.all {
            ProfilerObjects::Shown
        } else {
            ProfilerObjects::LeftOut(available_for_views())
        }
    }
}
