//! What is asked for.

use loadhook_instrument::Selection;
use loadhook_settings::Filter;

/// What to do with the classes that are found. Archives rewritten by equal
/// plans get equal parts, by different ones different parts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which methods get which probes.
    pub selection: Selection,
    /// Where the tracker comes from.
    pub tracker: Tracker,
    /// Drop the signatures of signed archives, which do not fit any more.
    pub strip_signatures: bool,
    /// Keep classes that carry probes already, instead of failing.
    pub skip_instrumented: bool,
    /// Fail where a class or archive inside cannot be read, instead of keeping
    /// it as it is.
    pub strict: bool,
    /// The largest class or archive inside an archive that is unpacked, in
    /// bytes. Larger ones stay as they are.
    pub most_entry: u64,
    /// How many bytes the entries of one archive and of those inside it are
    /// unpacked to at most, all together; more is an error. `None` for what no
    /// archive of use comes near: 100 times its length, but 1 GiB at least.
    /// Each archive inside, and each root in which a class is rewritten,
    /// counts 256 KiB more.
    pub most_total: Option<u64>,
}

/// Where the classes come from that probes call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracker {
    /// Each archive carries them.
    Embed,
    /// A jar of their own has them: see [`tracker_jar`](crate::tracker_jar).
    Jar,
    /// The caller provides `loadhook.Tracker`; ids count through all inputs.
    None,
}

impl Plan {
    /// Timing probes in all methods that are not trivial, tracker embedded.
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
