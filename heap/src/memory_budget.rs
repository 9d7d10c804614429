//! The limit on memory for everything but the objects of a dump.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use loadhook_hprof::ErrorKind;

/// Maximum number of bytes of names, classes, roots, stacks and strings. Large programs have a few
/// hundred thousand names in 20 MB.
pub(crate) const MOST_BYTES: u64 = 1 << 30;

/// Number of bytes taken from the budget between two checks that the process can allocate as much memory again.
const CHECKED: u64 = 4 << 20;

/// Estimated bytes of one table entry.
pub(crate) const ENTRY: u64 = 48;

/// Estimated memory of everything except the objects, and the limit of this memory, both in bytes.
#[derive(Clone, Copy)]
pub(crate) struct MemoryBudget {
    bytes: u64,
    /// The number of bytes that the process is known to be able to allocate.
    room_for: u64,
    most: u64,
}

impl MemoryBudget {
    /// Returns a budget of `most` bytes.
    pub(crate) fn new(most: u64) -> MemoryBudget {
        MemoryBudget {
            bytes: 0,
            room_for: CHECKED,
            most,
        }
    }

    /// Takes `more` bytes of the budget.
    pub(crate) fn reserve(&mut self, more: u64) -> Result<(), ErrorKind> {
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > self.most {
            let what = "bytes of names, classes, roots, stacks and strings";
            let most = self.most;
            return Err(ErrorKind::TooMany { what, most });
        }
        if self.bytes > self.room_for {
            self.room_for = self.bytes + (self.bytes / 8).max(CHECKED);
            check_room(self.room_for)?;
        }
        Ok(())
    }
}

/// One budget that several readers of the same pass share.
#[derive(Clone)]
pub(crate) struct SharedBudget(Rc<RefCell<MemoryBudget>>);

impl SharedBudget {
    pub(crate) fn new(budget: MemoryBudget) -> SharedBudget {
        SharedBudget(Rc::new(RefCell::new(budget)))
    }

    /// Takes `more` bytes of the budget.
    pub(crate) fn reserve(&self, more: u64) -> Result<(), ErrorKind> {
        self.0.borrow_mut().reserve(more)
    }
}

/// Checks that the process can allocate `bytes` more, which a table needs when it doubles or is
/// copied. Under a limit (`ulimit -v`), an allocation that fails later would abort the process.
fn check_room(bytes: u64) -> Result<(), ErrorKind> {
    let reserved = Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
    reserved.map_err(|_| {
        let kind = io::ErrorKind::OutOfMemory;
        let text = "no memory is left for names, classes, roots, stacks and strings; \
                    raise the memory limit of the process (ulimit -v)";
        ErrorKind::Io(io::Error::new(kind, text))
    })
}
