//! Reads the profiles that the command line names.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof::{self, ReadError};

use super::paths::word;
use crate::input;

/// The maximum size of a file. An unpacked profile has no more bytes, and a packed one has fewer.
const MOST: u64 = 1 << 30;

/// Reads a profile. If the file is of another kind, the error names that kind.
pub(crate) fn read(file: &Path) -> Result<Profile> {
    let name = || file.display().to_string();
    let mut source = input::open(file, "a profile").with_context(name)?;
    let mut bytes = Vec::new();
    // The first bytes are enough to recognise a heap dump, which can be larger than the memory.
    let head = (&mut source).take(4096).read_to_end(&mut bytes);
    head.with_context(name)?;
    let outcome = loadhook_heap::histogram(&bytes[..]).1;
    if outcome.map_or_else(|error| error.is_truncated(), |()| true) {
        bail!(
            "{}: a heap dump, not a profile; to show it: loadhook heap {}",
            name(),
            word(file)
        );
    }
    // Other files are not read to the end, because a device may be endless.
    if pprof::can_begin(&bytes) {
        let rest = (&mut source).take(MOST).read_to_end(&mut bytes);
        rest.with_context(name)?;
        if bytes.len() as u64 > MOST {
            bail!(
                "{}: more than 1 GiB, too large for a profile; give a .pb.gz file that loadhook run wrote",
                name()
            );
        }
    }
    match pprof::read(&bytes[..]) {
        Err(ReadError::NotPprof) if starts_with(&bytes, b"{") => bail!(
            "{}: JSON, not a profile; give the .pb.gz file that it was made from",
            name()
        ),
        Err(ReadError::NotPprof) if starts_with(&bytes, b"<") => bail!(
            "{}: a page, not a profile; give the .pb.gz file that it was made from",
            name()
        ),
        read => read.with_context(name),
    }
}

/// Returns whether a text begins with `start`, after white space.
fn starts_with(text: &[u8], start: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(start)
}
