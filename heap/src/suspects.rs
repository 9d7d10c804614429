//! Finds leak suspects: few objects that retain much memory. The accumulation point of a suspect is the place
//! below which this memory is spread over many objects.

use std::collections::HashMap;
use std::io;

use crate::dominators::{Children, Dominators};
use crate::shortest_paths::ShortestPaths;
use crate::store::Store;

/// Maximum number of suspects, of objects in a suspect, and of dominated classes in a suspect.
const MOST: usize = 10;

/// A suspect retains at least this percentage of all bytes.
pub const THRESHOLD: u64 = 10;

/// The path to the accumulation point continues as long as a dominated object retains at least this
/// percentage of the suspect's retained bytes.
const NEARLY_ALL: u64 = 80;

/// Maximum number of objects of a class whose paths to the roots are compared.
const MOST_PATHS: usize = 1000;

/// Maximum number of objects on a path that are compared.
const LONGEST_PATH: usize = 1000;

/// An object that retains much memory, or the objects of one class that do so together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The single object. For a class, its objects that only roots dominate: at most 10, the largest first.
    pub objects: Vec<u32>,
    /// Number of all these objects, including those not listed.
    pub count: u64,
    /// Bytes that these objects retain together.
    pub retained: u64,
    /// For a single object, the path down the dominator tree to the accumulation point. Each object on the path
    /// retains nearly all bytes that the single object retains. For a class, only the nearest object through
    /// which nearly all paths from the roots lead; empty if there is none.
    pub path_down: Vec<u32>,
    /// The objects that the accumulation point dominates, by class: at most 10 classes, those that retain most
    /// first.
    pub dominated: Vec<DominatedClass>,
}

/// Objects of one class that an accumulation point dominates immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DominatedClass {
    /// The object of the class that retains most.
    pub object: u32,
    /// Number of objects of the class.
    pub count: u64,
    /// Bytes that these objects retain.
    pub retained: u64,
}

impl Dominators<'_> {
    /// Finds the leak suspects: single objects that retain at least [`THRESHOLD`] percent of all bytes, and classes
    /// whose objects together retain as much, not counting the single objects. The largest come first.
    #[must_use]
    pub fn suspects(&self, paths: &ShortestPaths) -> Vec<Suspect> {
        let mut suspects = self.query(|store| self.suspects_in(store));
        for suspect in &mut suspects {
            if suspect.count > 1 {
                suspect.path_down = common(&suspect.objects, paths).into_iter().collect();
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
                    path_down: Vec::new(),
                    dominated: Vec::new(),
                });
            }
        }
        children.free(store);
        suspects.sort_by_key(|suspect| std::cmp::Reverse(suspect.retained));
        suspects.truncate(MOST);
        Ok(suspects)
    }

    /// Makes the suspect of a single object, with its accumulation point.
    fn object(&self, store: &mut Store, children: &Children, number: u32) -> io::Result<Suspect> {
        let retained = self.retained_by(store, number)?;
        // Compare with the suspect, not with the object before: in a linked list, each object
        // retains nearly all bytes of the object before it, down to the end.
        let nearly_all = (retained * NEARLY_ALL).div_ceil(100);
        let mut down = vec![self.object_at(store, number)?];
        let mut point = number;
        while let Some(largest) = self.largest_below(store, children, point)? {
            if self.retained_by(store, largest)? < nearly_all {
                break;
            }
            down.push(self.object_at(store, largest)?);
            point = largest;
        }
        Ok(Suspect {
            objects: down[..1].to_vec(),
            count: 1,
            retained,
            dominated: self.dominated(store, children, point)?,
            path_down: down,
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

    fn dominated(
        &self,
        store: &mut Store,
        children: &Children,
        number: u32,
    ) -> io::Result<Vec<DominatedClass>> {
        // For each class, also the bytes of its largest object.
        let mut classes: HashMap<u32, (DominatedClass, u64)> = HashMap::new();
        let mut at = store.get(&children.child, number as usize)?;
        while at != 0 {
            let retained = self.retained_by(store, at)?;
            let object = self.object_at(store, at)?;
            let none = DominatedClass {
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
        let mut below: Vec<DominatedClass> =
            classes.into_values().map(|(below, _)| below).collect();
        below.sort_by_key(|below| (std::cmp::Reverse(below.retained), below.object));
        below.truncate(MOST);
        Ok(below)
    }

    /// Returns the largest objects of a class among those that only roots dominate. Objects that
    /// retain `least` bytes or more are suspects themselves, and are left out.
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
                if objects.len() == 2 * MOST_PATHS {
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
    objects.truncate(MOST_PATHS);
}

/// Finds the object nearest to `objects` through which nearly all of their paths from the roots lead.
fn common(objects: &[u32], paths: &ShortestPaths) -> Option<u32> {
    // For each object, the number of paths through it, and its largest distance
    // from the end of a path.
    let mut through: HashMap<u32, (usize, usize)> = HashMap::new();
    for object in objects {
        let mut at = *object;
        for steps in 1..=LONGEST_PATH {
            let Some(before) = paths.previous(at) else {
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
