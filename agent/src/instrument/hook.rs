//! What happens to a class on its way into the VM.
//!
//! Takes bytes and an allocator and knows nothing of JVM TI, so that other
//! hooks can feed it: JVMPI's `CLASS_LOAD_HOOK` with its `malloc_f`.

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, Outcome, Probes, Rewriter, Selector, Site, TRIVIAL, symbol};
use loadhook_settings::Filter;

use super::exclusions;
use crate::diagnostics;
use crate::instrument::loaders::Loader;
use crate::instrument::registry::{Entry, Registry, Symbol};
use crate::options::Options;
use crate::tracker;
use crate::tracker::sizes::{self, KIND_BITS};

/// Names of methods left alone that are kept for `explain`.
const MOST_EXPLAINED: usize = 100_000;

/// Where a class comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) loader: Loader,
    /// Whether it is one of the JDK's own.
    pub(crate) is_jdk: bool,
}

/// Instruments classes; used by many threads at once.
pub(crate) struct Hook {
    options: Options,
    /// The internal name of the class that probes call, once it is known.
    owner: OnceLock<&'static str>,
    pub(crate) registry: Registry,
    idle: Mutex<Vec<Worker>>,
    /// Patterns that have named nothing yet, on any thread.
    unmatched: Mutex<Vec<String>>,
    tally: Mutex<Tally>,
}

/// What one thread needs to instrument a class.
struct Worker {
    rewriter: Rewriter,
    filter: Filter,
    /// How many of its patterns have named nothing yet.
    unmatched: usize,
}

/// What became of all methods together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) classes: u64,
    pub(crate) instrumented: u64,
    /// Left alone, by reason.
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    /// `reason: class.method descriptor`, when asked for.
    pub(crate) explained: Vec<String>,
    /// How many more there would be.
    pub(crate) unexplained: u64,
}

impl Tally {
    fn explain(&mut self, names: Vec<String>) {
        let room = MOST_EXPLAINED.saturating_sub(self.explained.len());
        self.unexplained += names.len().saturating_sub(room) as u64;
        self.explained.extend(names.into_iter().take(room));
    }

    /// The methods left alone, as far as they were noted.
    pub(crate) fn into_explained(self) -> Vec<String> {
        let mut lines = self.explained;
        if self.unexplained > 0 {
            lines.push(format!(
                "{} more methods not instrumented are not listed",
                self.unexplained
            ));
        }
        lines
    }
}

impl Hook {
    pub(crate) fn new(options: Options) -> Self {
        let patterns = options.filter.unmatched().map(|p| p.text().to_owned());
        Hook {
            unmatched: Mutex::new(patterns.collect()),
            options,
            owner: OnceLock::new(),
            registry: Registry::new(),
            idle: Mutex::default(),
            tally: Mutex::default(),
        }
    }

    /// Sets the class that probes call, before the first class comes; else
    /// it is [`tracker::NAME`].
    pub(crate) fn set_owner(&self, owner: &'static str) {
        let _ = self.owner.set(owner);
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a class of this origin can be wanted at all.
    pub(crate) fn wants(&self, origin: Origin) -> bool {
        self.options.includes || !origin.is_jdk
    }

    /// Instruments `bytes` into a buffer from `allocate`; `None` when the
    /// class is to stay as it is. Never fails, never panics.
    pub(crate) fn instrument<B: AsMut<[u8]>>(
        &self,
        origin: Origin,
        bytes: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Option<B> {
        if !self.wants(origin) {
            return None;
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut worker = self.worker();
            let buffer = self.run(&mut worker, origin, bytes, allocate);
            // Not after a panic: what it left behind is dropped with it.
            self.give_back(worker);
            buffer
        }));
        result.unwrap_or_else(|_| {
            diagnostics::once(
                "internal error: the rewriter failed on a class; that class is not instrumented",
            );
            None
        })
    }

    fn worker(&self) -> Worker {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        idle.unwrap_or_else(|| Worker {
            rewriter: Rewriter::new(loadhook_rewrite::Options {
                owner: (*self.owner.get_or_init(|| tracker::NAME)).to_owned(),
                ..loadhook_rewrite::Options::default()
            }),
            filter: self.options.filter.clone(),
            unmatched: self.options.filter.unmatched().count(),
        })
    }

