//! The choice of the methods that get probes. A choice is never changed: an order replaces it by a new one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

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
    /// The choice of traced methods.
    pub(crate) traced: Traced,
    /// The traced methods that were found so far. All choices during one trace share them, because a class is not
    /// instrumented again if a new choice selects the same methods of it.
    found: Arc<Found>,
    /// Instruments classes by this choice. Has a copy of the filters for each thread that instruments a class at the same
    /// time.
    pub(super) instrumenter: Instrumenter,
}

/// The traced methods that were found so far.
#[derive(Default)]
struct Found {
    /// The names and types of the methods' values, if the trace shows values.
    values: Mutex<Values>,
    /// True if a traced method was found.
    has_traced: AtomicBool,
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
            found: Arc::default(),
            instrumenter: Instrumenter::new(selection),
        }
    }

    /// Returns whether calls are traced.
    pub(crate) fn traces(&self) -> bool {
        !self.traced.methods.selects_none()
    }

    /// Makes this the next choice after `old`. If both choices trace methods, they belong to the same trace, because
    /// there is only one trace at a time.
    pub(super) fn follow(&mut self, old: &Watch) {
        if self.traces() && old.traces() {
            self.found = old.found.clone();
        }
    }

    /// Returns whether classes of this origin may be instrumented. Classes of the JDK may be instrumented only if some
    /// pattern includes classes.
    pub(crate) fn wants(&self, origin: Origin) -> bool {
        self.watches(origin) || self.traced.methods.included().len() > 0
    }

    /// Returns whether classes of this origin may get probes other than the probes of a trace.
    pub(super) fn watches(&self, origin: Origin) -> bool {
        self.filter.included().len() > 0 || !origin.is_jdk
    }

    /// Returns whether a class of this internal name may be instrumented, judged by its name.
    pub(crate) fn may_name(&self, name: &[u8]) -> bool {
        self.filter.class_name(name) || self.traced.methods.class_name(name)
    }

    /// Returns true if both choices surely select the same methods of a class with this internal name.
    pub(super) fn agrees(&self, other: &Watch, name: &[u8]) -> bool {
        let (traced, others) = (&self.traced.methods, &other.traced.methods);
        self.filter.agrees(&other.filter, name) && traced.agrees(others, name)
    }

    /// Notes that a method is traced.
    pub(super) fn note_traced(&self, id: u32, method: &Member<'_, '_>) {
        self.found.has_traced.store(true, Ordering::Relaxed);
        if self.traced.values {
            lock(&self.found.values).note(id, method);
        }
    }

    /// Returns the values of a traced call, made from the tracker's texts.
    pub(crate) fn call_values(&self, id: u32, texts: &[&str], has_thrown: bool) -> CallValues {
        lock(&self.found.values).of_call(id, texts, has_thrown)
    }

    /// Returns whether a traced method was found so far.
    pub(crate) fn has_traced(&self) -> bool {
        self.found.has_traced.load(Ordering::Relaxed)
    }

    /// Returns a copy of the filter in which the patterns that have matched so far are marked.
    pub(crate) fn filter_so_far(&self) -> Filter {
        let mut filter = self.filter.clone();
        filter.note_matched_but(&self.instrumenter.unmatched());
        filter
    }
}

/// Returns the probes that a timing needs. With times from samples, calls are only counted.
fn call_probes(timing: Timing) -> CallProbes {
    match timing {
        Timing::Sampled => CallProbes::Count,
        Timing::Adaptive | Timing::Exact | Timing::Count => CallProbes::Timing,
    }
}

#[cfg(test)]
mod tests {
    use loadhook_rewrite::ClassFile;
    use loadhook_settings::Pattern;

    use crate::instrument::hook::Hook;
    use crate::options;

    use super::*;

    #[test]
    fn values_stay_known_when_the_filter_changes() {
        let hook = Hook::new(options::for_test("file=unused"));
        let filter = |pattern: &str| {
            let patterns = Pattern::parse_list(pattern).expect("a pattern");
            Filter::of(patterns, Vec::new())
        };
        let traced = Traced {
            methods: filter("Greeter"),
            values: true,
        };
        let (_, begun) = hook.replace_watch(Filter::none(), traced.clone());
        let bytes = include_bytes!("../../../rewrite/doc/Greeter.class");
        let class = ClassFile::parse(bytes).expect("it is a class");
        let made = class.methods().find(|method| method.name() == b"<init>");
        begun.note_traced(5, &made.expect("it has a constructor"));
        let (_, changed) = hook.replace_watch(filter("a.B"), traced.clone());
        let values = |watch: &Watch| watch.call_values(5, &["t \"you\""], false);
        assert!(changed.has_traced());
        assert_eq!(values(&changed).arguments[0].1, "\"you\"");
        let (_, ended) = hook.replace_watch(filter("a.B"), Traced::none());
        assert!(!ended.has_traced());
        let (_, next) = hook.replace_watch(filter("a.B"), traced);
        assert_eq!(values(&next), CallValues::default());
    }
}
