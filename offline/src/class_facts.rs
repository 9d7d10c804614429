//! Facts about a class that are needed before it is rewritten.

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::code::Code;
use loadhook_rewrite::constant_pool::Constant;
use loadhook_rewrite::opcode::Opcode;

/// The package of the tracker's classes. The packages of parts are inside it.
const PACKAGE: &[u8] = b"loadhook/";

/// The agent's tracker, under its name in the boot loader.
const AGENT_TRACKER: &[u8] = b"java/lang/$Loadhook";

/// The facts about one class.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The class's internal name, in modified UTF-8.
    pub(crate) name: Vec<u8>,
    /// The numbers of method ids and site ids that the class takes.
    pub(crate) ids: Ids,
    /// The approximate number of bytes that the class adds to the symbols of its unit.
    pub(crate) symbols: u64,
    /// The relation of the class to trackers.
    pub(crate) tracker_use: TrackerUse,
}

/// The relation of a class to trackers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrackerUse {
    /// The class calls no tracker.
    Fresh,
    /// The class calls a tracker already.
    Instrumented,
    /// The class belongs to a tracker, or is the part of an archive.
    Tracker,
}

/// Numbers of method ids and of site ids, or the first ids of two ranges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    pub(crate) methods: u32,
    pub(crate) sites: u32,
}

impl Ids {
    /// Takes `ids.methods` method ids and `ids.sites` site ids. Returns the first of each.
    pub(crate) fn take(&mut self, ids: Ids) -> Ids {
        let first = *self;
        self.methods += ids.methods;
        self.sites += ids.sites;
        first
    }
}

impl Facts {
    /// Reads the facts from a class file. Counts allocation sites only if `with_sites` is true.
    pub(crate) fn read(bytes: &[u8], with_sites: bool) -> Result<Facts, loadhook_rewrite::Error> {
        let class = ClassFile::parse(bytes)?;
        let codes = class.methods().filter(|_| with_sites);
        let codes = codes.filter_map(|method| method.code().ok()?);
        let ids = Ids {
            methods: class.methods().len() as u32,
            sites: codes.map(|code| sites(&code)).sum(),
        };
        let symbols = class
            .methods()
            .map(|method| (method.name().len() + method.descriptor().len()) as u64)
            .sum();
        Ok(Facts {
            name: class.name().to_vec(),
            ids,
            symbols,
            tracker_use: tracker_use(&class),
        })
    }
}

fn tracker_use(class: &ClassFile<'_>) -> TrackerUse {
    let is_tracker = |name: &[u8]| name.starts_with(PACKAGE) || name == AGENT_TRACKER;
    if is_tracker(class.name()) {
        return TrackerUse::Tracker;
    }
    let pool = class.pool();
    let names_tracker = |index| {
        matches!(pool.get(index), Ok(Constant::Class { name })
            if pool.utf8(name).is_ok_and(is_tracker))
    };
    if pool.indexes().any(names_tracker) {
        TrackerUse::Instrumented
    } else {
        TrackerUse::Fresh
    }
}

/// Counts the instructions of a method that allocate objects or arrays.
fn sites(code: &Code<'_>) -> u32 {
    use Opcode::{Anewarray, Multianewarray, New, Newarray};
    let instructions = code.instructions().map_while(Result::ok);
    let allocating = instructions.filter(|instruction| {
        matches!(
            instruction.opcode,
            New | Newarray | Anewarray | Multianewarray
        )
    });
    allocating.count() as u32
}
