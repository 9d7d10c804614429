//! The notes of a profile about measures that kept the budget.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use loadhook_text::units;

use super::cost::{Cost, thread_time};
use crate::locks::lock;

/// The measures that kept the budget, and the processor time of orders, which does not count against the budget.
#[derive(Default)]
pub(crate) struct BudgetLog {
    /// The reason why the agent stops watching.
    stopped: Mutex<Option<String>>,
    ordered_ns: AtomicU64,
    /// The number of orders whose work is under way.
    under_way: AtomicU32,
}

impl BudgetLog {
    /// Does work that an order asks for. The processor time of the calling thread does not count against the budget,
    /// because the work comes once for each order.
    pub(crate) fn do_ordered<T>(&self, work: impl FnOnce() -> T) -> T {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let _order = Order {
            log: self,
            began: thread_time(),
        };
        work()
    }

    /// Returns the nanoseconds of processor time that orders have taken.
    pub(super) fn ordered_ns(&self) -> u64 {
        self.ordered_ns.load(Ordering::Relaxed)
    }

    /// Returns whether the work of an order is under way. Its time until now is not in [`ordered_ns`](Self::ordered_ns).
    pub(super) fn has_order_under_way(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }

    /// Notes that the agent stops watching. `cost` is the processor time in the last looks, which exceeded the budget.
    pub(super) fn stop(&self, percent: u32, since: Duration, cost: &Cost) {
        let part = |ns: f64| 100.0 * ns / cost.own();
        *lock(&self.stopped) = Some(format!(
            "--budget {percent} %: Loadhook stopped watching after {}, because it took {:.1} % of the program's processor time (probes {:.1} %, samples {:.1} %, its own threads {:.1} %) and could not take less",
            units::time(since.as_nanos() as f64),
            part(cost.all()),
            part(cost.probes),
            part(cost.samples),
            part(cost.threads),
        ));
    }

    /// Returns the note of a profile that the agent has stopped watching; `None` if it has not stopped.
    pub(crate) fn note(&self) -> Option<String> {
        let reason = self.reason()?;
        Some(format!(
            "{reason}; the profile ends there. Watch fewer methods, or raise --budget"
        ))
    }

    /// Returns the reason why the agent has stopped watching; `None` if it has not stopped.
    pub(crate) fn reason(&self) -> Option<String> {
        lock(&self.stopped).clone()
    }
}

/// The work of an order, noted as under way until this is dropped, also by a panic. Meanwhile no budget is kept.
struct Order<'l> {
    log: &'l BudgetLog,
    /// The processor time of the thread at the beginning.
    began: Duration,
}

impl Drop for Order<'_> {
    fn drop(&mut self) {
        let spent = thread_time().saturating_sub(self.began);
        let spent = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        self.log.ordered_ns.fetch_add(spent, Ordering::Relaxed);
        self.log.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The number of methods that a note names.
const MOST_NAMED: usize = 5;

/// Returns the note about methods whose calls are counted, but not timed any more: `only_counted` of `all` methods. The
/// legends of marks say since when, so the notes do not.
pub(crate) fn only_counted(percent: u32, only_counted: u64, all: u64) -> String {
    format!(
        "--budget {percent} %: {} of {} only counted by now; their time is in their callers' self time (--budget none times all calls)",
        units::count(only_counted),
        units::counted(all, "method is", "methods are"),
    )
}

/// Returns the note about methods whose calls are no longer counted. `names` are the methods. `is_sampled` is true if
/// times come from samples, so that they have no gap.
pub(crate) fn not_counted(percent: u32, names: &[String], is_sampled: bool) -> String {
    let named = names.get(..MOST_NAMED).unwrap_or(names);
    let others = names.len() - named.len();
    let others = if others == 0 {
        String::new()
    } else {
        format!(" and {} more", units::count(others as u64))
    };
    let times = match is_sampled {
        true => "",
        false => "; their time is in their callers' self time",
    };
    format!(
        "--budget {percent} %: {} no longer counted{times} (--budget none counts all): {}{others}",
        units::counted(names.len() as u64, "method is", "methods are"),
        named.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_some_methods() {
        let names =
            |count: u32| -> Vec<String> { (0..count).map(|at| format!("a.B.m{at}")).collect() };
        assert_eq!(
            not_counted(10, &names(1), true),
            "--budget 10 %: 1 method is no longer counted (--budget none counts all): a.B.m0"
        );
        let note = not_counted(10, &names(7), false);
        assert!(note.ends_with(", a.B.m4 and 2 more"), "{note}");
        let told = "7 methods are no longer counted; their time is in their callers' self time (";
        assert!(note.contains(told), "{note}");
        assert_eq!(
            only_counted(25, 4, 7),
            "--budget 25 %: 4 of 7 methods are only counted by now; their time is in their callers' self time (--budget none times all calls)"
        );
    }

    #[test]
    fn orders_do_not_count() {
        let log = BudgetLog::default();
        let spent = log.do_ordered(|| {
            assert!(log.has_order_under_way());
            let before = thread_time();
            while thread_time() - before < Duration::from_millis(5) {}
            thread_time() - before
        });
        assert!(!log.has_order_under_way());
        assert!(u128::from(log.ordered_ns()) >= spent.as_nanos());
        let fault = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            log.do_ordered(|| panic!("of a test"));
        }));
        assert!(fault.is_err() && !log.has_order_under_way());
    }

    #[test]
    fn the_end_of_watching_is_noted() {
        let log = BudgetLog::default();
        assert_eq!(log.note(), None);
        let cost = Cost {
            elapsed: 1e9,
            process: 1.25e9,
            compiler: 0.0,
            threads: 0.05e9,
            samples: 0.1e9,
            probes: 0.1e9,
        };
        log.stop(10, Duration::from_secs(9), &cost);
        let note = log.note().expect("a note");
        assert!(
            note.contains("after 9.00 s, because it took 25.0 % of the program's processor time (probes 10.0 %, samples 10.0 %, its own threads 5.0 %) and could not take less; the profile ends"),
            "{note}"
        );
    }
}
