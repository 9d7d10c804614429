//! Passes over a dump.

use std::io::{self, Read};

use loadhook_hprof::{Error, ErrorKind, Visitor, read_available};

/// The result of reading a dump or of using its graph.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Opens a dump and reads it. Returns the number of bytes read, and if the dump is cut off, the error.
pub(crate) fn pass<R: Read>(
    open: &impl Fn() -> io::Result<R>,
    visitor: &mut impl Visitor,
) -> Result<(u64, Option<Error>)> {
    let source = open().map_err(|error| Error {
        kind: ErrorKind::Io(error),
        at: 0,
    })?;
    read_available(source, visitor)
}
