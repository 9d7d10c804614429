//! The choice of methods and probes.

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, Probes, Selector, Site};
use loadhook_settings::Filter;

/// Maximum number of instructions of a trivial method, which also has no calls and no loops. Such a
/// method takes less time than its probes. See [`Member::is_trivial`].
pub const MAX_TRIVIAL_INSTRUCTIONS: usize = 24;

/// The probes that report a method's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallProbes {
    /// Entry, exit and handler probes: see [`Probes::timing`].
    Timing,
    /// One probe at the entry: see [`Probes::count`]. It is so cheap that trivial methods also get
    /// it.
    Count,
}

/// The probes that are left of a method's [`CallProbes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbesLeft {
    /// Those that the selection says.
    All,
    /// [`CallProbes::Count`].
    Count,
    /// No probes.
    Nothing,
}

/// The choice of methods that get [`Probes::trace`].
#[derive(Clone, Debug)]
pub struct Traced {
    /// Chooses the methods.
    pub methods: Filter,
    /// See [`Probes::values`].
    pub values: bool,
}

impl Traced {
    /// Traces no methods.
    pub fn none() -> Traced {
        Traced {
            methods: Filter::none(),
            values: false,
        }
    }
}

/// The choice of methods and their probes.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The user's patterns, which select methods.
    pub filter: Filter,
    /// The choice of traced methods. Does not depend on `filter`.
    pub traced: Traced,
    /// The probes that report calls; `None` for no such probes.
    pub calls: Option<CallProbes>,
    /// True if trivial methods also get [`CallProbes::Timing`].
    pub all: bool,
    /// True if each `new` and array creation gets a probe; see
    /// [`Probes::allocations`].
    pub allocations: bool,
    /// True if each new object is passed to a probe; see [`Probes::objects`].
    pub objects: bool,
}

impl Selection {
    /// Returns the selection with entry, exit and handler probes in all methods that `filter`
    /// selects and that are not trivial.
    pub fn timing(filter: Filter) -> Selection {
        Selection {
            filter,
            traced: Traced::none(),
            calls: Some(CallProbes::Timing),
            all: false,
            allocations: false,
            objects: false,
        }
    }
}

/// The functions that a front end provides: ids, and methods that must never be instrumented.
pub trait Ids {
    /// Returns whether a class must not be instrumented, even if patterns match it. Called before
    /// the patterns are tried.
    fn excludes_class(&self, _class: &ClassFile<'_>) -> bool {
        false
    }

    /// Returns whether a method must not be instrumented, even if patterns match it. Called after
    /// the patterns were tried.
    fn excludes_method(&self, _method: &Member<'_, '_>) -> bool {
        false
    }

    /// Begins a class that may have selected methods. Returns false if no ids are left, so that the
    /// class stays unchanged.
    fn begin_class(&mut self, _class: &ClassFile<'_>) -> bool {
        true
    }

    /// Returns the id of a method that gets [`CallProbes`]. If the rewriter does not instrument the
    /// method after all, the id is unused.
    fn method(&mut self, method: &Member<'_, '_>) -> u32;

    /// Returns the probes that are left of those that the selection says for the method of this id.
    fn probes_left(&self, _id: u32) -> ProbesLeft {
        ProbesLeft::All
    }

    /// Returns whether the class gets no probes but [`Probes::trace`].
    fn only_traces(&self) -> bool {
        false
    }

    /// Returns whether a method that [`Selection::traced`] selects is traced.
    fn traces(&self, _method: &Member<'_, '_>) -> bool {
        true
    }

    /// Notes the id of a method that gets [`Probes::trace`].
    fn traced(&mut self, _id: u32, _method: &Member<'_, '_>) {}

    /// Returns the id of an allocation site.
    fn site(&mut self, _method: &Member<'_, '_>, _site: &Site<'_>) -> u32 {
        0
    }
}

/// Selects the methods of one class.
pub(crate) struct ClassSelector<'a, I, F> {
    pub(crate) selection: &'a Selection,
    /// The filter of the current worker.
    pub(crate) filter: &'a mut Filter,
    /// The filter of traced methods of the current worker.
    pub(crate) traced: &'a mut Filter,
    pub(crate) ids: &'a mut I,
    /// Called whenever patterns may have matched.
    pub(crate) after_matching: F,
    /// Positions of the trivial methods.
    pub(crate) trivial: Vec<u16>,
    /// The choice for the class that is being rewritten.
    pub(crate) of_class: Choice,
    /// The choice for the method for which [`Selector::wants`] was called last.
    pub(crate) of_method: Choice,
}

/// Tells which filters select a class or a method.
#[derive(Clone, Copy, Default)]
pub(crate) struct Choice {
    /// True if [`Selection::filter`] selects the class or method.
    watched: bool,
    /// True if [`Selection::traced`] selects the class or method.
    traced: bool,
}

impl<I: Ids, F: FnMut(&Filter)> Selector for ClassSelector<'_, I, F> {
    fn class(&mut self, class: &ClassFile<'_>) -> bool {
        if self.ids.excludes_class(class) {
            return false;
        }
        let watched = !self.ids.only_traces() && self.filter.class(class);
        let traced = self.traced.class(class);
        self.of_class = Choice { watched, traced };
        (self.after_matching)(self.filter);
        (watched || traced) && self.ids.begin_class(class)
    }

    fn wants(&mut self, method: &Member<'_, '_>) -> bool {
        let watched = self.of_class.watched && self.filter.method(method);
        (self.after_matching)(self.filter);
        let traced = self.of_class.traced && self.traced.method(method);
        self.of_method = Choice { watched, traced };
        (watched || traced) && !self.ids.excludes_method(method)
    }

    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let mut probes = Probes::default();
        if self.of_method.watched {
            probes.allocations = self.selection.allocations;
            probes.objects = self.selection.objects;
            self.choose_call_probes(method, &mut probes);
        }
        if self.of_method.traced && self.ids.traces(method) {
            let id = probes.count.or(probes.timing);
            let id = id.unwrap_or_else(|| self.ids.method(method));
            self.ids.traced(id, method);
            probes.trace = Some(id);
            probes.values = self.selection.traced.values;
        }
        probes
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        self.ids.site(method, site)
    }
}

impl<I: Ids, F> ClassSelector<'_, I, F> {
    /// Chooses the probes that count or time the calls of a method.
    fn choose_call_probes(&mut self, method: &Member<'_, '_>, probes: &mut Probes) {
        let Some(calls) = self.selection.calls else {
            return;
        };
        if calls == CallProbes::Timing
            && !self.selection.all
            && method.is_trivial(MAX_TRIVIAL_INSTRUCTIONS)
        {
            self.trivial.push(method.index());
            return;
        }
        let id = self.ids.method(method);
        match (calls, self.ids.probes_left(id)) {
            (CallProbes::Timing, ProbesLeft::All) => probes.timing = Some(id),
            (_, ProbesLeft::Nothing) => {}
            _ => probes.count = Some(id),
        }
    }
}
