//! The choice of the methods that get probes. It never changes: an order makes a new one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use loadhook_instrument::{CallProbes, Instrumenter, Selection, Traced};
use loadhook_rewrite::class::Member;
use loadhook_settings::control::CallValues;
use loadhook_settings::{Filter, Timing};

use super::loaders::Origin;
use super::values::Values;
use crate::locks::lock;
use crate::options::Options;

/// The choice of the methods that get probes.
pub(crate) struct Watch {
    pub(crate) filter: Filter,
    /// Selects the traced methods.
    pub(crate) traced: Traced,
    /// The values of traced methods, if the trace has some.
    values: Mutex<Values>,
    /// True if a method was found that is traced.
    has_traced: AtomicBool,
    /// Has copies of the filter, one for each thread that instruments a class.
    pub(super) instrumenter: Instrumenter,
}

impl Watch {
    pub(super) fn new(filter: Filter, traced: Traced, options: &Options) -> Self {
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
            values: Mutex::default(),
            has_traced: AtomicBool::new(false),
            instrumenter: Instrumenter::new(selection),
        }
    }

    /// Returns whether classes of this origin may be instrumented. Classes of the JDK may be only
    /// if a pattern includes some.
    pub(super) fn wants(&self, origin: Origin) -> bool {
        self.watches(origin) || self.traced.methods.included().len() > 0
    }

    /// Returns whether classes of this origin may get other probes than those of traced methods.
    pub(super) fn watches(&self, origin: Origin) -> bool {
        self.filter.included().len() > 0 || !origin.is_jdk
    }

    /// Returns whether a class of this internal name may be instrumented, judged by its name.
    pub(crate) fn may_name(&self, name: &[u8]) -> bool {
        self.filter.class_name(name) || self.traced.methods.class_name(name)
    }

    /// Returns whether both choices surely select the same methods of a class of this internal name.
    pub(super) fn agrees(&self, other: &Watch, name: &[u8]) -> bool {
        let (traced, others) = (&self.traced.methods, &other.traced.methods);
        self.filter.agrees(&other.filter, name) && traced.agrees(others, name)
    }

    /// Notes that a method is traced.
    pub(super) fn note_traced(&self, id: u32, method: &Member<'_, '_>) {
        self.has_traced.store(true, Ordering::Relaxed);
        if self.traced.values {
            lock(&self.values).note(id, method);
        }
    }

    /// The values of a call of a traced method, from the tracker's texts of them.
    pub(crate) fn call_values(&self, id: u32, texts: &[&str], has_thrown: bool) -> CallValues {
        lock(&self.values).of_call(id, texts, has_thrown)
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
