//! The settings of a rewriting.

use loadhook_instrument::Selection;
use loadhook_settings::Filter;

/// The settings of a rewriting. Equal archives that are rewritten by equal plans
/// get equal parts; different plans give different parts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which methods get which probes.
    pub selection: Selection,
    /// Place of the tracker.
    pub tracker: Tracker,
    /// True if signatures of signed archives are removed: they become invalid.
    pub strip_signatures: bool,
    /// True if classes that already carry probes are kept; else they are an error.
    pub skip_instrumented: bool,
    /// True if a class or nested archive that cannot be read is an error; else it is
    /// kept as it is.
    pub strict: bool,
    /// Maximum size of a class, and of a nested archive when unpacked, in bytes.
    /// Larger ones stay as they are.
    pub most_entry: u64,
    /// Maximum number of bytes to which the entries of one archive, nested archives
    /// included, are unpacked together; more is an error. `None` is a limit that no
    /// useful archive comes near: 100 times its length, at least 1 GiB. Each nested
    /// archive, and each root in which a class is rewritten, counts 256 KiB more.
    pub most_total: Option<u64>,
}

/// Place of the tracker, the classes that probes call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracker {
    /// Each archive has the tracker.
    Embed,
    /// A separate jar has the tracker: see [`tracker_jar`](crate::tracker_jar).
    Jar,
    /// The user provides `loadhook.Tracker`. No id is used twice in all inputs.
    None,
}

impl Plan {
    /// Timing probes in all methods that pass the filter and are not trivial; the
    /// tracker is embedded.
    pub fn new(filter: Filter) -> Plan {
        Plan {
            selection: Selection::timing(filter),
            tracker: Tracker::Embed,
            strip_signatures: false,
            skip_instrumented: false,
            strict: false,
            most_entry: 512 << 20,
            most_total: None,
        }
    }
}
