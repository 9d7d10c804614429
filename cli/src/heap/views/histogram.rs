//! The number of objects of each class.

use std::path::Path;

use anyhow::{Context, Result};
use loadhook_heap::Histogram;

use super::super::options::ReportArgs;
use super::super::render::text::shown;
use super::super::source::{Source, check_complete};
use super::retained::read_graph;
use crate::output::say;

/// Reads the histogram of a dump, which may be a pipe.
pub(in crate::heap) fn read(file: &Path, args: &ReportArgs) -> Result<Histogram> {
    let source = Source::open(file)?;
    let count = if args.all {
        loadhook_heap::histogram
    } else {
        loadhook_heap::histogram_without_tracker
    };
    let (histogram, outcome) = count(&source.file);
    if !args.partial {
        source.check_unchanged()?;
    }
    let is_complete = outcome.is_ok();
    check_complete(file, args.partial, outcome, &histogram)?;
    if histogram.left_out.instances == 0 || !is_complete {
        return Ok(histogram);
    }
    if !source.is_file() {
        say!(
            "warning: {}: not a regular file, so only objects of the profiler's own classes are left out; \
         other objects that the profiler holds are counted as the program's. Save the dump to a file to leave them out",
            shown(file)
        );
        return Ok(histogram);
    }
    // The dump has classes of the tracker. The graph shows which objects only these classes keep alive.
    let graph = read_graph(&source, args);
    let (graph, _) = graph
        .context("cannot find the profiler's objects to leave them out; add --all to show them")?;
    Ok(graph.histogram)
}
