//! The choice of the methods that get probes. It never changes: an order makes a new one.

use std::sync::atomic::{AtomicBool, Ordering};

use loadhook_instrument::{CallProbes, Instrumenter, Selection};
use loadhook_settings::{Filter, Timing};

use super::loaders::Origin;
use crate::options::Options;

/// The choice of the methods that get probes.
pub(crate) struct Watch {
    pub(crate) filter: Filter,
    /// Selects the traced methods.
    pub(crate) traced: Filter,
    /// True if a method was found that is traced.
    has_traced: AtomicBool,
    /// Has copies of the filter, one for each thread that instruments a class.
    pub(super) instrumenter: Instrumenter,
}

impl Watch {
    pub(super) fn new(filter: Filter, traced: Filter, options: &Options) -> Self {
        let selection = Selection {
            filter: filter.clone(),
            traced: traced.clone(),
            calls: options.timing.map(call_probes),
            all: options.settings.all,
            allocations: options.counts_allocations(),
            objects: false,
        };
        Watch {
            filter,
            traced,
            has_traced: AtomicBool::new(false),
            instrumenter: Instrumenter::new(selection),
        }
    }

    /// Returns whether classes of this origin may be instrumented. Classes of the JDK may be only
    /// if a pattern includes some.
    pub(super) fn wants(&self, origin: Origin) -> bool {
        self.watches(origin) || self.traced.included().len() > 0
    }

    /// Returns whether classes of this origin may get other probes than those of traced methods.
    pub(super) fn watches(&self, origin: Origin) -> bool {
        self.filter.included().len() > 0 || !origin.is_jdk
    }

    /// Returns whether a class of this internal name may be instrumented, judged by its name.
    pub(crate) fn may_name(&self, name: &[u8]) -> bool {
        self.filter.class_name(name) || self.traced.class_name(name)
    }

    /// Returns whether both choices surely select the same methods of a class of this internal name.
    pub(super) fn agrees(&self, other: &Watch, name: &[u8]) -> bool {
        self.filter.agrees(&other.filter, name) && self.traced.agrees(&other.traced, name)
    }

    /// Notes that a method is traced.
    pub(super) fn note_traced(&self) {
        self.has_traced.store(true, Ordering::Relaxed);
    }

    /// Returns whether any method is traced.
    pub(crate) fn has_traced(&self) -> bool {
        self.has_traced.load(Ordering::Relaxed)
    }

    /// The filter, with the patterns that have matched so far.
    pub(crate) fn filter_so_far(&self) -> Filter {
        let mut filter = self.filter.clone();
        filter.note_matched_but(&self.instrumenter.unmatched());
        filter
    }
}

/// The probes that a timing needs. Where times come from samples, calls are only counted.
fn call_probes(timing: Timing) -> CallProbes {
    match timing {
        Timing::Sampled => CallProbes::Count,
        Timing::Adaptive | Timing::Exact | Timing::Count => CallProbes::Timing,
    }
}
