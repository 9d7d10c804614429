//! Strings and arrays that occur more than once.

use std::path::Path;

use anyhow::{Error, Result};
use loadhook_heap::{BYTES_OF_HASHES, Duplicates, ErrorKind};
use loadhook_text::bytes;

use super::super::memory::available_for_views;
use super::super::options::ReportArgs;
use super::super::source::{Source, check_complete};

/// Reads the duplicates of a dump.
pub(in crate::heap) fn read(file: &Path, args: &ReportArgs) -> Result<Duplicates> {
    let source = Source::open(file)?;
    let memory = available_for_views();
    let profiler = args.profiler_objects();
    let read =
        source.several_times(|| Duplicates::read(|| source.again(), args.top, memory, profiler));
    let (found, cut_off) = read.map_err(|error| with_memory(error, memory))?;
    let outcome = cut_off.map_or(Ok(()), Err);
    check_complete(file, args.partial, outcome, &found.histogram)?;
    Ok(found)
}

/// Adds the number of available bytes to the error about hashes that do not fit into memory.
pub(in crate::heap) fn with_memory(error: Error, memory: u64) -> Error {
    match error.downcast_ref::<loadhook_heap::Error>() {
        Some(loadhook_heap::Error {
            kind:
                ErrorKind::TooMany {
                    what: BYTES_OF_HASHES,
                    ..
                },
            ..
        }) => error.context(format!(
            "finding duplicates takes more memory than the {} that are available; free memory, or raise the limit of the process",
            bytes(memory)
        )),
        _ => error,
    }
}

/// Returns the number of values that are not shown.
pub(in crate::heap) fn left_out(found: &Duplicates) -> u64 {
    let all = found.strings.values + found.arrays.values;
    all.saturating_sub(found.worst.len() as u64)
}
