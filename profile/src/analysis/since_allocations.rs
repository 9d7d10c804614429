//! The allocations of the time between two profiles of one program.

use std::collections::HashMap;

use crate::model::{Allocations, Amount, Frame, Profile, Site};

/// The key of a frame: the number of its caller's place, then its method, line and offset.
type FrameKey = (Option<u32>, u32, Option<u32>, Option<u16>);

/// Numbers the places of frames, with their callers, in order of their first use.
#[derive(Default)]
pub(super) struct Places(HashMap<FrameKey, u32>);

impl Places {
    /// Returns the number of each frame's place; `None` if `method` has no index for the frame's method.
    pub(super) fn of(
        &mut self,
        frames: &[Frame],
        method: impl Fn(u32) -> Option<u32>,
    ) -> Vec<Option<u32>> {
        let mut places: Vec<Option<u32>> = Vec::with_capacity(frames.len());
        for frame in frames {
            let parent = frame.parent.map(|parent| places[parent as usize]);
            let place = match (parent, method(frame.method)) {
                (Some(None), _) | (_, None) => None,
                (parent, Some(method)) => {
                    let next = self.0.len() as u32;
                    let key = (parent.flatten(), method, frame.line, frame.bci);
                    Some(*self.0.entry(key).or_insert(next))
                }
            };
            places.push(place);
        }
        places
    }
}

/// The place of a site and its type.
type SiteKey<'p> = (Option<u32>, &'p str);

/// Subtracts the allocated objects of `earlier`. `methods` and `threads` map the indexes in
/// `earlier` to the indexes in `later`. The sites of a thread that has ended are subtracted from
/// sites at the same place, in any thread.
pub(super) fn since(
    earlier: &Profile,
    later: &Profile,
    methods: &[Option<u32>],
    threads: &[Option<u32>],
) -> Option<Allocations> {
    let all = later.allocations.as_ref()?;
    let Some(before) = &earlier.allocations else {
        return Some(all.clone());
    };
    let mut places = Places::default();
    let old_places = places.of(&before.frames, |method| methods[method as usize]);
    let new_places = places.of(&all.frames, Some);
    let mut known: HashMap<(u32, SiteKey<'_>), Amount> = HashMap::new();
    let mut ended: HashMap<SiteKey<'_>, Amount> = HashMap::new();
    for site in &before.sites {
        let place = site.frame.map(|frame| old_places[frame as usize]);
        if place == Some(None) {
            continue;
        }
        let key: SiteKey<'_> = (place.flatten(), &site.type_name);
        let sum = match threads[site.thread as usize] {
            Some(thread) => known.entry((thread, key)).or_default(),
            None => ended.entry(key).or_default(),
        };
        sum.add(&site.allocated);
    }
    let mut sites: Vec<Site> = all.sites.clone();
    for site in &mut sites {
        let place = site.frame.and_then(|frame| new_places[frame as usize]);
        let key: SiteKey<'_> = (place, &*site.type_name);
        if let Some(debt) = known.get_mut(&(site.thread, key)) {
            take(&mut site.allocated, debt);
        }
        if let Some(debt) = ended.get_mut(&key) {
            take(&mut site.allocated, debt);
        }
    }
    Some(Allocations {
        sites,
        ..all.clone()
    })
}

/// Subtracts the same amounts from `amount` and from `debt`: as much of `debt` as `amount` has.
fn take(amount: &mut Amount, debt: &mut Amount) {
    let mut both = vec![
        (&mut amount.objects, &mut debt.objects),
        (&mut amount.objects_variance, &mut debt.objects_variance),
        (&mut amount.bytes_variance, &mut debt.bytes_variance),
    ];
    both.extend(amount.bytes.as_mut().zip(debt.bytes.as_mut()));
    for (value, debt) in both {
        let taken = value.min(*debt);
        *value -= taken;
        *debt -= taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Method, ThreadTree};

    /// Returns a profile with one site for each number of objects; the type's name is the number of the site.
    fn profile(methods: &[&str], thread: u64, objects: &[f64]) -> Profile {
        let frame = Frame {
            parent: None,
            method: methods.iter().position(|name| *name == "a").unwrap_or(0) as u32,
            line: Some(7),
            bci: None,
        };
        let site = |(at, objects): (usize, &f64)| Site {
            thread: 0,
            frame: Some(0),
            type_name: at.to_string().into(),
            allocated: Amount {
                objects: *objects,
                bytes: (at > 0).then_some(16.0 * objects),
                ..Amount::default()
            },
            live: Amount::default(),
            live_age: 0.0,
        };
        Profile {
            methods: methods
                .iter()
                .map(|name| Method::new("a.A", name, "()V"))
                .collect(),
            threads: vec![ThreadTree {
                name: "main".into(),
                id: Some(thread),
                kind: crate::ThreadKind::Platform,
                cpu_ns: None,
                nodes: Vec::new(),
            }],
            allocations: Some(Allocations {
                frames: vec![frame],
                sites: objects.iter().enumerate().map(site).collect(),
                ..Allocations::default()
            }),
            ..Profile::default()
        }
    }

    #[test]
    fn objects_are_subtracted_by_place_and_type() {
        // In the second round the thread has ended.
        for later_thread in [1, 2] {
            let earlier = profile(&["a"], 1, &[3.0, 4.0]);
            let later = profile(&["b", "a"], later_thread, &[5.0, 9.0, 1.0]);
            let between = crate::since(&earlier, &later);
            let sites = between.allocations.expect("both have allocations").sites;
            let amounts = sites
                .iter()
                .map(|site| (site.allocated.objects, site.allocated.bytes));
            assert_eq!(
                amounts.collect::<Vec<_>>(),
                [(2.0, None), (5.0, Some(80.0)), (1.0, Some(16.0))]
            );
        }
    }
}
