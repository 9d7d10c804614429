//! The events of `Object.wait` and `Thread.sleep`, for HPROF.

use loadhook_profile::format::hprof::WaitEvent;

use super::frames::Who;

/// Maximum number of events of `Object.wait` that are kept, and of events of `Thread.sleep`. Further events are only
/// counted. The bounds are apart, because many programs sleep often.
const MOST: usize = 10_000;

/// An event for HPROF: a thread begins or ends to wait in `Object.wait`, or begins to sleep.
#[derive(Clone)]
pub(super) struct Event {
    pub(super) thread: Who,
    pub(super) event: WaitEvent,
}

impl Event {
    fn is_sleep(&self) -> bool {
        matches!(self.event, WaitEvent::Sleeps { .. })
    }
}

/// Numbers of events that were not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Events of `Object.wait`.
    pub(super) waits: u64,
    /// Events of `Thread.sleep`.
    pub(super) sleeps: u64,
}

/// The events so far, in the order of time.
#[derive(Default)]
pub(super) struct Events {
    kept: Vec<Event>,
    /// Number of events of `Thread.sleep` among them.
    sleeps: usize,
    lost: Lost,
}

impl Events {
    /// Adds an event, or counts it if there is no room for it.
    pub(super) fn add(&mut self, event: Event) {
        if event.is_sleep() {
            if !self.takes_sleep() {
                return;
            }
            self.sleeps += 1;
        } else if self.kept.len() - self.sleeps >= MOST {
            self.lost.waits += 1;
            return;
        }
        self.kept.push(event);
    }

    /// Returns whether there is room for an event of `Thread.sleep`, and counts the event if there is none.
    pub(super) fn takes_sleep(&mut self) -> bool {
        let has_room = self.sleeps < MOST;
        self.lost.sleeps += u64::from(!has_room);
        has_room
    }

    /// Returns the events that were kept.
    pub(super) fn kept(&self) -> &[Event] {
        &self.kept
    }

    /// Returns how many events were not kept.
    pub(super) fn lost(&self) -> Lost {
        self.lost
    }

    /// Forgets the first `kept` events, and `lost` of those that were not kept.
    pub(super) fn forget(&mut self, kept: usize, lost: Lost) {
        let kept = kept.min(self.kept.len());
        let forgotten = self.kept.drain(..kept);
        self.sleeps -= forgotten.filter(Event::is_sleep).count();
        self.lost.waits = self.lost.waits.saturating_sub(lost.waits);
        self.lost.sleeps = self.lost.sleeps.saturating_sub(lost.sleeps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_leave_room_for_waits() {
        let thread = Who {
            id: 1,
            is_virtual: false,
        };
        let sleep = || Event {
            thread,
            event: WaitEvent::Sleeps { timeout_ms: 5 },
        };
        let wait = || Event {
            thread,
            event: WaitEvent::Begins {
                class: "LLock;".to_owned(),
                timeout_ms: 0,
            },
        };
        let mut events = Events::default();
        for _ in 0..MOST + 3 {
            events.add(sleep());
        }
        for _ in 0..MOST + 2 {
            events.add(wait());
        }
        assert!(!events.takes_sleep());
        assert_eq!(events.kept().len(), 2 * MOST);
        let lost = Lost {
            waits: 2,
            sleeps: 4,
        };
        assert_eq!(events.lost(), lost);
        events.forget(MOST + 5, lost);
        assert_eq!(events.lost(), Lost::default());
        for _ in 0..6 {
            events.add(wait());
        }
        assert!(events.takes_sleep());
        assert_eq!(events.lost().waits, 1, "five events of waits had gone");
    }
}
