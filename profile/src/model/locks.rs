//! Waits of threads for each other.

/// The kind of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// To enter a monitor that another thread owns.
    Monitor,
    /// Parked for a lock or semaphore of `java.util.concurrent`.
    Lock,
    /// In `Object.wait`.
    Notification,
    /// Parked for anything else, for example for a condition, a result or work.
    Park,
}

impl WaitKind {
    /// Returns whether the thread waited for something that others had, and not for something that others do.
    pub fn is_contention(self) -> bool {
        matches!(self, WaitKind::Monitor | WaitKind::Lock)
    }
}
