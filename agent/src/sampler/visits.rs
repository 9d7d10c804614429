//! Visits threads, to measure how long they wait, where, and for what.
//!
//! A visit reads the thread's processor clock. The elapsed time since the last visit, minus the time by which the clock
//! has moved, is waiting time. If the visit finds the thread waiting, the waiting time is booked at the thread's stack.
//! The stack is read once, and again only after the clock or the thread's state has changed. If the visit finds the
//! thread running, the waiting time stays pending until a visit finds the thread waiting. So the time of short waits,
//! which visits seldom find, is booked as well, on average where they occur.

use std::time::Instant;

use super::owner::Reason;
use super::parts::Shared;
use super::stack_tree::NameNumber;
use super::table::Record;
use super::visit::Found;
use super::vm_threads::run_delay_ns;
use crate::jvm::sys::{Int, thread_state};

/// Returns the reason why a thread in this state waits; `None` if the thread runs. `has_run` is true if the thread's
/// processor clock has moved since the last visit.
fn reason(state: Int, has_run: bool) -> Option<Reason> {
    use thread_state::{BLOCKED_ON_MONITOR_ENTER, IN_NATIVE, PARKED, RUNNABLE, SLEEPING, WAITING};
    let is = |bit: Int| state & bit != 0;
    if is(BLOCKED_ON_MONITOR_ENTER) {
        Some(Reason::Monitor)
    } else if is(SLEEPING) {
        Some(Reason::Sleeping)
    } else if is(PARKED) {
        Some(Reason::Parked)
    } else if is(WAITING) {
        // The thread is in `Object.wait`.
        Some(Reason::Monitor)
    } else {
        (is(RUNNABLE) && is(IN_NATIVE) && !has_run).then_some(Reason::Io)
    }
}

/// Books the waiting time of a thread up to now. `stack` reads the thread's stack.
pub(super) fn visit(
    record: &mut Record,
    shared: &Shared,
    now: Instant,
    cpu_ns: u64,
    state: Int,
    stack: impl FnOnce() -> Vec<NameNumber>,
) {
    let has_run = record.visit.advance(now, cpu_ns);
    let Some(reason) = reason(state, has_run) else {
        record.visit.found = None;
        return;
    };
    let known = record
        .visit
        .found
        .filter(|found| !has_run && found.state == state);
    if known.is_none() {
        let stack = stack();
        let node = shared.lock().forest.node(&stack);
        record.visit.found = Some(Found {
            state,
            reason,
            node,
        });
        settle_run_delay(record, shared);
    }
    book(record, shared);
}

/// Books the last waiting time of a thread when the thread or the JVM has ended. Reads no stack. `cpu_ns` is the
/// thread's processor time, if it is known.
pub(super) fn settle(record: &mut Record, shared: &Shared, now: Instant, cpu_ns: Option<u64>) {
    let cpu_ns = cpu_ns.unwrap_or(record.visit.cpu_ns);
    if record.visit.advance(now, cpu_ns) || record.visit.found.is_none() {
        settle_run_delay(record, shared);
    }
    if record.visit.found.is_none() && record.visit.pending_ns > 0 {
        let mut shared = shared.lock();
        let unwalked = [shared.names.unwalked];
        let node = shared.forest.node(&unwalked);
        record.visit.found = Some(Found {
            state: 0,
            reason: Reason::Other,
            node,
        });
    }
    book(record, shared);
}

/// Books the pending time at the place where the thread was found waiting.
fn book(record: &mut Record, shared: &Shared) {
    let ns = std::mem::take(&mut record.visit.pending_ns);
    if let Some(Found {
        node: Some(node),
        reason,
        ..
    }) = record.visit.found
        && ns > 0
    {
        let mut shared = shared.lock();
        let owner = record.owner(&mut shared.forest);
        shared.forest.wait(owner, node, reason, ns);
    }
}

/// Books the part of the pending time in which the thread was ready to run but had no processor.
fn settle_run_delay(record: &mut Record, shared: &Shared) {
    let Some(delay_ns) = record.tid.and_then(run_delay_ns) else {
        return;
    };
    // Without an earlier reading, it is unknown which part of the delay is new, so none is booked.
    let before = record.visit.delay_ns.replace(delay_ns).unwrap_or(delay_ns);
    let delayed = delay_ns.saturating_sub(before).min(record.visit.pending_ns);
    if delayed == 0 {
        return;
    }
    record.visit.pending_ns -= delayed;
    let mut shared = shared.lock();
    let no_processor = [shared.names.no_processor];
    if let Some(node) = shared.forest.node(&no_processor) {
        let owner = record.owner(&mut shared.forest);
        shared.forest.wait(owner, node, Reason::Other, delayed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::visit::Visit;
    use super::*;

    #[test]
    fn the_reason_is_that_of_the_state() {
        const ALIVE: Int = 1;
        use thread_state::{IN_NATIVE, PARKED, RUNNABLE, SLEEPING, WAITING};
        for (state, has_run, expected) in [
            (ALIVE | RUNNABLE, false, None),
            (ALIVE | RUNNABLE | IN_NATIVE, true, None),
            (ALIVE | RUNNABLE | IN_NATIVE, false, Some(Reason::Io)),
            (ALIVE | WAITING | PARKED, true, Some(Reason::Parked)),
            (ALIVE | WAITING | SLEEPING, true, Some(Reason::Sleeping)),
            (ALIVE | WAITING, true, Some(Reason::Monitor)),
            (
                ALIVE | thread_state::BLOCKED_ON_MONITOR_ENTER,
                true,
                Some(Reason::Monitor),
            ),
        ] {
            assert_eq!(reason(state, has_run), expected, "{state:x}");
        }
    }

    #[test]
    fn a_waiting_thread_that_has_not_run_is_in_the_same_state() {
        let mut visit = Visit::first(Instant::now(), 5_000, None);
        assert_eq!(visit.state(5_000, || 1), 1, "it was not found waiting");
        visit.found = Some(Found {
            state: 2,
            reason: Reason::Parked,
            node: None,
        });
        assert_eq!(visit.state(5_000, || 1), 2);
        assert_eq!(visit.state(5_001, || 1), 1, "it has run");
    }

    #[test]
    fn time_without_running_is_pending() {
        let begin = Instant::now();
        let mut visit = Visit::first(begin, 5_000, None);
        assert!(visit.advance(begin + Duration::from_micros(10), 9_000));
        assert_eq!(visit.pending_ns, 6_000);
        assert!(!visit.advance(begin + Duration::from_micros(15), 9_000));
        assert_eq!(visit.pending_ns, 11_000);
        // The two clocks disagree by a little.
        assert!(visit.advance(begin + Duration::from_micros(16), 11_000));
        assert_eq!(visit.pending_ns, 11_000);
    }
}
