//! A dump of the heap in a file of its own, which is added to a file of HPROF and then removed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use loadhook_hprof::text::{self, Line};
use loadhook_text::{bytes, count};
use thiserror::Error;

use super::fault::Fault;
use super::run::{self, TAG_BYTES};
use super::tags::END_OF_OBJECTS;
use crate::jvm::jni::Jni;
use crate::jvm::vm::new_environment;

/// The reason why the heap was not dumped.
#[derive(Debug, Error)]
pub(crate) enum NoHeap {
    /// The JVM would need much memory for the dump.
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
    /// The dump failed.
    #[error("no heap dump: {0}")]
    Fault(#[from] Fault),
}

/// A dump of the heap. The file is removed when this is dropped.
pub(crate) struct HeapFile(PathBuf);

impl HeapFile {
    /// Dumps the heap into a file beside another one. If the other one is a device, the file is in the folder for
    /// temporary files. If `collects`, the heap is collected first; the dump has the objects that can be reached in
    /// either case.
    pub(crate) fn dump(jni: Jni<'_>, beside: &Path, collects: bool) -> Result<HeapFile, NoHeap> {
        let objects = run::count_objects(new_environment, collects)?;
        let marks = objects * TAG_BYTES;
        if marks > free_memory() / 2 {
            return Err(NoHeap::TooManyObjects { objects, marks });
        }
        let path = path_beside(beside);
        let file = run::create(&path).map_err(Fault::Io)?;
        let heap = HeapFile(path);
        run::dump_into(&file, jni, new_environment)?;
        Ok(heap)
    }

    /// Opens the dump.
    pub(crate) fn open(&self) -> io::Result<File> {
        File::open(&self.0)
    }

    /// Passes the lines of the dump in HPROF's text.
    pub(crate) fn lines(
        &self,
        date: &str,
        line: impl FnMut(&Line) -> io::Result<()>,
    ) -> io::Result<()> {
        let lines = text::heap_lines(|| self.open(), END_OF_OBJECTS, date, line);
        lines.map_err(io::Error::other)
    }
}

impl Drop for HeapFile {
    fn drop(&mut self) {
        // A file that cannot be removed does no harm to the program.
        let _ = fs::remove_file(&self.0);
    }
}

fn path_beside(file: &Path) -> PathBuf {
    let suffix = format!(".heap-{}", std::process::id());
    // `/dev` has no room for a dump.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        return std::env::temp_dir().join(format!("loadhook{suffix}"));
    }
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The memory that the machine can give without swapping, in bytes; all if that is unknown.
fn free_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = value.and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or(u64::MAX, |kilobytes| kilobytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_dump_is_beside_a_device() {
        let beside = path_beside(Path::new("/tmp/no/such/java.hprof.txt"));
        assert_eq!(beside.parent(), Some(Path::new("/tmp/no/such")));
        let temporary = path_beside(Path::new("/dev/null"));
        assert_eq!(temporary.parent(), Some(std::env::temp_dir().as_path()));
    }
}
