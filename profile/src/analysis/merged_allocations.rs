//! Adds up the allocations of several profiles.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::model::{Allocations, Amount, Frame, Seen, Site};

/// The allocations of the profiles were recorded in different ways.
pub(super) struct DifferentRecordings;

/// The key of a site: thread, frame, type, and whether the sizes of its allocated and its live
/// objects are unknown. Sites with and without sizes stay apart, so that the bytes of one do not
/// seem to include the objects of the other.
type SiteKey<'p> = (u32, Option<u32>, &'p str, [bool; 2]);

/// Allocations of all profiles, added up.
#[derive(Default)]
pub(super) struct Allocated<'p> {
    pub(super) sum: Option<Allocations>,
    frames: HashMap<Frame, u32>,
    sites: HashMap<SiteKey<'p>, usize>,
}

impl<'p> Allocated<'p> {
    /// Adds the allocations of a profile. `threads` and `methods` map the profile's indexes to the indexes of the
    /// merged profile.
    pub(super) fn add(
        &mut self,
        other: &'p Allocations,
        threads: &[u32],
        methods: &[u32],
    ) -> Result<(), DifferentRecordings> {
        let sum = self.sum.get_or_insert_with(|| Allocations {
            seen: other.seen,
            live: true,
            ..Allocations::default()
        });
        match (&mut sum.seen, other.seen) {
            (Seen::Exact, Seen::Exact) | (Seen::All, Seen::All) => {}
            // Each profile's samples were weighed by its own interval; the header gets the largest interval.
            (Seen::Sampled { interval }, Seen::Sampled { interval: other }) => {
                *interval = other.max(*interval)
            }
            _ => return Err(DifferentRecordings),
        }
        sum.live &= other.live;
        let mut places: Vec<u32> = Vec::with_capacity(other.frames.len());
        for frame in &other.frames {
            let frame = Frame {
                parent: frame.parent.map(|parent| places[parent as usize]),
                method: methods[frame.method as usize],
                ..*frame
            };
            let place = *self.frames.entry(frame).or_insert_with(|| {
                sum.frames.push(frame);
                sum.frames.len() as u32 - 1
            });
            places.push(place);
        }
        for site in &other.sites {
            let thread = threads[site.thread as usize];
            let frame = site.frame.map(|frame| places[frame as usize]);
            let is_unsized = |amount: Amount| amount.objects > 0.0 && amount.bytes.is_none();
            let is_unsized = [site.allocated, site.live].map(is_unsized);
            match self
                .sites
                .entry((thread, frame, &site.type_name, is_unsized))
            {
                Entry::Vacant(vacant) => {
                    vacant.insert(sum.sites.len());
                    sum.sites.push(Site {
                        thread,
                        frame,
                        ..site.clone()
                    });
                }
                Entry::Occupied(at) => sum.sites[*at.get()].add(site),
            }
        }
        Ok(())
    }
}
