//! Notes redefinitions of classes, because they may change the line numbers of methods.
//!
//! When a class is redefined, its methods keep their ids, but their code may be new. For example, after probes were
//! inserted, an offset in the code belongs to another line.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

/// The number of seconds after which a redefinition that the hook has seen counts as done. The hook sees a redefinition
/// before it happens: the JVM then checks the new code, and stops the program. Times are rounded to whole seconds, so
/// at least one second passes.
const DONE_AFTER: u32 = 2;

/// Shows when the line numbers of methods must be read again.
pub(crate) struct Redefinitions {
    began: Instant,
    /// The time of the last redefinition that the hook has seen, as [`now`](Redefinitions::now) returns it; 0 before
    /// the first redefinition.
    last: AtomicU32,
    version: AtomicU32,
    /// True if the hook has been enabled since the start of the program, so that it sees every redefinition.
    are_all_seen: AtomicBool,
}

impl Redefinitions {
    pub(crate) fn new() -> Self {
        Redefinitions {
            began: Instant::now(),
            last: AtomicU32::new(0),
            version: AtomicU32::new(DONE_AFTER),
            are_all_seen: AtomicBool::new(false),
        }
    }

    /// Notes that the hook is enabled at the start of the program, and stays enabled.
    pub(crate) fn begin_to_see_all(&self) {
        self.are_all_seen.store(true, Ordering::Relaxed);
    }

    /// Notes that a class is about to be redefined.
    pub(crate) fn note(&self) {
        self.note_at(self.now());
    }

    /// Returns true if surely no class has been redefined or is about to be redefined.
    pub(crate) fn are_excluded(&self) -> bool {
        self.are_all_seen.load(Ordering::Relaxed) && self.last.load(Ordering::Relaxed) == 0
    }

    /// Returns the version of the line numbers of all methods. The version grows after redefinitions, for the last time
    /// when all of them are done. While redefinitions follow one another, the version grows only every few seconds,
    /// because each new version makes the agent read lines again.
    pub(crate) fn version(&self) -> u32 {
        let version = self.version.load(Ordering::Relaxed);
        if self.are_done_by(version) {
            return version;
        }
        self.version_at(self.now())
    }

    /// Returns the seconds since `began`, plus [`DONE_AFTER`].
    fn now(&self) -> u32 {
        let seconds = u32::try_from(self.began.elapsed().as_secs()).unwrap_or(u32::MAX);
        seconds.saturating_add(DONE_AFTER)
    }

    fn are_done_by(&self, time: u32) -> bool {
        time.saturating_sub(DONE_AFTER) >= self.last.load(Ordering::Relaxed)
    }

    fn note_at(&self, now: u32) {
        self.last.fetch_max(now, Ordering::Relaxed);
    }

    fn version_at(&self, now: u32) -> u32 {
        let version = self.version.load(Ordering::Relaxed);
        if self.are_done_by(version) || now.saturating_sub(version) < DONE_AFTER {
            return version;
        }
        self.version.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redefinitions_are_excluded_while_the_hook_sees_none() {
        let redefinitions = Redefinitions::new();
        assert!(!redefinitions.are_excluded(), "the hook may be disabled");
        redefinitions.begin_to_see_all();
        assert!(redefinitions.are_excluded());
        redefinitions.note();
        assert!(!redefinitions.are_excluded());
    }

    #[test]
    fn versions_grow_until_redefinitions_are_done() {
        let redefinitions = Redefinitions::new();
        let first = redefinitions.version_at(100);
        assert_eq!(
            redefinitions.version_at(200),
            first,
            "no class is redefined"
        );
        redefinitions.note_at(300);
        for (now, version) in [(300, 300), (301, 300), (302, 302), (309, 302)] {
            assert_eq!(redefinitions.version_at(now), version, "{now}");
        }
        redefinitions.note_at(310);
        assert_eq!(redefinitions.version_at(310), 310);
        redefinitions.note_at(311);
        for (now, version) in [(311, 310), (312, 312), (313, 312), (314, 314), (399, 314)] {
            assert_eq!(redefinitions.version_at(now), version, "{now}");
        }
    }
}
