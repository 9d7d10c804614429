//! Target for the reader of `loadhook hprof` and for the writer of a heap dump's text: neither panics on any bytes.

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
    // An object with its contents may be longer than the reader's buffer. That is an error, not a panic.
    assert!(written.is_err() || dump.is_ok());
}
