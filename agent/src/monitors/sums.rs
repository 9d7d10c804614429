//! The number and the time of waits, by place and by the thread that waited.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use loadhook_profile::WaitKind;

use super::frames::Who;
use crate::frames::numbers::Numbers;
use crate::jvm::jvmti_stacks::StackFrame;

/// Number of sums that are kept. Waits with further ones are only counted.
const MOST_SUMS: usize = 100_000;

/// Number of frames of all places that are kept, 16 bytes each.
const MOST_FRAMES: usize = 4_000_000;

/// A place in the program where threads wait, with the class of what they wait for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) kind: WaitKind,
    pub(super) class: Arc<str>,
    /// The stack of the thread, innermost first.
    pub(super) frames: Arc<[StackFrame]>,
}

/// The threads whose waits are summed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Waiters {
    /// All threads.
    All,
    /// The thread with this id.
    Thread(u64),
}

/// The sum of waits.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    /// The first thread that waited.
    pub(super) first: Who,
    pub(super) count: u64,
    pub(super) time: Duration,
}

/// The sums of all waits.
#[derive(Clone, Default)]
pub(super) struct Sums {
    places: Numbers<Place>,
    /// Number of frames of all places.
    frames: usize,
    sums: HashMap<(Waiters, u32), Sum>,
    /// Number of waits that no sum has.
    lost: u64,
}

impl Sums {
    /// The number of a place; `None` if there is no room for it.
    pub(super) fn place(&mut self, place: Place) -> Option<u32> {
        let (known, frames) = (self.places.all().len(), place.frames.len());
        let most = if self.frames < MOST_FRAMES {
            MOST_SUMS
        } else {
            known
        };
        let number = self.places.number(place, most);
        if self.places.all().len() > known {
            self.frames += frames;
        }
        number
    }

    /// Adds a wait of a thread at a place.
    pub(super) fn add(&mut self, waiters: Waiters, place: Option<u32>, who: Who, time: Duration) {
        let key = place.map(|place| (waiters, place));
        let has_room = self.sums.len() < MOST_SUMS;
        let Some(key) = key.filter(|key| has_room || self.sums.contains_key(key)) else {
            self.lost += 1;
            return;
        };
        let sum = self.sums.entry(key).or_insert(Sum {
            first: who,
            count: 0,
            time: Duration::ZERO,
        });
        sum.count += 1;
        sum.time += time;
    }

    /// All sums with their places.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Waiters, &Place, &Sum)> {
        let places = self.places.all();
        let sums = self.sums.iter();
        sums.map(|((waiters, place), sum)| (waiters, &places[*place as usize], sum))
    }

    /// Number of waits that no sum has.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_a_bound() {
        let mut sums = Sums::default();
        let mut wait = |number: usize| {
            let place = sums.place(Place {
                kind: WaitKind::Monitor,
                class: number.to_string().into(),
                frames: Arc::default(),
            });
            let who = Who {
                id: 1,
                is_virtual: false,
            };
            sums.add(Waiters::All, place, who, Duration::ZERO);
        };
        for number in (0..=MOST_SUMS).chain([0]) {
            wait(number);
        }
        assert_eq!((sums.all().count(), sums.lost()), (MOST_SUMS, 1));
        let twice = sums.all().find(|(_, place, _)| &*place.class == "0");
        assert_eq!(twice.map(|(_, _, sum)| sum.count), Some(2));
    }
}
