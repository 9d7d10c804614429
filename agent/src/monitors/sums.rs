//! Sums up the number and the time of waits, by place and by the thread that waited.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use loadhook_profile::WaitKind;

use super::frames::Who;
use crate::frames::numbers::Numbers;
use crate::jvm::jvmti_stacks::StackFrame;
use crate::threads::groups::Groups;

/// Maximum number of sums that are kept, and maximum number of places. Waits that would need a further sum are only
/// counted.
const MOST_SUMS: usize = 100_000;

/// Maximum number of frames of all places together. Each frame takes 16 bytes.
const MOST_FRAMES: usize = 4_000_000;

/// A place in the program where threads wait, and the class of the object for which they wait.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) kind: WaitKind,
    pub(super) class: Arc<str>,
    /// The stack of the waiting thread, innermost frame first.
    pub(super) frames: Arc<[StackFrame]>,
    /// The thread that holds the monitor or lock, if it was requested and found.
    pub(super) holder: Option<Holder>,
}

/// A thread that holds a monitor or lock.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Holder {
    /// The name of the thread, in which `#` stands for numbers.
    pub(super) thread: Arc<str>,
    /// The stack of the thread, innermost frame first.
    pub(super) frames: Arc<[StackFrame]>,
}

/// The threads whose waits are summed up together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Waiters {
    /// All threads.
    All,
    /// The platform thread with this id.
    Thread(u64),
    /// All virtual threads.
    Virtual,
    /// Threads that have ended, by the number of their group in [`Sums::groups`].
    Group(u32),
}

/// The sum of several waits.
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
    /// The sums, by the threads that waited and by the number of the place.
    waiters: HashMap<Waiters, HashMap<u32, Sum>>,
    /// Number of sums.
    len: usize,
    numbers: Groups,
    /// The names of groups of ended threads.
    groups: Vec<Arc<str>>,
    /// Number of waits that are in no sum.
    lost: u64,
}

impl Sums {
    /// Returns the number of a place; `None` if there is no room for the place. When half of the room is used, a new
    /// place is kept without its holder. Nearly every holder makes a different place, and the other half of the room is
    /// needed to count all further waits.
    pub(super) fn place(&mut self, mut place: Place) -> Option<u32> {
        let known = self.places.all().len();
        let is_half_full = known >= MOST_SUMS / 2 || self.frames >= MOST_FRAMES / 2;
        if is_half_full && place.holder.is_some() && !self.places.has(&place) {
            place.holder = None;
        }
        let held = place.holder.as_ref().map_or(0, |held| held.frames.len());
        let frames = place.frames.len() + held;
        let has_room = self.frames < MOST_FRAMES;
        let most = if has_room { MOST_SUMS } else { known };
        let number = self.places.number(place, most);
        if self.places.all().len() > known {
            self.frames += frames;
        }
        number
    }

    /// Adds a wait of a thread at a place.
    pub(super) fn add(&mut self, waiters: Waiters, place: Option<u32>, who: Who, time: Duration) {
        let Some(place) = place.and_then(|place| self.place_of_sum(&waiters, place)) else {
            self.lost += 1;
            return;
        };
        let sum = Sum {
            first: who,
            count: 1,
            time,
        };
        self.add_sum(waiters, place, sum);
    }

    /// Returns the number of the place to which a wait at the place `number` is added. If half of the room for sums is
    /// used, and the wait would need a new sum, this is a copy of the place without its holder.
    fn place_of_sum(&mut self, waiters: &Waiters, number: u32) -> Option<u32> {
        let place = &self.places.all()[number as usize];
        let sums = self.waiters.get(waiters);
        let is_known = sums.is_some_and(|sums| sums.contains_key(&number));
        if is_known || place.holder.is_none() || self.len < MOST_SUMS / 2 {
            return Some(number);
        }
        let without_holder = Place {
            holder: None,
            ..place.clone()
        };
        self.place(without_holder)
    }

    fn add_sum(&mut self, waiters: Waiters, place: u32, more: Sum) {
        let has_room = self.len < MOST_SUMS;
        let sums = self.waiters.entry(waiters).or_default();
        match sums.get_mut(&place) {
            Some(sum) => {
                sum.count += more.count;
                sum.time += more.time;
            }
            None if has_room => {
                sums.insert(place, more);
                self.len += 1;
            }
            None => self.lost += more.count,
        }
    }

    /// Moves the sums of an ended thread to the group of the ended threads whose names differ from its name at most in
    /// numbers.
    pub(super) fn thread_ends(&mut self, id: u64, name: &str) {
        let Some(sums) = self.waiters.remove(&Waiters::Thread(id)) else {
            return;
        };
        self.len -= sums.len();
        let groups = &mut self.groups;
        let group = self.numbers.number(name, |name| {
            groups.push(name);
            groups.len() as u32 - 1
        });
        for (place, sum) in sums {
            self.add_sum(Waiters::Group(group), place, sum);
        }
    }