    fn give_back(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
    }

    fn run<B: AsMut<[u8]>>(
        &self,
        worker: &mut Worker,
        origin: Origin,
        bytes: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Option<B> {
        let Worker {
            rewriter,
            filter,
            unmatched,
        } = worker;
        let mut chooser = Chooser {
            hook: self,
            origin,
            filter,
            unmatched,
            entry: None,
            chosen: Vec::new(),
            trivial: Vec::new(),
            is_new: false,
        };
        let outcome = rewriter.rewrite(bytes, &mut chooser, allocate);
        let Chooser {
            entry,
            mut chosen,
            trivial,
            is_new,
            ..
        } = chooser;
        match outcome {
            Ok(Outcome::Unchanged) => {
                if is_new {
                    self.count(rewriter, bytes, &trivial, false);
                }
                None
            }
            Ok(Outcome::Rewritten(buffer)) => {
                let left_alone = rewriter.report().left_alone.iter();
                let left_alone: HashSet<u16> = left_alone.map(|left| left.method).collect();
                chosen.retain(|(index, _)| !left_alone.contains(index));
                if let Some(entry) = entry {
                    let symbols = chosen.into_iter().map(|(_, symbol)| symbol).collect();
                    self.registry.define(entry, symbols);
                }
                if is_new {
                    self.count(rewriter, bytes, &trivial, true);
                }
                Some(buffer)
            }
            Err(error) => {
                diagnostics::once(&format!("a class is not instrumented: {error}"));
                None
            }
        }
    }

    fn count(&self, rewriter: &Rewriter, bytes: &[u8], trivial: &[u16], rewritten: bool) {
        let report = rewriter.report();
        let left_alone = || {
            let trivial = trivial.iter().map(|method| ("trivial", *method));
            let others = report.left_alone.iter();
            trivial.chain(others.map(|left| (left.reason.word(), left.method)))
        };
        let explained = match self.options.settings.explain {
            true => explain(left_alone(), bytes),
            false => Vec::new(),
        };
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.classes += u64::from(rewritten);
        tally.instrumented += u64::from(report.instrumented);
        for (reason, _) in left_alone() {
            *tally.skipped.entry(reason).or_default() += 1;
        }
        tally.explain(explained);
    }

    pub(crate) fn tally(&self) -> Tally {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.clone()
    }

    /// The patterns that matched nothing on any thread.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        self.lock_unmatched().clone()
    }

    fn lock_unmatched(&self) -> MutexGuard<'_, Vec<String>> {
        self.unmatched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reasons and the names of the methods at these places of a class.
fn explain(mut left_alone: impl Iterator<Item = (&'static str, u16)>, bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let Some(first) = left_alone.next() else {
        return names;
    };
    let Ok(class) = ClassFile::parse(bytes) else {
        return names;
    };
    let methods: Vec<_> = class.methods().collect();
    for (reason, method) in std::iter::once(first).chain(left_alone) {
        if let Some(method) = methods.get(usize::from(method)) {
            names.push(format!(
                "{reason}: {}.{}{}",
                symbol::java_name(class.name()),
                symbol::text(method.name()),
                symbol::text(method.descriptor()),
            ));
        }
    }
    names
}

/// Chooses the methods of one class.
struct Chooser<'h> {
    hook: &'h Hook,
    origin: Origin,
    filter: &'h mut Filter,
    unmatched: &'h mut usize,
    entry: Option<Entry>,
    /// Position and symbol of each method chosen.
    chosen: Vec<(u16, Symbol)>,
    /// Positions of those that are trivial.
    trivial: Vec<u16>,
    /// True if neither the class nor a copy of it was here before.
    is_new: bool,
}

impl Chooser<'_> {
    /// Notes which patterns have matched: at once, since a worker may be lost
    /// to a panic, or busy when the program ends.
    fn note_matched(&mut self) {
        let left = self.filter.unmatched().count();
        if left != *self.unmatched {
            *self.unmatched = left;
            let is_left = |text: &String| self.filter.unmatched().any(|p| p.text() == text);
            self.hook.lock_unmatched().retain(is_left);
        }
    }
}

