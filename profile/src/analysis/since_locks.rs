//! The waits of the time between two profiles of one program.

use std::collections::HashMap;

use super::since_allocations::Places;
use crate::model::{Holder, LockWait, Locks, Profile, ThreadKind, WaitKey};

/// Subtracts the waits of `earlier`. `methods` and `threads` map the indexes in `earlier` to the indexes in `later`.
/// Waits of threads that have ended meanwhile are subtracted from groups of ended threads.
pub(super) fn since(
    earlier: &Profile,
    later: &Profile,
    methods: &[Option<u32>],
    threads: &[Option<u32>],
) -> Option<Locks> {
    let all = later.locks.as_ref()?;
    let Some(before) = &earlier.locks else {
        return Some(all.clone());
    };
    let mut places = Places::default();
    let old_places = places.of(&before.frames, |method| methods[method as usize]);
    let new_places = places.of(&all.frames, Some);
    let mut debts: HashMap<(bool, WaitKey), (u64, u64)> = HashMap::new();
    for wait in &before.waits {
        let is_known = |frame: u32| old_places[frame as usize].is_some();
        if !wait.frame.is_none_or(is_known) {
            continue;
        }
        let thread = threads[wait.thread as usize];
        let key = (
            thread.is_some(),
            key(wait, thread.unwrap_or(0), &old_places),
        );
        let debt = debts.entry(key).or_default();
        *debt = (debt.0 + wait.count, debt.1 + wait.ns);
    }
    let mut waits = all.waits.clone();
    for wait in &mut waits {
        let is_ended = later.threads[wait.thread as usize].kind == ThreadKind::Ended;
        let of_ended = is_ended.then_some((false, 0));
        for (is_known, thread) in [(true, wait.thread)].into_iter().chain(of_ended) {
            if let Some(debt) = debts.get_mut(&(is_known, key(wait, thread, &new_places))) {
                let (count, ns) = (wait.count.min(debt.0), wait.ns.min(debt.1));
                *debt = (debt.0 - count, debt.1 - ns);
                wait.count -= count;
                wait.ns -= ns;
            }
        }
    }
    waits.retain(|wait| wait.count > 0);
    Some(Locks {
        frames: all.frames.clone(),
        waits,
    })
}

/// Returns the key of a wait. The numbers in `places` replace the frames of the wait, because these numbers are the
/// same in both profiles.
fn key(wait: &LockWait, thread: u32, places: &[Option<u32>]) -> WaitKey {
    let place = |frame: Option<u32>| frame.and_then(|frame| places[frame as usize]);
    let holder = wait.holder.clone().map(|holder| Holder {
        frame: place(holder.frame),
        ..holder
    });
    let class = wait.class.clone();
    (wait.kind, thread, class, place(wait.frame), holder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Frame, Method, ThreadTree, WaitKind};

    /// Returns a profile with the waits of a thread, the first one for the class `0`. A thread without an id has ended.
    fn profile(thread: Option<u64>, waits: &[(u64, u64)]) -> Profile {
        let frame = Frame {
            parent: None,
            method: 0,
            line: Some(7),
            bci: None,
        };
        let wait = |(at, (count, ns)): (usize, &(u64, u64))| LockWait {
            kind: WaitKind::Lock,
            thread: 0,
            class: at.to_string().into(),
            frame: Some(0),
            holder: Some(Holder {
                thread: "holder".into(),
                frame: Some(0),
            }),
            count: *count,
            ns: *ns,
        };
        let kind = match thread {
            Some(_) => ThreadKind::Platform,
            None => ThreadKind::Ended,
        };
        Profile {
            methods: vec![Method::new("a.A", "a", "()V")],
            threads: vec![ThreadTree {
                name: "worker-#".into(),
                id: thread,
                kind,
                cpu_ns: None,
                nodes: Vec::new(),
            }],
            locks: Some(Locks {
                frames: vec![frame],
                waits: waits.iter().enumerate().map(wait).collect(),
            }),
            ..Profile::default()
        }
    }

    fn amounts(between: Profile) -> Vec<(u64, u64)> {
        let waits = between.locks.expect("both have locks").waits;
        waits.iter().map(|wait| (wait.count, wait.ns)).collect()
    }

    #[test]
    fn waits_are_subtracted_by_place_class_and_holder() {
        let earlier = profile(Some(1), &[(3, 30), (4, 40)]);
        // In the second round the thread has ended.
        for later_thread in [Some(1), None] {
            let later = profile(later_thread, &[(5, 50), (4, 40), (1, 10)]);
            let between = crate::since(&earlier, &later);
            assert_eq!(amounts(between), [(2, 20), (1, 10)]);
        }
    }

    #[test]
    fn waits_of_ended_threads_are_not_subtracted_from_others() {
        let earlier = profile(Some(1), &[(3, 30)]);
        let mut later = profile(Some(2), &[(1, 10)]);
        let ended = profile(None, &[(5, 50)]);
        later.threads.extend(ended.threads);
        let waits = ended.locks.expect("it has locks").waits;
        let waits = waits.into_iter().map(|wait| LockWait { thread: 1, ..wait });
        later
            .locks
            .as_mut()
            .expect("it has locks")
            .waits
            .extend(waits);
        let between = crate::since(&earlier, &later);
        assert_eq!(amounts(between), [(1, 10), (2, 20)]);
    }
}
