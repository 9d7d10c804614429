//! `THREAD START` and `THREAD END`: the lifetime of a thread.

use std::fmt::{self, Display, Formatter};

use super::name::Name;
use super::scan::Scan;

/// The beginning of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadStart {
    /// Identifier of the thread object; 0 if it is unknown.
    pub object: u64,
    /// Serial number of the thread, by which traces refer to it.
    pub serial: u32,
    /// Name of the thread.
    pub name: String,
    /// Name of the thread's group.
    pub group: String,
}

impl ThreadStart {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<ThreadStart> {
        line.literal("THREAD START (obj=")?;
        let object = line.id()?;
        line.literal(", id = ")?;
        let serial = line.number()?;
        line.literal(", name=\"")?;
        let name = line.until_last("\", group=\"")?.to_owned();
        let group = line.until_last("\")")?.to_owned();
        line.end()?;
        Some(ThreadStart {
            object,
            serial,
            name,
            group,
        })
    }
}

impl Display for ThreadStart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, group) = (Name(&self.name), Name(&self.group));
        let (object, serial) = (self.object, self.serial);
        write!(
            f,
            "THREAD START (obj={object:x}, id = {serial}, name=\"{name}\", group=\"{group}\")"
        )
    }
}

/// The end of the thread with this serial number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadEnd(pub u32);

impl ThreadEnd {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<ThreadEnd> {
        line.literal("THREAD END (id = ")?;
        let serial = line.number()?;
        line.literal(")")?;
        line.end()?;
        Some(ThreadEnd(serial))
    }
}

impl Display for ThreadEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "THREAD END (id = {})", self.0)
    }
}
