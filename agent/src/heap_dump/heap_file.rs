//! A heap dump in a temporary file. Its content is then added to HPROF's file.

use std::fs::File;
use std::io::{self, Read, Seek};

use loadhook_hprof::ErrorKind;
use loadhook_hprof::text::{self, Line};
use loadhook_text::{bytes, count};
use thiserror::Error;

use super::cancellable::Cancellable;
use super::fault::Fault;
use super::memory;
use super::run::{self, TAG_BYTES};
use super::tags::END_OF_OBJECTS;
use crate::jvm::jni::Jni;
use crate::jvm::vm::new_environment;

/// Bytes that [`HeapFile::lines`] takes for each object: 8, and 8 more while the list of objects grows.
const LINES_BYTES: u64 = 16;

/// The reason why the heap was not dumped.
#[derive(Debug, Error)]
pub(crate) enum NoHeap {
    /// The dump would need too much memory.
    #[error(
        "no heap dump: marking {} objects would take {}, more than half of the free memory; \
         loadhook heap PID dumps the heap without marks",
        count(*objects),
        bytes(*marks)
    )]
    TooManyObjects {
        /// Number of objects.
        objects: u64,
        /// Memory for the marks, in bytes.
        marks: u64,
    },
    /// The disk has no room for the dump.
    #[error(
        "no heap dump: {0}; free more space in the folder of HPROF's file, or choose another one by file="
    )]
    NoRoom(io::Error),
    /// The dump failed.
    #[error("no heap dump: {0}")]
    Fault(#[from] Fault),
    /// The dump cannot be added to HPROF's file.
    #[error(
        "no heap dump: {error}; the dump needs about {} of free space in the folder of HPROF's file",
        bytes(*needed)
    )]
    NotAdded {
        /// The error.
        error: io::Error,
        /// Bytes that the dump and its copy in HPROF's file take together.
        needed: u64,
    },
}

/// A dump of the heap.
pub(crate) struct HeapFile<'g> {
    file: File,
    is_text: bool,
    goes_on: &'g dyn Fn() -> bool,
}

impl<'g> HeapFile<'g> {
    /// Dumps the reachable objects into an empty file. Gives up when `goes_on` returns false. `is_text` is true if the
    /// [`lines`](Self::lines) of the dump will be needed.
    pub(crate) fn dump(
        jni: Jni<'_>,
        file: File,
        is_text: bool,
        goes_on: &'g dyn Fn() -> bool,
    ) -> Result<HeapFile<'g>, NoHeap> {
        let heap = HeapFile {
            file,
            is_text,
            goes_on,
        };
        heap.cancellable().check().map_err(Fault::Io)?;
        let objects = run::count_objects(new_environment)?;
        let marks = objects * (TAG_BYTES + if is_text { LINES_BYTES } else { 0 });
        if marks > memory::free() / 2 {
            return Err(NoHeap::TooManyObjects { objects, marks });
        }
        run::dump_into(heap.cancellable(), jni, new_environment).map_err(|fault| match fault {
            Fault::Io(error) if is_full(&error) => NoHeap::NoRoom(error),
            fault => fault.into(),
        })?;
        Ok(heap)
    }

    fn cancellable(&self) -> Cancellable<'_> {
        Cancellable {
            file: &self.file,
            goes_on: self.goes_on,
        }
    }

    /// Reads the dump from its beginning. Only one reader may be in use.
    pub(crate) fn open(&self) -> io::Result<impl Read> {
        (&self.file).rewind()?;
        Ok(self.cancellable())
    }

    /// Passes each line of the dump in HPROF's text format to a function.
    pub(crate) fn lines(
        &self,
        date: &str,
        line: impl FnMut(&Line) -> io::Result<()>,
    ) -> io::Result<()> {
        let lines = text::heap_lines(|| self.open(), END_OF_OBJECTS, date, line);
        lines.map_err(|error| match error.kind {
            // The error's place in the dump is left out, because it means nothing to the user.
            ErrorKind::Io(error) => error,
            _ => io::Error::other(error),
        })
    }

    /// Returns the reason, for the user, why the dump was not added to HPROF's file. Closes the dump's own file, which
    /// has no name and so is gone then.
    pub(crate) fn not_added(self, error: io::Error) -> NoHeap {
        let length = self.file.metadata().map_or(0, |found| found.len());
        // The text of small objects takes 2.3 times as much as the dump.
        let copies = if self.is_text { 4 } else { 2 };
        NoHeap::NotAdded {
            error,
            needed: length.saturating_mul(copies),
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull)
}
