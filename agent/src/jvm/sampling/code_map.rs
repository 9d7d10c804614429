//! Finds the generated code that contains an address. Signal handlers use this map.
//!
//! The code cache is divided into granules of equal size. The map has for each granule the number of one piece of code
//! in it. If several pieces share a granule, each piece has the numbers of its neighbours in the granule, and a search
//! goes from one piece to the next.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::blocks::Blocks;
use crate::locks::lock;

/// Binary logarithm of the number of bytes in a granule.
const GRANULE: u32 = 5;

/// Binary logarithm of the number of bytes of the code cache that one page of the map covers.
const PAGE: u32 = 16;

/// Number of granules of a page.
const GRANULES: usize = 1 << (PAGE - GRANULE);

/// The number of descriptions in a block, and the maximum number of blocks.
const BLOCK: usize = 512;
const BLOCKS: usize = 8192;

/// The largest code cache that HotSpot has.
const MAX_CACHE: usize = 1 << 31;

/// The maximum number of neighbours that a search visits within a granule.
const MAX_NEIGHBOURS: usize = 32;

/// The number of a piece of code. After the code was removed, and when no handler can use the number any more, the
/// number is given to other code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CodeId(pub(super) u32);

/// Kinds of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum CodeKind {
    /// A stub of the JVM.
    #[default]
    Runtime,
    /// A compiled method, or the wrapper of a native one.
    Compiled,
    /// The interpreter.
    Interpreter,
    /// The stub by which the JVM calls Java.
    CallStub,
    /// The stub to which the outermost frame on the stack of a virtual thread returns while its callers are in the
    /// heap.
    ReturnBarrier,
    /// The method that enters a virtual thread. Its callers belong to the carrier.
    ContinuationEntry,
    /// The dispatch of a virtual or interface call.
    Dispatch,
}

impl CodeKind {
    const ALL: [CodeKind; 7] = [
        CodeKind::Runtime,
        CodeKind::Compiled,
        CodeKind::Interpreter,
        CodeKind::CallStub,
        CodeKind::ReturnBarrier,
        CodeKind::ContinuationEntry,
        CodeKind::Dispatch,
    ];

    /// Converts a number, made by `kind as u32`, back to the kind.
    pub(super) fn of(number: u32) -> CodeKind {
        let kind = CodeKind::ALL.get(number as usize);
        kind.copied().unwrap_or_default()
    }
}

/// A description of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Code {
    pub(super) low: usize,
    /// The first address behind the code.
    pub(super) high: usize,
    pub(super) kind: CodeKind,
    /// Size of the frame in bytes, including the saved frame pointer and the return address; 0 if it is not known.
    pub(super) frame_size: u32,
    /// Offset of the instruction that saves the frame pointer.
    pub(super) push: u32,
    /// Offset of the end of the instruction that makes the frame; 0 if it is not known.
    pub(super) body: u32,
    /// Offset of the last place in the code whose inlined methods are known.
    pub(super) last_site: u32,
    /// Offset in bytes from the stack pointer at which a deoptimised frame has its original return address; 0 if the
    /// code has no such place.
    pub(super) orig_pc: u32,
}

impl Code {
    /// Returns whether `pc` lies in the code.
    pub(super) fn contains(&self, pc: usize) -> bool {
        self.low <= pc && pc < self.high
    }

    /// Returns whether a return address at `offset` lies after all sites. Deoptimisation has then replaced the original
    /// return address.
    pub(super) fn is_replaced(&self, offset: u32) -> bool {
        self.orig_pc != 0 && offset > self.last_site
    }

    fn overlaps(&self, other: &Code) -> bool {
        self.low < other.high && other.low < self.high
    }
}

/// A [`Code`] stored as atomic words, which handlers may read at any time.
#[derive(Default)]
struct Place {
    low: AtomicUsize,
    high: AtomicUsize,
    kind: AtomicU32,
    frame_size: AtomicU32,
    push: AtomicU32,
    body: AtomicU32,
    last_site: AtomicU32,
    orig_pc: AtomicU32,
    /// The numbers of the neighbours: of the piece of code below that shares the first granule, and of the piece above
    /// that shares the last granule. 0 means that there is none.
    neighbours: [AtomicU32; 2],
}

