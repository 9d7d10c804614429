//! `CPU SAMPLES`, `CPU TIME (ms)`, `MONITOR TIME` and `PARK TIME`: traces in the order of their costs.

use std::fmt::{self, Display, Formatter};

use super::name::Name;
use super::scan::Scan;

/// The kind of a table of costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CostKind {
    /// Samples in which a trace was found.
    Samples,
    /// Milliseconds that the innermost method of a trace took by itself at this trace, and how often it was called
    /// there.
    Times,
    /// Milliseconds that threads waited for a monitor at a trace, and how often they waited.
    Monitors,
    /// Milliseconds that threads waited for a lock of `java.util.concurrent` at a trace, and how often they
    /// waited. HPROF had no such table.
    Parks,
}

impl CostKind {
    pub(crate) const ALL: [CostKind; 4] = [
        CostKind::Samples,
        CostKind::Times,
        CostKind::Monitors,
        CostKind::Parks,
    ];

    /// Returns the words with which the first and the last line of the table begin.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            CostKind::Samples => "CPU SAMPLES",
            CostKind::Times => "CPU TIME (ms)",
            CostKind::Monitors => "MONITOR TIME",
            CostKind::Parks => "PARK TIME",
        }
    }

    /// Returns the unit after the total.
    fn unit(self) -> &'static str {
        match self {
            CostKind::Samples | CostKind::Times => "",
            CostKind::Monitors | CostKind::Parks => " ms",
        }
    }

    /// Returns the title of the last column.
    pub(crate) fn of(self) -> &'static str {
        match self {
            CostKind::Samples | CostKind::Times => "method",
            CostKind::Monitors => "monitor",
            CostKind::Parks => "lock",
        }
    }
}

/// The beginning of a table of costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostsBegin {
    /// The kind of the table.
    pub kind: CostKind,
    /// Samples or milliseconds of all traces. HPROF kept the low 32 bits only, so it may be negative.
    pub total: i64,
    /// The time at which the table was written.
    pub date: String,
}

impl CostsBegin {
    pub(crate) fn parse(kind: CostKind, line: &mut Scan<'_>) -> Option<CostsBegin> {
        line.literal(kind.title())?;
        line.literal(" BEGIN (total = ")?;
        let total = line.number()?;
        line.literal(kind.unit())?;
        line.literal(") ")?;
        let date = line.rest().to_owned();
        Some(CostsBegin { kind, total, date })
    }
}

impl Display for CostsBegin {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (title, unit) = (self.kind.title(), self.kind.unit());
        let (total, date) = (self.total, Name(&self.date));
        write!(f, "{title} BEGIN (total = {total}{unit}) {date}")
    }
}

/// A row of a table of costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Place of the row in the table, from 1.
    pub rank: u32,
    /// Share of the row in the total, in percent.
    pub own: f64,
    /// Share of this row and all rows above it in the total, in percent.
    pub accumulated: f64,
    /// Number of samples or calls, or how often the monitor or lock was contended.
    pub count: i64,
    /// Serial number of the trace.
    pub trace: u32,
    /// The innermost method, or the class of the monitor or lock.
    pub name: String,
}

impl Cost {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Cost> {
        let (rank, own, accumulated) = line.rank()?;
        line.spaces();
        let count = line.number()?;
        line.spaces();
        let trace = line.number()?;
        line.literal(" ")?;
        let name = line.rest().to_owned();
        Some(Cost {
            rank,
            own,
            accumulated,
            count,
            trace,
            name,
        })
    }
}

impl Display for Cost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Cost {
            rank,
            own,
            accumulated,
            count,
            trace,
            name,
        } = self;
        let name = Name(name);
        write!(
            f,
            "{rank:>4} {own:>5.2}% {accumulated:>5.2}% {count:>7} {trace:>5} {name}"
        )
    }
}
