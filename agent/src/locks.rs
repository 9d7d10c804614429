//! Locks that stay usable after a panic.
//!
//! A thread that panics while it holds a lock poisons the lock. The agent continues with the value as it is. So if a
//! change under a lock has several steps, the value must be usable after each step. At worst, a panic between two steps
//! makes a count lack one event, or leaves one object unfollowed. A change that must be undone later, such as the count
//! of readers in `weak_values`, is undone by the `drop` of a guard.

use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockError,
};
use std::time::Duration;

/// Locks a mutex, poisoned or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex, poisoned or not; `None` if another thread holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Locks a value for reading, poisoned or not.
pub(crate) fn read<T>(value: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    value.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a value for writing, poisoned or not.
pub(crate) fn write<T>(value: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    value.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a notification, at most for `time`. The lock is released meanwhile.
pub(crate) fn wait<'m, T>(
    changed: &Condvar,
    guard: MutexGuard<'m, T>,
    time: Duration,
) -> MutexGuard<'m, T> {
    let waited = changed.wait_timeout(guard, time);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poisoned_lock_is_usable() {
        let mutex = Mutex::new(1);
        let panicked = std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _guard = mutex.lock();
                panic!("while it holds the lock");
            });
            holder.join().is_err()
        });
        assert!(panicked && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 1);
        let guard = try_lock(&mutex);
        assert!(guard.is_some() && try_lock(&mutex).is_none());
    }
}