impl Place {
    fn write(&self, code: &Code) {
        self.low.store(code.low, Ordering::Relaxed);
        self.high.store(code.high, Ordering::Relaxed);
        self.kind.store(code.kind as u32, Ordering::Relaxed);
        self.frame_size.store(code.frame_size, Ordering::Relaxed);
        self.push.store(code.push, Ordering::Relaxed);
        self.body.store(code.body, Ordering::Relaxed);
        self.last_site.store(code.last_site, Ordering::Relaxed);
        self.orig_pc.store(code.orig_pc, Ordering::Relaxed);
        for neighbour in &self.neighbours {
            neighbour.store(0, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Code {
        Code {
            low: self.low.load(Ordering::Relaxed),
            high: self.high.load(Ordering::Relaxed),
            kind: CodeKind::of(self.kind.load(Ordering::Relaxed)),
            frame_size: self.frame_size.load(Ordering::Relaxed),
            push: self.push.load(Ordering::Relaxed),
            body: self.body.load(Ordering::Relaxed),
            last_site: self.last_site.load(Ordering::Relaxed),
            orig_pc: self.orig_pc.load(Ordering::Relaxed),
        }
    }
}

/// The map. Any thread may read it at any time. Changes are serialised by the lock of `order`.
pub(super) struct CodeMap {
    low: usize,
    high: usize,
    /// For each granule the number of a piece of code in it; 0 for none. A page of granules is one block.
    granules: Blocks<AtomicU32, GRANULES>,
    /// The descriptions of code. The index is the number of the code minus 1.
    places: Blocks<Place, BLOCK>,
    /// The numbers of all code, by its first address. Only functions that change the map use this.
    order: Mutex<BTreeMap<usize, CodeId>>,
}

impl CodeMap {
    /// Makes an empty map for a code cache from `low` to `high`. `None` if no code cache can have these bounds.
    pub(super) fn new(low: usize, high: usize) -> Option<Self> {
        let size = high.checked_sub(low)?;
        if low == 0 || size == 0 || size > MAX_CACHE {
            return None;
        }
        let low = low & !((1 << PAGE) - 1);
        let pages = (high - low).div_ceil(1 << PAGE);
        Some(CodeMap {
            low,
            high,
            granules: Blocks::new(pages),
            places: Blocks::new(BLOCKS),
            order: Mutex::default(),
        })
    }

    /// Returns whether an address lies in the code cache.
    pub(super) fn covers(&self, pc: usize) -> bool {
        self.low <= pc && pc < self.high
    }

    /// Returns the code that contains `pc`. Signal handlers may call this: it takes no lock, and its time is bounded.
    pub(super) fn find(&self, pc: usize) -> Option<(CodeId, Code)> {
        if !self.covers(pc) {
            return None;
        }
        let offset = pc.wrapping_sub(self.low);
        let mut id = self
            .granules
            .get(offset >> GRANULE)?
            .load(Ordering::Acquire);
        let mut side = None;
        for _ in 0..MAX_NEIGHBOURS {
            let place = self.place(CodeId(id))?;
            let code = place.read();
            if code.contains(pc) {
                return Some((CodeId(id), code));
            }
            // The search continues at the neighbour on the side of `pc`. If the search would have to turn back, `pc`
            // lies in a gap between two pieces of code.
            let toward = usize::from(pc >= code.high);
            if side.is_some_and(|side| side != toward) {
                return None;
            }
            side = Some(toward);
            id = place.neighbours.get(toward)?.load(Ordering::Acquire);
        }
        None
    }

    /// Returns the stored description of the code with this number. No code has the number 0.
    fn place(&self, id: CodeId) -> Option<&Place> {
        self.places.get((id.0 as usize).checked_sub(1)?)
    }

    /// Returns the granules that `code` touches. Allocates blocks of granules that do not exist yet.
    fn granules(&self, code: &Code) -> impl Iterator<Item = &AtomicU32> {
        let first = code.low.saturating_sub(self.low) >> GRANULE;
        let last = (code.high - 1).saturating_sub(self.low) >> GRANULE;
        (first..=last).filter_map(|granule| self.granules.get_or_make(granule, AtomicU32::default))
    }

    /// Enters `code` under a number that is not in use. Older code at the same addresses is removed from the map, and
    /// its numbers are returned. Returns `None` if `code` lies outside the code cache or there is no room.
    pub(super) fn add(&self, id: CodeId, code: &Code) -> Option<Vec<CodeId>> {
        if code.low >= code.high || !self.covers(code.low) || code.high > self.high {
            return None;
        }
        let index = (id.0 as usize).checked_sub(1)?;
        let place = self.places.get_or_make(index, Place::default)?;
        place.write(code);
        let mut order = lock(&self.order);
        let below = order.range(..code.low).next_back();
        let within = order.range(code.low..code.high);
        let near: Vec<CodeId> = below.into_iter().chain(within).map(|(_, id)| *id).collect();
        let overlaps = |id: &CodeId| self.get(*id).is_some_and(|other| other.overlaps(code));
        let replaced: Vec<CodeId> = near.into_iter().filter(overlaps).collect();
        for old in &replaced {
            self.take_out(&mut order, *old);
        }
        let below = order.range(..code.low).next_back().map(|(_, id)| *id);
        let above = order.range(code.low..).next().map(|(_, id)| *id);
        order.insert(code.low, id);
        self.link(below, Some(id));
        self.link(Some(id), above);
        for granule in self.granules(code) {
            granule.store(id.0, Ordering::Release);
        }
        Some(replaced)
    }

    /// Makes two adjacent pieces of code neighbours if they share a granule. Otherwise removes the links between them.
    fn link(&self, below: Option<CodeId>, above: Option<CodeId>) {
        let place_of = |id: Option<CodeId>| self.place(id?);
        let (low, high) = (place_of(below), place_of(above));
        let shares = match (low, high) {
            (Some(low), Some(high)) => {
                let last = low.high.load(Ordering::Relaxed).wrapping_sub(1);
                last >> GRANULE == high.low.load(Ordering::Relaxed) >> GRANULE
            }
            _ => false,
        };
        let number = |id: Option<CodeId>| if shares { id.map_or(0, |id| id.0) } else { 0 };
        if let Some(low) = low {
            low.neighbours[1].store(number(above), Ordering::Release);
        }
        if let Some(high) = high {
            high.neighbours[0].store(number(below), Ordering::Release);
        }
    }

    /// Removes code from the map. Handlers may still see the code until the [epoch](super::reclaim) is over.
    pub(super) fn remove(&self, id: CodeId) {
        self.take_out(&mut lock(&self.order), id);
    }

    fn take_out(&self, order: &mut BTreeMap<usize, CodeId>, id: CodeId) {
        let Some(place) = self.place(id) else {
            return;
        };
        let code = place.read();
        if order.get(&code.low) != Some(&id) {
            return;
        }
        order.remove(&code.low);
        let [below, above] = [0, 1].map(|side| place.neighbours[side].load(Ordering::Relaxed));
        let granules: Vec<&AtomicU32> = self.granules(&code).collect();
        for (index, granule) in granules.iter().enumerate() {
            if granule.load(Ordering::Relaxed) != id.0 {
                continue;
            }
            // If a neighbour shares the first or the last granule, this granule gets the number of the neighbour.
            let is_last = index + 1 == granules.len();
            let heir = if index == 0 && below != 0 {
                below
            } else if is_last {
                above
            } else {
                0
            };
            granule.store(heir, Ordering::Release);
        }
        let below = order.range(..code.low).next_back().map(|(_, id)| *id);
        let above = order.range(code.low..).next().map(|(_, id)| *id);
        self.link(below, above);
    }

    /// Returns the code with a number, as long as the number is in use.
    pub(super) fn get(&self, id: CodeId) -> Option<Code> {
        self.place(id).map(Place::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: usize = 0x7f00_0000_0000;

    fn map() -> CodeMap {
        CodeMap::new(LOW, LOW + (48 << 20)).unwrap()
    }

    fn code(offset: usize, len: usize) -> Code {
        Code {
            low: LOW + offset,
            high: LOW + offset + len,
            kind: CodeKind::Compiled,
            frame_size: len as u32,
            ..Code::default()
        }
    }

    fn found(map: &CodeMap, offset: usize) -> Option<u32> {
        map.find(LOW + offset).map(|(id, _)| id.0)
    }

    #[test]
    fn code_is_found_from_its_first_to_its_last_byte() {
        let map = map();
        let method = code(0x1_2345 & !31, 0x2_1234);
        assert_eq!(map.add(CodeId(7), &method), Some(vec![]));
        let (first, last) = (method.low - LOW, method.high - LOW - 1);
        assert_eq!(found(&map, first), Some(7));
        assert_eq!(found(&map, last), Some(7));
        assert_eq!(found(&map, first - 1), None);
        assert_eq!(found(&map, last + 1), None);
        assert_eq!(map.find(LOW + first), Some((CodeId(7), method)));
        assert_eq!(map.find(0), None);
        assert_eq!(map.find(usize::MAX), None);
    }

    #[test]
    fn small_code_shares_granules() {
        let map = map();
        // Ten stubs of 11 bytes, which are not entered in the order of their addresses.
        let order = [3_usize, 0, 9, 1, 8, 2, 5, 4, 7, 6];
        for stub in order {
            let replaced = map.add(CodeId(stub as u32 + 1), &code(0x1000 + stub * 11, 11));
            assert_eq!(replaced, Some(vec![]));
        }
        for byte in 0..110 {
            assert_eq!(
                found(&map, 0x1000 + byte),
                Some((byte / 11) as u32 + 1),
                "{byte}"
            );
        }
        assert_eq!(found(&map, 0x1000 + 110), None);
        map.remove(CodeId(5));
        for byte in 0..110 {
            let stub = (byte / 11) as u32 + 1;
            let expected = (stub != 5).then_some(stub);
            assert_eq!(found(&map, 0x1000 + byte), expected, "{byte}");
        }
    }

    #[test]
    fn new_code_replaces_what_it_overlaps() {
        let map = map();
        map.add(CodeId(1), &code(0x4000, 0x100)).unwrap();
        map.add(CodeId(2), &code(0x4100, 0x100)).unwrap();
        map.add(CodeId(3), &code(0x4200, 0x100)).unwrap();
        let replaced = map.add(CodeId(4), &code(0x4080, 0x100));
        assert_eq!(replaced, Some(vec![CodeId(1), CodeId(2)]));
        assert_eq!(found(&map, 0x4000), None);
        assert_eq!(found(&map, 0x4080), Some(4));
        assert_eq!(found(&map, 0x41ff), None);
        assert_eq!(found(&map, 0x4200), Some(3));
        // The JVM reports the same code again.
        let again = map.add(CodeId(5), &code(0x4200, 0x100));
        assert_eq!(again, Some(vec![CodeId(3)]));
        assert_eq!(found(&map, 0x42ff), Some(5));
    }

    #[test]
    fn code_elsewhere_is_refused() {
        let map = map();
        assert_eq!(map.add(CodeId(1), &code(48 << 20, 64)), None);
        assert_eq!(map.add(CodeId(1), &code((48 << 20) - 32, 64)), None);
        assert_eq!(map.add(CodeId(1), &code(64, 0)), None);
        assert_eq!(map.add(CodeId(0), &code(64, 64)), None);
        assert_eq!(map.add(CodeId(u32::MAX), &code(64, 64)), None);
        assert!(CodeMap::new(0, 1 << 20).is_none());
        assert!(CodeMap::new(LOW, LOW).is_none());
        assert!(CodeMap::new(LOW, LOW + (1 << 33)).is_none());
    }

    #[test]
    fn random_changes_are_found_as_in_a_list() {
        let map = map();
        let mut list: Vec<(CodeId, Code)> = Vec::new();
        let mut random = 12345_u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        for id in 1..2_000 {
            let code = code(0x8000 + next(0x800) as usize, 1 + next(90) as usize);
            let mut replaced = map.add(CodeId(id), &code).unwrap();
            replaced.sort_unstable();
            let (gone, kept) = list.into_iter().partition(|(_, old)| old.overlaps(&code));
            let gone: Vec<(CodeId, Code)> = gone;
            let mut gone: Vec<_> = gone.into_iter().map(|(id, _)| id).collect();
            gone.sort_unstable();
            assert_eq!(replaced, gone, "{id}");
            list = kept;
            list.push((CodeId(id), code));
            if id % 3 == 0 {
                let (gone, _) = list.swap_remove(next(list.len() as u64) as usize);
                map.remove(gone);
            }
            for pc in (LOW + 0x8000..LOW + 0x8900).step_by(7) {
                let expected = list.iter().find(|(_, code)| code.contains(pc));
                assert_eq!(map.find(pc), expected.copied(), "{id} {pc:x}");
            }
        }
    }
}
