//! Copies contents of any length.

use std::io::{self, Read, Write};

/// Does the same as [`io::copy`], in larger pieces.
pub(super) fn copy(mut from: impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut piece = vec![0; 1 << 18];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            len => to.write_all(&piece[..len])?,
        }
    }
}
