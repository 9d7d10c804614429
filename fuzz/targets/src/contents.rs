//! The target of `loadhook hprof` and of the text of heap dumps: they read any bytes without a panic.

use loadhook_hprof::contents::Contents;
use loadhook_hprof::{Visitor, read, text};

struct Nothing;

impl Visitor for Nothing {}

/// Reads `data` as a file of HPROF, and writes it as text if it is a dump.
pub(crate) fn contents(data: &[u8]) {
    let error = Contents::read(data).error;
    let dump = read(data, &mut Nothing);
    if dump.is_ok() {
        assert!(error.is_none(), "a dump cannot be read: {error:?}");
    }
    let written = text::heap_lines(
        || Ok(data),
        u64::MAX,
        "now",
        |line| {
            assert!(!line.to_string().is_empty());
            Ok(())
        },
    );
    // An object with its contents may be too long for the reader's buffer.
    assert!(written.is_err() || dump.is_ok());
}
