//! The choice of the methods that get probes. It never changes: an order makes a new one.

use loadhook_instrument::{CallProbes, Instrumenter, Selection};
use loadhook_settings::{Filter, Timing};

use super::loaders::Origin;
use crate::options::Options;

/// The choice of the methods that get probes.
pub(crate) struct Watch {
    pub(crate) filter: Filter,
    /// Has copies of the filter, one for each thread that instruments a class.
    pub(super) instrumenter: Instrumenter,
}

impl Watch {
    pub(super) fn new(filter: Filter, options: &Options) -> Self {
        let selection = Selection {
            filter: filter.clone(),
            calls: options.timing.map(call_probes),
            all: options.settings.all,
            allocations: options.counts_allocations(),
            objects: false,
        };
        Watch {
            filter,
            instrumenter: Instrumenter::new(selection),
        }
    }

    /// Returns whether classes of this origin may be instrumented. Classes of the JDK may be only
    /// if a pattern includes some.
    pub(super) fn wants(&self, origin: Origin) -> bool {
        self.filter.included().len() > 0 || !origin.is_jdk
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
