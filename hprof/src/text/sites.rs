//! `SITES`: allocations by class and trace, the largest first.

use std::fmt::{self, Display, Formatter};

use super::name::Name;
use super::scan::Scan;

/// The beginning of the table of allocation sites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitesBegin {
    /// The order of the sites: `live bytes` or `allocated bytes`.
    pub order: String,
    /// The time at which the table was written.
    pub date: String,
}

impl SitesBegin {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<SitesBegin> {
        line.literal("SITES BEGIN (ordered by ")?;
        let order = line.until(") ")?.to_owned();
        let date = line.rest().to_owned();
        Some(SitesBegin { order, date })
    }
}

impl Display for SitesBegin {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (order, date) = (Name(&self.order), Name(&self.date));
        write!(f, "SITES BEGIN (ordered by {order}) {date}")
    }
}

/// The titles of the columns, in two lines.
pub(crate) const TITLES: [&str; 2] = [
    "          percent          live          alloc'ed  stack class",
    " rank   self  accum     bytes objs     bytes  objs trace name",
];

/// A number of bytes and a number of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of bytes; `None` if it is unknown, which is written as `-`.
    pub bytes: Option<u64>,
    /// Number of objects; `None` if it is unknown.
    pub objects: Option<u64>,
}

/// An allocation site: a class and the trace that allocated its objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Place of the site in the table, from 1.
    pub rank: u32,
    /// Share of the site in all bytes, in percent.
    pub own: f64,
    /// Share of this site and all sites above it in all bytes, in percent.
    pub accumulated: f64,
    /// The objects that are alive.
    pub live: Amount,
    /// All objects that were allocated.
    pub allocated: Amount,
    /// Serial number of the trace at which the objects were allocated.
    pub trace: u32,
    /// The class of the objects, for example `java.lang.String` or `char[]`.
    pub class: String,
}

impl Amount {
    fn parse(line: &mut Scan<'_>) -> Option<Amount> {
        let mut number = || {
            line.spaces();
            match line.literal("- ") {
                Some(()) => Some(None),
                None => line.number().map(Some),
            }
        };
        Some(Amount {
            bytes: number()?,
            objects: number()?,
        })
    }
}

impl Site {
    pub(crate) fn parse(line: &mut Scan<'_>) -> Option<Site> {
        let (rank, own, accumulated) = line.rank()?;
        let live = Amount::parse(line)?;
        let allocated = Amount::parse(line)?;
        line.spaces();
        let trace = line.number()?;
        line.literal(" ")?;
        let class = line.rest().to_owned();
        Some(Site {
            rank,
            own,
            accumulated,
            live,
            allocated,
            trace,
            class,
        })
    }
}

impl Display for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let [live, allocated] = [self.live, self.allocated];
        write!(f, "{:>5} {:>5.2}% ", self.rank, self.own)?;
        write!(f, "{:>5.2}% ", self.accumulated)?;
        write!(f, "{:>9} {:>4} ", shown(live.bytes), shown(live.objects))?;
        write!(f, "{:>9} ", shown(allocated.bytes))?;
        write!(f, "{:>5} ", shown(allocated.objects))?;
        write!(f, "{:>5} {}", self.trace, Name(&self.class))
    }
}
