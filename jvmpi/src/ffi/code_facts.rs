//! Facts about the code of methods, kept until classes are retransformed. After that, a method has the same id, but
//! other code with other offsets.
//!
//! Other agents retransform classes, too. Only the class-load hook shows such a change, just before the code changes.
//! So facts are kept only while the hook is on. Facts that are read shortly after a change was noticed are not kept,
//! because they may be about the old code. Facts that are read shortly after the hook was switched on are not kept
//! either, because a change may have begun before, unnoticed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use loadhook_jvm::jvmti::MethodKey;

use super::own;

/// True while the class-load hook is on.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// The time when the last change was noticed or the hook was switched on, in nanoseconds.
static NOTICED: AtomicI64 = AtomicI64::new(0);
/// The time after which a change that the hook has shown counts as made, in nanoseconds. It is a guess, because nothing
/// tells when the JVM makes the change. If the JVM takes longer, facts about the old code are kept until a class is
/// changed again.
const SETTLING: i64 = if cfg!(test) {
    i64::MAX / 2
} else {
    1_000_000_000
};

/// Number of changes of code so far.
static CHANGES: AtomicU32 = AtomicU32::new(0);
/// Number of retransforms by the layer that are under way.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// Notes that the class-load hook is on, or that it is about to be switched off. Changes that began while it was off
/// may still come.
pub(super) fn set_watched(is_watched: bool) {
    notice();
    IS_WATCHED.store(is_watched, Ordering::SeqCst);
}

/// Notes that the hook has seen new code for a class, perhaps code of another agent. The class gets this code soon.
pub(super) fn notice() {
    NOTICED.store(own::now(), Ordering::SeqCst);
    changed();
}

fn changed() {
    CHANGES.fetch_add(1, Ordering::SeqCst);
}

/// Runs `retransform`. Facts that are read meanwhile are not kept, since they may be about the old or the new code.
pub(super) fn while_changing<T>(retransform: impl FnOnce() -> T) -> T {
    UNDER_WAY.fetch_add(1, Ordering::SeqCst);
    let result = retransform();
    changed();
    UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Returns the number of changes so far; `None` while code is changing, or may change unnoticed.
fn changes() -> Option<u32> {
    let is_changing = UNDER_WAY.load(Ordering::SeqCst) != 0;
    let is_watched = IS_WATCHED.load(Ordering::SeqCst);
    (is_watched && !is_changing).then(|| CHANGES.load(Ordering::SeqCst))
}

fn has_settled() -> bool {
    own::now().saturating_sub(NOTICED.load(Ordering::SeqCst)) > SETTLING
}

/// A fact about each method.
pub(super) struct Facts<T>(RwLock<Option<Known<T>>>);

struct Known<T> {
    /// The number of changes when `by_method` was read.
    changes: u32,
    by_method: HashMap<MethodKey, T>,
}

impl<T: Clone> Facts<T> {
    pub(super) const fn new() -> Self {
        Facts(RwLock::new(None))
    }

    /// Returns the fact about a method. Calls `read` if the fact is not known, or if code has changed since the fact
    /// was read.
    pub(super) fn get(&self, method: MethodKey, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = changes();
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let known = known.as_ref().filter(|it| Some(it.changes) == before);
            if let Some(fact) = known.and_then(|it| it.by_method.get(&method)) {
                return Some(fact.clone());
            }
        }
        let fact = read()?;
        if let Some(now) = before.filter(|_| changes() == before && has_settled()) {
            self.insert(now, method, fact.clone());
        }
        Some(fact)
    }

    fn insert(&self, changes: u32, method: MethodKey, fact: T) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = match known.as_mut() {
            Some(known) if known.changes == changes => known,
            _ => known.insert(Known {
                changes,
                by_method: HashMap::new(),
            }),
        };
        known.by_method.insert(method, fact);
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::without_provenance_mut;

    use super::*;

    #[test]
    fn facts_are_read_again_after_a_change() {
        let facts = Facts::new();
        let method = MethodKey(without_provenance_mut(8));
        let get = |read: Option<i32>| facts.get(method, || read);
        assert_eq!(get(None), None);
        assert_eq!(get(Some(9)), Some(9));
        // Without the hook, nothing is kept.
        assert_eq!(get(Some(1)), Some(1));
        set_watched(true);
        // A change may have begun before the hook was on.
        assert_eq!(get(Some(1)), Some(1));
        assert_eq!(get(Some(2)), Some(2));
        NOTICED.store(i64::MIN / 2, Ordering::SeqCst);
        assert_eq!(get(Some(1)), Some(1));
        assert_eq!(get(Some(2)), Some(1));
        changed();
        assert_eq!(get(Some(3)), Some(3));
        assert_eq!(get(Some(4)), Some(3));
        while_changing(|| assert_eq!(get(Some(5)), Some(5)));
        assert_eq!(get(Some(6)), Some(6));
        // The code changes while the fact is read.
        changed();
        let read = || {
            changed();
            Some(7)
        };
        assert_eq!(facts.get(method, read), Some(7));
        assert_eq!(get(Some(8)), Some(8));
        assert_eq!(get(Some(9)), Some(8));
        // Another agent retransforms classes. Nobody knows when the code has changed.
        notice();
        assert_eq!(get(Some(10)), Some(10));
        assert_eq!(get(Some(11)), Some(11));
    }
}
