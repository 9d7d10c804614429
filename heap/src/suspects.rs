//! Few objects that keep much, and where below them it comes together.

use std::collections::HashMap;
use std::io;

use crate::dominators::Dominators;
use crate::store::{Column, Store};
use crate::ways::Ways;

/// Suspects at most.
const MOST: usize = 10;

/// A part of all bytes, in percent, from which on something is a suspect.
pub const THRESHOLD: u64 = 10;

/// Percent of what an object retains that one object below it must retain for the way
/// down to go on.
const NEARLY_ALL: u64 = 80;

/// Objects of a group whose ways to the roots are compared.
const MOST_WAYS: usize = 1000;

/// As far from its root a way is compared.
const LONGEST_WAY: usize = 1000;

/// An object, or the objects of one class together, that retain much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The object; of a class the objects that nothing but roots dominates, the
    /// largest first, at most some.
    pub objects: Vec<u32>,
    /// How many there are.
    pub count: u64,
    /// Bytes that they retain together.
    pub retained: u64,
    /// From a single object down the dominator tree, as long as one object below
    /// retains nearly all: the last is the accumulation point. Of a class the
    /// object nearest to it that nearly all of the ways from roots go through, if
    /// there is one.
    pub down: Vec<u32>,
    /// Objects that the accumulation point dominates, by class: one of the class, how
    /// many, and bytes that they retain; those that retain most first, at most some.
    pub below: Vec<Below>,
}

/// Objects of one class right below an accumulation point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below {
    /// The one that retains most.
    pub object: u32,
    /// How many there are.
    pub count: u64,
    /// Bytes that they retain.
    pub retained: u64,
}

/// The dominator tree downwards: the first below each, and the next beside it.
pub(crate) struct Children {
    pub(crate) child: Column,
    pub(crate) next: Column,
}

impl Children {
    pub(crate) fn free(self, store: &mut Store) {
        store.free(self.child);
        store.free(self.next);
    }
}

