//! Chooses the detail of HPROF's tables by HPROF's options, and makes the heap dump for HPROF's files.

use std::path::Path;

use loadhook_profile::format::hprof::Detail;
use loadhook_settings::HprofOptions;

use super::assembly::Sources;
use super::file;
use crate::diagnostics;
use crate::heap_dump::HeapFile;
use crate::jvm::jni::Jni;

/// Returns the detail of the tables that the options choose.
pub(super) fn detail(options: &HprofOptions, has_heap: bool) -> Detail {
    Detail {
        depth: usize::try_from(options.depth).unwrap_or(usize::MAX),
        cutoff: options.cutoff.share(),
        by_thread: options.thread,
        lines: options.lineno,
        has_heap,
    }
}

/// Dumps the heap into a file without a name, in the folder of the file `beside`. Gives up when `goes_on` returns
/// false. If an error occurs, reports it and returns `None`.
pub(super) fn heap<'g>(
    sources: &Sources<'_>,
    jni: Jni<'_>,
    beside: &Path,
    is_text: bool,
    goes_on: &'g dyn Fn() -> bool,
) -> Option<HeapFile<'g>> {
    // No collection is requested from a concurrent collector, because its threads stop when the JVM ends, and the
    // request would wait for them for ever.
    if goes_on() && !sources.tracker.reserve.has_concurrent_collector {
        sources.gate.release_during(|| {
            // If this fails, dead objects are counted, too.
            let _ = sources.jvmti.collect_garbage();
        });
    }
    let dumped = file::unnamed(beside)
        .map_err(|error| format!("no heap dump: {error}"))
        .and_then(|file| {
            HeapFile::dump(jni, file, is_text, goes_on).map_err(|error| error.to_string())
        });
    dumped
        .inspect_err(|error| {
            if goes_on() {
                diagnostics::line(error);
            }
        })
        .ok()
}