    /// Returns all sums with their waiters and places.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Waiters, &Place, &Sum)> {
        let places = self.places.all();
        self.waiters.iter().flat_map(move |(waiters, sums)| {
            let sums = sums.iter();
            sums.map(move |(place, sum)| (waiters, &places[*place as usize], sum))
        })
    }

    /// Returns the places and sums without the parts of the sums that `shown` has. `shown` must be an earlier state of
    /// these sums. Sums of which nothing remains are left out.
    pub(super) fn without<'s>(&'s self, shown: &'s Sums) -> impl Iterator<Item = (&'s Place, Sum)> {
        let places = self.places.all();
        self.waiters.iter().flat_map(move |(waiters, sums)| {
            let shown = shown.waiters.get(waiters);
            sums.iter().filter_map(move |(place, sum)| {
                let mut rest = *sum;
                if let Some(shown) = shown.and_then(|shown| shown.get(place)) {
                    rest.count = sum.count.saturating_sub(shown.count);
                    rest.time = sum.time.saturating_sub(shown.time);
                }
                (rest.count > 0).then(|| (&places[*place as usize], rest))
            })
        })
    }

    /// Returns the name of a group of ended threads.
    pub(super) fn group(&self, number: u32) -> Arc<str> {
        self.groups
            .get(number as usize)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the number of waits that are in no sum.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;
    use crate::jvm::sys::FrameInfo;

    const WHO: Who = Who {
        id: 1,
        is_virtual: false,
    };

    fn place(sums: &mut Sums, class: &str) -> Option<u32> {
        sums.place(Place {
            kind: WaitKind::Monitor,
            class: class.into(),
            frames: Arc::default(),
            holder: None,
        })
    }

    #[test]
    fn sums_have_a_bound() {
        let mut sums = Sums::default();
        for number in (0..=MOST_SUMS).chain([0]) {
            let place = place(&mut sums, &number.to_string());
            sums.add(Waiters::All, place, WHO, Duration::ZERO);
        }
        assert_eq!((sums.all().count(), sums.lost()), (MOST_SUMS, 1));
        let twice = sums.all().find(|(_, place, _)| &*place.class == "0");
        assert_eq!(twice.map(|(_, _, sum)| sum.count), Some(2));
    }

    /// Adds a place with a holder whose stack has `frames` frames. Everything but the holder is the same in all calls.
    /// Returns the number of the place.
    fn held(sums: &mut Sums, holder: usize, frames: usize) -> Option<u32> {
        let frame = StackFrame::of(&FrameInfo {
            method: null_mut(),
            location: 0,
        });
        sums.place(Place {
            kind: WaitKind::Lock,
            class: "a.Lock".into(),
            frames: Arc::default(),
            holder: Some(Holder {
                thread: holder.to_string().into(),
                frames: vec![frame; frames].into(),
            }),
        })
    }

    /// Checks that all `waits` were counted, and that there is still room for places of other classes.
    fn assert_nothing_is_lost(mut sums: Sums, waits: u64) {
        for number in 0..1_000 {
            let place = place(&mut sums, &number.to_string());
            sums.add(Waiters::All, place, WHO, Duration::ZERO);
        }
        let count: u64 = sums.all().map(|(.., sum)| sum.count).sum();
        assert_eq!((sums.lost(), count), (0, waits + 1_000));
    }

    #[test]
    fn holders_leave_room_for_other_places() {
        let mut sums = Sums::default();
        for holder in 0..MOST_SUMS + 1 {
            let place = held(&mut sums, holder, 0);
            sums.add(Waiters::All, place, WHO, Duration::ZERO);
        }
        let first = held(&mut sums, 0, 0).map(|place| &sums.places.all()[place as usize]);
        assert!(first.is_some_and(|place| place.holder.is_some()));
        assert_nothing_is_lost(sums, MOST_SUMS as u64 + 1);
    }

    #[test]
    fn stacks_of_holders_leave_room_for_other_places() {
        let mut sums = Sums {
            frames: MOST_FRAMES / 2 - 1,
            ..Sums::default()
        };
        let held = [0, 1].map(|holder| held(&mut sums, holder, 1));
        let has_holder = held.map(|place| {
            let place = place.map(|place| &sums.places.all()[place as usize]);
            place.is_some_and(|place| place.holder.is_some())
        });
        assert_eq!(has_holder, [true, false]);
    }

    #[test]
    fn holders_leave_room_for_sums_of_other_places() {
        let (threads, holders) = (400, 300);
        let mut sums = Sums::default();
        for holder in 0..holders {
            let place = held(&mut sums, holder as usize, 0);
            for id in 0..threads {
                sums.add(Waiters::Thread(id), place, WHO, Duration::ZERO);
            }
        }
        assert_nothing_is_lost(sums, threads * holders);
    }

    #[test]
    fn shown_waits_are_left_out() {
        let mut sums = Sums::default();
        let [old, grown, new] = ["a.Old", "a.Grown", "a.New"].map(|class| place(&mut sums, class));
        for place in [old, grown] {
            sums.add(Waiters::All, place, WHO, Duration::from_millis(1));
        }
        let shown = sums.clone();
        for place in [grown, new] {
            sums.add(Waiters::All, place, WHO, Duration::from_millis(2));
        }
        let rest = sums.without(&shown);
        let mut rest: Vec<_> = rest
            .map(|(place, sum)| (&*place.class, sum.count, sum.time.as_millis()))
            .collect();
        rest.sort_unstable();
        assert_eq!(rest, [("a.Grown", 1, 2), ("a.New", 1, 2)]);
    }

    #[test]
    fn ended_threads_are_summed_by_name() {
        let mut sums = Sums::default();
        let place = place(&mut sums, "a.Lock");
        for id in 1..=3 {
            sums.add(Waiters::Thread(id), place, WHO, Duration::from_millis(id));
        }
        sums.thread_ends(1, "worker-1");
        sums.thread_ends(2, "worker-2");
        sums.thread_ends(9, "never waited");
        assert_eq!(sums.len, 2);
        let group = sums.all().find(|(who, ..)| **who == Waiters::Group(0));
        let sum = group.map(|(_, _, sum)| (sum.count, sum.time.as_millis()));
        assert_eq!((sum, &*sums.group(0)), (Some((2, 3)), "worker-#"));
    }
}