impl Selector for Chooser<'_> {
    fn class(&mut self, class: &ClassFile<'_>) -> bool {
        // The tracker of a program that was rewritten on disk is no more the
        // program's own than ours is.
        let is_tracker =
            class.name().starts_with(b"loadhook/") || exclusions::has_class(class.name());
        let is_wanted = !is_tracker && self.filter.class(class);
        self.note_matched();
        if is_wanted {
            let entry = self.hook.registry.entry(self.origin.loader, class);
            (self.entry, self.is_new) = (entry.map(|it| it.0), entry.is_some_and(|it| it.1));
        }
        self.entry.is_some()
    }

    fn wants(&mut self, method: &Member<'_, '_>) -> bool {
        let passes = self.filter.method(method);
        self.note_matched();
        passes && !exclusions::has_method(method.class().name(), method.name(), method.descriptor())
    }

    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let options = self.hook.options();
        let mut probes = Probes {
            allocations: options.counts_allocations(),
            ..Probes::default()
        };
        if options.timing.is_none() {
            return probes;
        }
        if !options.settings.all && method.is_trivial(TRIVIAL) {
            self.trivial.push(method.index());
            return probes;
        }
        // There is one for each class whose methods are looked at.
        let Some(entry) = self.entry else {
            return Probes::default();
        };
        let id = entry.id(method.index());
        self.chosen.push((method.index(), Symbol::of(id, method)));
        probes.timing = Some(id);
        probes
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        let Some(entry) = self.entry else {
            return 0;
        };
        let symbol = Symbol::of(entry.id(method.index()), method);
        let id = self.hook.registry.site(entry, symbol, method, site);
        match sizes::array_kind(&site.allocation) {
            Some(kind) => id << KIND_BITS | kind,
            None => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    #[test]
    fn a_class_that_comes_again_counts_once() {
        let hook = Hook::new(options::for_test("file=unused"));
        let greeter = include_bytes!("../../../rewrite/doc/Greeter.class");
        let from = |number, kind| Origin {
            loader: Loader { number, kind },
            is_jdk: false,
        };
        for number in [3, 3, 4] {
            let instrumented = hook.instrument(from(number, 3), greeter, |len| Some(vec![0; len]));
            assert!(instrumented.is_some());
        }
        let once = hook.tally();
        assert_eq!(
            (once.classes, once.skipped["trivial"]),
            (1, 1),
            "copies are one"
        );
        hook.instrument(from(5, 4), greeter, |len| Some(vec![0; len]));
        let twice = hook.tally();
        assert_eq!((twice.classes, twice.skipped["trivial"]), (2, 2));
        assert_eq!(twice.instrumented, 2 * once.instrumented);
    }

    /// Whatever becomes of the class, and while it is under way.
    #[test]
    fn a_pattern_that_matched_once_has_matched() {
        let text = "file=unused,include=Greeter,include=Greeter::greet,include=not.There";
        let hook = Hook::new(options::for_test(text));
        let greeter = include_bytes!("../../../rewrite/doc/Greeter.class");
        let origin = Origin {
            loader: Loader { number: 3, kind: 3 },
            is_jdk: false,
        };
        assert_eq!(hook.unmatched().len(), 3);
        let none = hook.instrument(origin, greeter, |_| -> Option<Vec<u8>> {
            assert_eq!(hook.unmatched(), ["not.There"], "busy");
            panic!("in the midst of it");
        });
        assert!(none.is_none());
        assert_eq!(hook.unmatched(), ["not.There"], "lost");
    }

    #[test]
    fn a_list_that_is_cut_says_so() {
        let names = |count: usize| vec![String::new(); count];
        let mut tally = Tally::default();
        tally.explain(names(MOST_EXPLAINED - 1));
        tally.explain(names(1));
        assert_eq!(tally.clone().into_explained().len(), MOST_EXPLAINED);
        tally.explain(names(2));
        tally.explain(names(5));
        let lines = tally.into_explained();
        let last = lines.last().map(String::as_str);
        assert_eq!(last, Some("7 more methods not instrumented are not listed"));
        assert_eq!(lines.len(), MOST_EXPLAINED + 1);
    }
}
