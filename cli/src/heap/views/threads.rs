//! Threads with their stacks.

use std::path::Path;

use anyhow::Result;
use loadhook_heap::{Error, ProfilerObjects, Threads};

use super::super::options::ReportArgs;
use super::super::source::{Source, check_complete};

/// Reads the threads of a dump.
pub(in crate::heap) fn read(file: &Path, args: &ReportArgs) -> Result<Threads> {
    let (found, cut_off) = read_source(&Source::open(file)?, args.profiler_objects())?;
    let outcome = cut_off.map_or(Ok(()), Err);
    check_complete(file, args.partial, outcome, &found.histogram)?;
    Ok(found)
}

/// Reads the threads of a dump that may be cut off.
pub(super) fn read_source(
    source: &Source,
    profiler: ProfilerObjects,
) -> Result<(Threads, Option<Error>)> {
    source.several_times(|| Threads::read(|| source.again(), profiler))
}