impl Dominators<'_> {
    /// Finds single objects that retain at least [`THRESHOLD`] percent of all bytes,
    /// then classes whose other objects do so together; the largest first.
    #[must_use]
    pub fn suspects(&self, ways: &Ways) -> Vec<Suspect> {
        let mut suspects = self.told(|store| self.suspects_in(store));
        for suspect in &mut suspects {
            if suspect.count > 1 {
                suspect.down = common(&suspect.objects, ways).into_iter().collect();
            }
            suspect.objects.truncate(MOST);
        }
        suspects
    }

    fn suspects_in(&self, store: &mut Store) -> io::Result<Vec<Suspect>> {
        let least = (self.retained_by(store, 0)? * THRESHOLD)
            .div_ceil(100)
            .max(1);
        let children = self.children(store)?;
        let mut suspects = Vec::new();
        let mut groups: HashMap<u32, (u64, u64)> = HashMap::new();
        let mut at = store.get(&children.child, 0)?;
        while at != 0 {
            let retained = self.retained_by(store, at)?;
            if retained >= least {
                suspects.push(self.object(store, &children, at)?);
            } else {
                let class = self.class_at(store, at)?;
                let group = groups.entry(class).or_default();
                *group = (group.0 + 1, group.1 + retained);
            }
            at = store.get(&children.next, at as usize)?;
        }
        for (class, (count, retained)) in groups {
            if retained >= least {
                let objects = self.group(store, &children, class, least)?;
                suspects.push(Suspect {
                    objects,
                    count,
                    retained,
                    down: Vec::new(),
                    below: Vec::new(),
                });
            }
        }
        children.free(store);
        suspects.sort_by_key(|suspect| std::cmp::Reverse(suspect.retained));
        suspects.truncate(MOST);
        Ok(suspects)
    }

    /// A single object with its accumulation point.
    fn object(&self, store: &mut Store, children: &Children, number: u32) -> io::Result<Suspect> {
        let retained = self.retained_by(store, number)?;
        let mut down = vec![self.object_at(store, number)?];
        let mut point = number;
        while let Some(largest) = self.largest_below(store, children, point)? {
            let all = self.retained_by(store, point)?;
            if self.retained_by(store, largest)? < (all * NEARLY_ALL).div_ceil(100) {
                break;
            }
            down.push(self.object_at(store, largest)?);
            point = largest;
        }
        Ok(Suspect {
            objects: down[..1].to_vec(),
            count: 1,
            retained,
            below: self.below(store, children, point)?,
            down,
        })
    }

    fn largest_below(
        &self,
        store: &mut Store,
        children: &Children,
        number: u32,
    ) -> io::Result<Option<u32>> {
        let mut largest = None;
        let mut most = 0;
        let mut at = store.get(&children.child, number as usize)?;
        while at != 0 {
            let retained = self.retained_by(store, at)?;
            if largest.is_none() || retained > most {
                (largest, most) = (Some(at), retained);
            }
            at = store.get(&children.next, at as usize)?;
        }
        Ok(largest)
    }

    fn below(&self, store: &mut Store, children: &Children, number: u32) -> io::Result<Vec<Below>> {
        // Per class: the largest of its objects, too.
        let mut classes: HashMap<u32, (Below, u64)> = HashMap::new();
        let mut at = store.get(&children.child, number as usize)?;
        while at != 0 {
            let retained = self.retained_by(store, at)?;
            let object = self.object_at(store, at)?;
            let none = Below {
                object,
                count: 0,
                retained: 0,
            };
            let class = self.class_at(store, at)?;
            let (below, most) = classes.entry(class).or_insert((none, retained));
            below.count += 1;
            below.retained += retained;
            if retained > *most {
                (below.object, *most) = (object, retained);
            }
            at = store.get(&children.next, at as usize)?;
        }
        let mut below: Vec<Below> = classes.into_values().map(|(below, _)| below).collect();
        below.sort_by_key(|below| (std::cmp::Reverse(below.retained), below.object));
        below.truncate(MOST);
        Ok(below)
    }

    /// The first objects of a class that only roots dominate and that are no suspects
    /// by themselves.
    fn group(
        &self,
        store: &mut Store,
        children: &Children,
        class: u32,
        least: u64,
    ) -> io::Result<Vec<u32>> {
        let mut objects = Vec::new();
        let mut at = store.get(&children.child, 0)?;
        while at != 0 {
            let retained = self.retained_by(store, at)?;
            if retained < least && self.class_at(store, at)? == class {
                objects.push((retained, self.object_at(store, at)?));
                if objects.len() == 2 * MOST_WAYS {
                    keep_largest(&mut objects);
                }
            }
            at = store.get(&children.next, at as usize)?;
        }
        keep_largest(&mut objects);
        Ok(objects.into_iter().map(|(_, object)| object).collect())
    }
}

fn keep_largest(objects: &mut Vec<(u64, u32)>) {
    objects.sort_by_key(|(retained, object)| (std::cmp::Reverse(*retained), *object));
    objects.truncate(MOST_WAYS);
}

/// The last object from the roots on that nearly all ways to `objects` go through.
fn common(objects: &[u32], ways: &Ways) -> Option<u32> {
    // How many ways go through each object, and how far it is from its object at most.
    let mut through: HashMap<u32, (usize, usize)> = HashMap::new();
    for object in objects {
        let mut at = *object;
        for steps in 1..=LONGEST_WAY {
            let Some(before) = ways.before(at) else {
                break;
            };
            let (count, most) = through.entry(before).or_default();
            *count += 1;
            *most = (*most).max(steps);
            at = before;
        }
    }
    let enough = (objects.len() * NEARLY_ALL as usize).div_ceil(100);
    let shared = through
        .into_iter()
        .filter(|(_, (count, _))| *count >= enough);
    let nearest = shared.min_by_key(|(object, (_, steps))| (*steps, *object));
    nearest.map(|(object, _)| object)
}
