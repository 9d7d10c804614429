//! How much of a dump is kept beside its objects.

use std::io;

use loadhook_hprof::ErrorKind;

/// Bytes of names, classes, roots, stacks and strings that are kept; large programs have a few
/// hundred thousand names in 20 MB.
pub(crate) const MOST_BYTES: u64 = 1 << 30;

/// Whether there is room is asked each time after so many bytes.
const CHECKED: u64 = 4 << 20;

/// What one more entry of a table takes, about.
pub(crate) const ENTRY: u64 = 48;

/// What is kept, in bytes, about.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    bytes: u64,
    /// Up to where it is known that there is room for it.
    room_for: u64,
    most: u64,
}

impl Kept {
    /// Nothing so far, of so many bytes at most.
    pub(crate) fn new(most: u64) -> Kept {
        Kept {
            bytes: 0,
            room_for: CHECKED,
            most,
        }
    }

    /// Keeps so many bytes more.
    pub(crate) fn keep(&mut self, more: u64) -> Result<(), ErrorKind> {
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > self.most {
            let what = "bytes of names, classes, roots, stacks and strings";
            let most = self.most;
            return Err(ErrorKind::TooMany { what, most });
        }
        if self.bytes > self.room_for {
            self.room_for = self.bytes + (self.bytes / 8).max(CHECKED);
            has_room(self.room_for)?;
        }
        Ok(())
    }
}

/// Whether there is room for as much again, for tables that double, and what is made
/// of all that is kept. Where a process may have no more (`ulimit -v`), an allocation
/// that fails later would end it.
fn has_room(bytes: u64) -> Result<(), ErrorKind> {
    let reserved = Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
    reserved.map_err(|_| {
        let kind = io::ErrorKind::OutOfMemory;
        let text = "there is no memory for names, classes, roots, stacks and strings";
        ErrorKind::Io(io::Error::new(kind, text))
    })
}
