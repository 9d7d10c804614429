//! Which methods of a class get which probes.

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, Probes, Selector, Site};
use loadhook_settings::Filter;

/// A method without calls and loops is trivial if it has at most so many
/// instructions: it costs less than its probes. See [`Member::is_trivial`].
pub const MAX_TRIVIAL_INSTRUCTIONS: usize = 24;

/// The probes that tell of a method's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallProbes {
    /// Entry, exit and handler probes: see [`Probes::timing`].
    Timing,
    /// One probe at the entry: see [`Probes::count`]. It costs so little that trivial
    /// methods get it, too.
    Count,
}

/// Which methods get which probes.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Chooses methods by the user's patterns.
    pub filter: Filter,
    /// The probes that tell of calls; `None` for no such probes.
    pub calls: Option<CallProbes>,
    /// True if trivial methods get [`CallProbes::Timing`], too.
    pub all: bool,
    /// True if each `new` and array creation gets a probe; see
    /// [`Probes::allocations`].
    pub allocations: bool,
    /// True if probes get each new object; see [`Probes::objects`].
    pub objects: bool,
}

impl Selection {
    /// Entry, exit and handler probes in all methods that `filter` lets pass and
    /// that are not trivial.
    pub fn timing(filter: Filter) -> Selection {
        Selection {
            filter,
            calls: Some(CallProbes::Timing),
            all: false,
            allocations: false,
            objects: false,
        }
    }
}

/// The front end's part: ids, and methods that must never be instrumented.
pub trait Ids {
    /// Returns whether no method of a class may be instrumented, whatever the
    /// patterns say. Asked before the patterns.
    fn excludes_class(&self, _class: &ClassFile<'_>) -> bool {
        false
    }

    /// Returns whether a method may not be instrumented, whatever the patterns
    /// say. Asked after the patterns.
    fn excludes_method(&self, _method: &Member<'_, '_>) -> bool {
        false
    }

    /// Begins a class that may have selected methods. Returns false if the class
    /// is to be left as it is, because there are no ids.
    fn begin_class(&mut self, _class: &ClassFile<'_>) -> bool {
        true
    }

    /// The id of a method that gets [`CallProbes`]. The rewriter may still leave the
    /// method alone; its id is unused then.
    fn method(&mut self, method: &Member<'_, '_>) -> u32;

    /// The id of an allocation site.
    fn site(&mut self, _method: &Member<'_, '_>, _site: &Site<'_>) -> u32 {
        0
    }
}

/// Selects the methods of one class.
pub(crate) struct ClassSelector<'a, I, F> {
    pub(crate) selection: &'a Selection,
    /// The filter of this thread.
    pub(crate) filter: &'a mut Filter,
    pub(crate) ids: &'a mut I,
    /// Called each time that patterns may have matched.
    pub(crate) after_matching: F,
    /// Positions of the trivial methods.
    pub(crate) trivial: Vec<u16>,
}

impl<I: Ids, F: FnMut(&Filter)> Selector for ClassSelector<'_, I, F> {
    fn class(&mut self, class: &ClassFile<'_>) -> bool {
        if self.ids.excludes_class(class) {
            return false;
        }
        let passes = self.filter.class(class);
        (self.after_matching)(self.filter);
        passes && self.ids.begin_class(class)
    }

    fn wants(&mut self, method: &Member<'_, '_>) -> bool {
        let passes = self.filter.method(method);
        (self.after_matching)(self.filter);
        passes && !self.ids.excludes_method(method)
    }

    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let mut probes = Probes {
            allocations: self.selection.allocations,
            objects: self.selection.objects,
            ..Probes::default()
        };
        match self.selection.calls {
            None => {}
            Some(CallProbes::Count) => probes.count = Some(self.ids.method(method)),
            Some(CallProbes::Timing) => {
                if !self.selection.all && method.is_trivial(MAX_TRIVIAL_INSTRUCTIONS) {
                    self.trivial.push(method.index());
                } else {
                    probes.timing = Some(self.ids.method(method));
                }
            }
        }
        probes
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        self.ids.site(method, site)
    }
}
