//! Adds the methods, frames, threads and sites of samples to a profile.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_profile::{Frame, Profile, Site as ProfileSite};

use super::estimate::Estimate;
use super::owners::{Owner, Site};
use super::sample_snapshot::{Alive, SampleSnapshot};
use crate::frames::profile_parts::{self, ProfileMethods};

/// Adds the methods and threads of samples to a profile, and builds its frames and sites.
pub(super) struct ProfileBuilder<'p> {
    profile: &'p mut Profile,
    methods: ProfileMethods,
    frames: Vec<Frame>,
    frame_numbers: HashMap<Frame, u32>,
    /// The number of the frame of each node of the snapshot, by the index of the node.
    of_nodes: Vec<u32>,
    sites: Vec<ProfileSite>,
}

impl<'p> ProfileBuilder<'p> {
    /// Begins with the methods, threads and allocations that the profile already has.
    pub(super) fn new(profile: &'p mut Profile) -> Self {
        let methods = ProfileMethods::of(profile);
        // The profile may have allocations that probes have counted.
        let counted = profile.allocations.take().unwrap_or_default();
        ProfileBuilder {
            profile,
            methods,
            frame_numbers: counted.frames.iter().copied().zip(0..).collect(),
            frames: counted.frames,
            of_nodes: Vec::new(),
            sites: counted.sites,
        }
    }

    /// Returns the frames and sites of the profile.
    pub(super) fn finish(self) -> (Vec<Frame>, Vec<ProfileSite>) {
        (self.frames, self.sites)
    }

    /// Adds the frames of all nodes of a snapshot.
    pub(super) fn add_frames(&mut self, snapshot: &SampleSnapshot, loaders: &HashMap<u32, String>) {
        let mut methods: Vec<Option<u32>> = vec![None; snapshot.symbols.len()];
        for node in &snapshot.nodes {
            let symbol = node.at.symbol as usize;
            let method = match methods[symbol] {
                Some(method) => method,
                None => {
                    let copies = snapshot.copies[symbol];
                    let method = profile_parts::method(&snapshot.symbols[symbol], copies, loaders);
                    self.methods.number(self.profile, method)
                }
            };
            methods[symbol] = Some(method);
            let frame = Frame {
                parent: node.parent.map(|parent| self.of_nodes[parent as usize]),
                method,
                line: node.at.line,
                // The offset is left out: the code may have been rewritten, so the offset would mislead.
                bci: None,
            };
            let frames = &mut self.frames;
            let number = *self.frame_numbers.entry(frame).or_insert_with(|| {
                frames.push(frame);
                frames.len() as u32 - 1
            });
            self.of_nodes.push(number);
        }
    }

    /// Returns the index of an owner in the profile's threads. Adds the owner if the profile does not have it yet.
    pub(super) fn thread(&mut self, owner: &Owner) -> u32 {
        profile_parts::thread(self.profile, &owner.name, owner.id, owner.kind)
    }

    /// Adds a site of a thread: its allocated and its live objects.
    pub(super) fn add_site(
        &mut self,
        snapshot: &SampleSnapshot,
        thread: u32,
        site: Site,
        allocated: Estimate,
        alive: Alive,
    ) {
        let type_name = snapshot.types.get(site.type_number as usize);
        let live = alive.estimate;
        self.sites.push(ProfileSite {
            thread,
            frame: site.node.map(|node| self.of_nodes[node as usize]),
            type_name: type_name.cloned().unwrap_or_else(|| Arc::from("?")),
            allocated: allocated.amount(),
            live: live.amount(),
            live_age: if live.objects > 0.0 {
                alive.ages / live.objects
            } else {
                0.0
            },
        });
    }
}
