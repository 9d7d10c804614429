//! The methods that are inlined at each place of a compiled method. `CompiledMethodLoad` reports them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::jit::Inlined;
use super::spread::Spread;
use crate::jvm::jvmti::MethodKey;

/// A method at a place of compiled code, and the offset in the method's bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InlinedFrame {
    pub(super) method: MethodKey,
    pub(super) bci: Option<u16>,
}

/// The value of [`Link::caller`] in the outermost link of a chain.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Link {
    frame: InlinedFrame,
    /// The index of the link whose frame called this one, or [`NONE`].
    caller: u32,
}

/// Inlined methods by their place in compiled code. Chains of frames share their outer links. For javac, with 930,000
/// frames, this saves three quarters of the memory.
#[derive(Default)]
pub(super) struct InlineTable {
    /// Sites in the order of their offsets. A pair has the offset of a site, and the innermost link of the site's
    /// chain. The chain also holds for all places between the preceding site and this site.
    sites: Box<[(u32, u32)]>,
    links: Box<[Link]>,
}

/// Makes an [`InlineTable`]. There is no separate allocation for each site, because C2's code has thousands of sites.
#[derive(Default)]
pub(super) struct InlineTableBuilder {
    links: Vec<Link>,
    known: HashMap<Link, u32, Spread>,
    sites: Vec<(u32, u32)>,
}

impl InlineTableBuilder {
    /// Adds a site with its frames, outermost first.
    pub(super) fn add(&mut self, offset: u32, frames: impl Iterator<Item = InlinedFrame>) {
        let mut caller = NONE;
        for frame in frames {
            let link = Link { frame, caller };
            caller = *self.known.entry(link).or_insert_with(|| {
                self.links.push(link);
                self.links.len() as u32 - 1
            });
        }
        self.sites.push((offset, caller));
    }

    /// Makes the table of the sites that were added.
    pub(super) fn build(self) -> InlineTable {
        let (links, mut places) = (self.links, self.sites);
        places.sort_by_key(|(offset, _)| *offset);
        // If neighbouring sites have the same chain, only the last of them is needed.
        let mut kept: Vec<(u32, u32)> = Vec::with_capacity(places.len());
        for place in places {
            match kept.last_mut() {
                Some(last) if last.1 == place.1 || last.0 == place.0 => *last = place,
                _ => kept.push(place),
            }
        }
        InlineTable {
            sites: kept.into(),
            links: links.into(),
        }
    }
}

impl InlineTable {
    /// Returns the frames at `offset`, innermost first. HotSpot gives a site the offset of an instruction's end. So
    /// these are the frames of the first site whose offset is `offset` or greater; none if there is no such site.
    pub(super) fn at(&self, offset: u32) -> impl Iterator<Item = InlinedFrame> + '_ {
        let index = self.sites.partition_point(|(site, _)| *site < offset);
        let mut next = self.sites.get(index).map_or(NONE, |(_, link)| *link);
        std::iter::from_fn(move || {
            let link = self.links.get(next as usize)?;
            next = link.caller;
            Some(link.frame)
        })
    }

    /// Returns the methods that are inlined into the compiled method, with their depths.
    pub(super) fn inlined(&self) -> Vec<Inlined<MethodKey>> {
        // A link is a place in a method. The link of its caller is the place of the call. Several links may have the
        // same caller.
        let mut calls: BTreeSet<(MethodKey, u32)> = BTreeSet::new();
        for link in &self.links {
            if link.caller != NONE {
                calls.insert((link.frame.method, link.caller));
            }
        }
        let mut depths: Vec<u32> = Vec::with_capacity(self.links.len());
        for link in &self.links {
            let depth = depths
                .get(link.caller as usize)
                .map_or(0, |depth| depth + 1);
            depths.push(depth);
        }
        let mut sums: BTreeMap<(MethodKey, u32), u32> = BTreeMap::new();
        for (method, caller) in calls {
            let depth = depths.get(caller as usize).map_or(0, |depth| depth + 1);
            *sums.entry((method, depth)).or_default() += 1;
        }
        let sums = sums.into_iter();
        sums.map(|((method, depth), calls)| Inlined {
            method,
            depth,
            calls,
        })
        .collect()
    }

    /// Returns the last offset whose frames are known.
    pub(super) fn last_site(&self) -> u32 {
        self.sites.last().map_or(0, |(offset, _)| *offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(method: usize, bci: u16) -> InlinedFrame {
        InlinedFrame {
            method: MethodKey::unknown(method),
            bci: Some(bci),
        }
    }

    /// Makes a table of sites with their frames, innermost first.
    fn table<'s>(sites: impl Iterator<Item = (u32, &'s [InlinedFrame])>) -> InlineTable {
        let mut table = InlineTableBuilder::default();
        for (offset, frames) in sites {
            table.add(offset, frames.iter().rev().copied());
        }
        table.build()
    }

    fn at(table: &InlineTable, offset: u32) -> Vec<InlinedFrame> {
        table.at(offset).collect()
    }

    #[test]
    fn a_place_takes_the_first_site_that_is_not_below() {
        let outer = [frame(1, 4)];
        let inner = [frame(2, 0), frame(1, 9)];
        let sites = [(30, &inner[..]), (10, &outer[..]), (20, &outer[..])];
        let table = table(sites.into_iter());
        assert_eq!(at(&table, 0), outer);
        assert_eq!(at(&table, 20), outer);
        assert_eq!(at(&table, 21), inner);
        assert_eq!(at(&table, 30), inner);
        assert_eq!(at(&table, 31), []);
        assert_eq!(table.last_site(), 30);
        assert_eq!(table.sites.len(), 2);
        assert_eq!(table.links.len(), 3);
    }

    #[test]
    fn chains_share_their_outer_frames() {
        let chains: Vec<_> = (0..100)
            .map(|n| vec![frame(3, n), frame(2, 5), frame(1, 7)])
            .collect();
        let sites = chains.iter().enumerate();
        let table = table(sites.map(|(n, chain)| (n as u32 * 4, &chain[..])));
        assert_eq!(table.links.len(), 102);
        assert_eq!(at(&table, 197), chains[50]);
    }

    #[test]
    fn inlined_methods_have_their_calls_and_depths() {
        // Method 1 calls method 2 at two places. Both inlined copies of method 2 call method 3. Method 2 also has sites
        // of its own.
        let chains = [
            vec![frame(1, 0)],
            vec![frame(2, 0), frame(1, 4)],
            vec![frame(2, 3), frame(1, 4)],
            vec![frame(3, 0), frame(2, 5), frame(1, 4)],
            vec![frame(2, 0), frame(1, 9)],
            vec![frame(3, 0), frame(2, 5), frame(1, 9)],
        ];
        let sites = chains.iter().enumerate();
        let table = table(sites.map(|(n, chain)| (n as u32 * 4, &chain[..])));
        let found: Vec<_> = table
            .inlined()
            .iter()
            .map(|of| (of.depth, of.calls))
            .collect();
        assert_eq!(found, [(1, 2), (2, 2)]);
    }

    #[test]
    fn an_empty_table_knows_nothing() {
        let table = InlineTable::default();
        assert_eq!(at(&table, 0), []);
        assert_eq!(table.last_site(), 0);
    }
}
