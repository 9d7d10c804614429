//! A line of the text format after its header.

use std::fmt::{self, Display, Formatter};

use super::costs::{Cost, CostKind, CostsBegin};
use super::heap::{Array, Class, HeapBegin, Object, Reference, Root};
use super::monitors::{Monitor, MonitorEvent, Owner, ThreadState, Waiters};
use super::sites::{Site, SitesBegin, TITLES};
use super::thread::{ThreadEnd, ThreadStart};
use super::trace::{Frame, NoFrames, TraceHead};

/// A line of the text format. The line that begins a table includes the titles of the table's columns.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Line {
    ThreadStart(ThreadStart),
    ThreadEnd(ThreadEnd),
    Trace(TraceHead),
    Frame(Frame),
    NoFrames(NoFrames),
    HeapBegin(HeapBegin),
    Root(Root),
    Class(Class),
    Object(Object),
    Array(Array),
    Reference(Reference),
    HeapEnd,
    SitesBegin(SitesBegin),
    Site(Site),
    SitesEnd,
    CostsBegin(CostsBegin),
    Cost(Cost),
    CostsEnd(CostKind),
    MonitorsBegin,
    ThreadState(ThreadState),
    Monitor(Monitor),
    Owner(Owner),
    Waiters(Waiters),
    MonitorsEnd,
    MonitorEvent(MonitorEvent),
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Line::ThreadStart(line) => line.fmt(f),
            Line::ThreadEnd(line) => line.fmt(f),
            Line::Trace(line) => line.fmt(f),
            Line::Frame(line) => line.fmt(f),
            Line::NoFrames(line) => line.fmt(f),
            Line::HeapBegin(line) => line.fmt(f),
            Line::Root(line) => line.fmt(f),
            Line::Class(line) => line.fmt(f),
            Line::Object(line) => line.fmt(f),
            Line::Array(line) => line.fmt(f),
            Line::Reference(line) => line.fmt(f),
            Line::HeapEnd => f.write_str(HEAP_END),
            Line::SitesBegin(line) => {
                let [first, second] = TITLES;
                write!(f, "{line}\n{first}\n{second}")
            }
            Line::Site(line) => line.fmt(f),
            Line::SitesEnd => f.write_str(SITES_END),
            Line::CostsBegin(line) => {
                let of = line.kind.of();
                write!(f, "{line}\nrank   self  accum   count trace {of}")
            }
            Line::Cost(line) => line.fmt(f),
            Line::CostsEnd(kind) => write!(f, "{} END", kind.title()),
            Line::MonitorsBegin => f.write_str(MONITORS_BEGIN),
            Line::ThreadState(line) => line.fmt(f),
            Line::Monitor(line) => line.fmt(f),
            Line::Owner(line) => line.fmt(f),
            Line::Waiters(line) => line.fmt(f),
            Line::MonitorsEnd => f.write_str(MONITORS_END),
            Line::MonitorEvent(line) => line.fmt(f),
        }
    }
}

pub(crate) const HEAP_END: &str = "HEAP DUMP END";
pub(crate) const SITES_END: &str = "SITES END";
pub(crate) const MONITORS_BEGIN: &str = "MONITOR DUMP BEGIN";
pub(crate) const MONITORS_END: &str = "MONITOR DUMP END";
