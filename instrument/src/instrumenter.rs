//! Instruments classes on many threads, each with a rewriter and filters of its own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_rewrite::{Error, Options, Outcome, Report, Rewriter};
use loadhook_settings::Filter;

use crate::not_instrumented::{NotInstrumented, SkipReason};
use crate::selection::{Choice, ClassSelector, Ids, Selection};

/// Rewrites classes by one selection, on any number of threads at once.
#[derive(Debug)]
pub struct Instrumenter {
    selection: Selection,
    /// Idle workers. A thread takes a worker for each class.
    idle: Mutex<Vec<Worker>>,
    /// Patterns that have matched nothing yet, on any thread.
    unmatched: Mutex<Vec<String>>,
}

/// The rewriter and the filters for one thread at a time. Workers keep their buffers and caches from class to
/// class.
#[derive(Debug)]
struct Worker {
    rewriter: Rewriter,
    filter: Filter,
    traced: Filter,
    /// Number of the filter's patterns that have matched nothing yet.
    unmatched: usize,
}

/// The result for one class.
#[derive(Clone, Debug)]
pub struct Instrumented<B> {
    /// The new class; `None` if the class stays unchanged.
    pub class: Option<B>,
    /// The rewriter's report on the methods.
    pub report: Report,
    /// Positions of the trivial methods.
    trivial: Vec<u16>,
}

impl<B> Instrumented<B> {
    /// Returns whether the rewriter did not instrument the method at position `method` of the class. The id of
    /// such a method is unused.
    pub fn is_left_alone(&self, method: u16) -> bool {
        let left_alone = &self.report.left_alone;
        let found = left_alone.binary_search_by_key(&method, |left| left.method);
        found.is_ok()
    }

    /// Returns the selected methods without probes: first the trivial methods, then those that the rewriter
    /// refused.
    pub fn not_instrumented(&self) -> impl Iterator<Item = NotInstrumented<'_>> {
        let trivial = self.trivial.iter().map(|method| NotInstrumented {
            method: *method,
            reason: SkipReason::Trivial,
        });
        trivial.chain(self.report.left_alone.iter().map(NotInstrumented::from))
    }
}

impl Instrumenter {
    /// Makes an instrumenter for this selection.
    pub fn new(selection: Selection) -> Self {
        let unmatched = selection.filter.unmatched();
        let unmatched = unmatched.map(|pattern| pattern.text().to_owned()).collect();
        Instrumenter {
            selection,
            idle: Mutex::default(),
            unmatched: Mutex::new(unmatched),
        }
    }

    /// Instruments the class in `bytes` into a buffer that `allocate` returns. The probes call the class `owner`,
    /// an internal name.
    ///
    /// # Errors
    /// When the class cannot be read, or `owner` is not a class name.
    pub fn instrument<B: AsMut<[u8]>>(
        &self,
        bytes: &[u8],
        owner: &str,
        ids: &mut impl Ids,
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Instrumented<B>, Error> {
        // If the rewriter panics, the worker is dropped, because its state is unknown.
        let mut worker = self.take_worker();
        let result = self.instrument_with(&mut worker, bytes, owner, ids, allocate);
        lock(&self.idle).push(worker);
        result
    }

    fn instrument_with<B: AsMut<[u8]>>(
        &self,
        worker: &mut Worker,
        bytes: &[u8],
        owner: &str,
        ids: &mut impl Ids,
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Instrumented<B>, Error> {
        if worker.rewriter.options().owner != owner {
            owner.clone_into(&mut worker.rewriter.options_mut().owner);
        }
        let unmatched = &mut worker.unmatched;
        let mut selector = ClassSelector {
            selection: &self.selection,
            filter: &mut worker.filter,
            traced: &mut worker.traced,
            ids,
            after_matching: |filter: &Filter| self.note_matched(filter, unmatched),
            trivial: Vec::new(),
            of_class: Choice::default(),
            of_method: Choice::default(),
        };
        let outcome = worker.rewriter.rewrite(bytes, &mut selector, allocate)?;
        let trivial = selector.trivial;
        Ok(Instrumented {
            class: match outcome {
                Outcome::Unchanged => None,
                Outcome::Rewritten(class) => Some(class),
            },
            report: worker.rewriter.take_report(),
            trivial,
        })
    }

    fn take_worker(&self) -> Worker {
        let idle = lock(&self.idle).pop();
        idle.unwrap_or_else(|| Worker {
            rewriter: Rewriter::new(Options::default()),
            filter: self.selection.filter.clone(),
            traced: self.selection.traced.methods.clone(),
            unmatched: self.selection.filter.unmatched().count(),
        })
    }

    /// Records which patterns have matched. This happens at once, because the worker may be lost by a panic, or
    /// busy when [`unmatched`](Instrumenter::unmatched) is called. `known` is the number of patterns that were
    /// unmatched in the previous call for this filter.
    fn note_matched(&self, filter: &Filter, known: &mut usize) {
        let left = filter.unmatched().count();
        if left != *known {
            *known = left;
            let is_left = |text: &String| filter.unmatched().any(|it| it.text() == text);
            lock(&self.unmatched).retain(is_left);
        }
    }

    /// Returns the patterns that have matched nothing so far, on any thread.
    pub fn unmatched(&self) -> Vec<String> {
        lock(&self.unmatched).clone()
    }
}

/// Locks a mutex, even after a panic. A panic cannot leave the lists in these mutexes half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use loadhook_rewrite::class::Member;
    use loadhook_rewrite::{LeftAlone, Reason};

    use super::*;
    use crate::selection::{CallProbes, Traced};

    const GREETER: &[u8] = include_bytes!("../../rewrite/doc/Greeter.class");

    struct Positions;

    impl Ids for Positions {
        fn method(&mut self, method: &Member<'_, '_>) -> u32 {
            method.index().into()
        }
    }

    fn instrumenter(include: &str) -> Instrumenter {
        let mut filter = Filter::new();
        filter.include(include).expect("the patterns are valid");
        Instrumenter::new(Selection::timing(filter))
    }

    #[test]
    fn a_pattern_that_matched_once_has_matched() {
        let instrumenter = instrumenter("Greeter,Greeter::greet,not.There");
        assert_eq!(instrumenter.unmatched().len(), 3);
        let lost = catch_unwind(AssertUnwindSafe(|| {
            instrumenter.instrument(GREETER, "a/T", &mut Positions, |_| -> Option<Vec<u8>> {
                assert_eq!(
                    instrumenter.unmatched(),
                    ["not.There"],
                    "the patterns count as matched while the class is being instrumented"
                );
                panic!("the worker is lost");
            })
        }));
        assert!(lost.is_err());
        assert_eq!(
            instrumenter.unmatched(),
            ["not.There"],
            "the matches found before the panic must be kept"
        );
    }

    #[test]
    fn matches_are_kept_when_a_class_fails() {
        let instrumenter = instrumenter("Greeter,Nobody");
        let instrument = |owner| {
            instrumenter.instrument(GREETER, owner, &mut Positions, |len| Some(vec![0; len]))
        };
        let result = instrument("a/Part").expect("the bytes are a class");
        assert!(result.class.is_some() && result.report.left_alone.is_empty());
        assert!(instrument("a;").is_err(), "`a;` is not a class name");
        assert_eq!(instrumenter.unmatched(), ["Nobody"]);
    }

    #[test]
    fn trivial_methods_are_instrumented_if_all_are() {
        let mut selection = Selection::timing(Filter::new());
        selection.all = true;
        let instrumenter = Instrumenter::new(selection);
        let allocate = |len| Some(vec![0; len]);
        let result = instrumenter.instrument(GREETER, "a/T", &mut Positions, allocate);
        let result = result.expect("the bytes are a class");
        assert_eq!(result.report.instrumented, 3);
        assert_eq!(result.not_instrumented().count(), 0);
    }

    /// The third method of the class is trivial, but it gets a counting probe.
    #[test]
    fn calls_of_trivial_methods_are_counted() {
        let mut selection = Selection::timing(Filter::new());
        selection.calls = Some(CallProbes::Count);
        let instrumenter = Instrumenter::new(selection);
        let allocate = |len| Some(vec![0; len]);
        let result = instrumenter.instrument(GREETER, "a/T", &mut Positions, allocate);
        let result = result.expect("the bytes are a class");
        assert_eq!(result.report.instrumented, 3);
        assert_eq!(result.not_instrumented().count(), 0);
        let class = result.class.expect("the class was rewritten");
        let has = |name: &[u8]| class.windows(name.len()).any(|bytes| bytes == name);
        assert!(has(b"count") && !has(b"enter") && !has(b"exit"));
    }

    #[test]
    fn traced_methods_get_their_probes_whatever_is_watched() {
        for (filter, has_enter) in [(Filter::none(), false), (Filter::new(), true)] {
            let mut selection = Selection::timing(filter);
            let mut traced = Filter::new();
            traced.include("Greeter::greet").expect("a pattern");
            selection.traced = Traced {
                methods: traced,
                values: true,
            };
            let instrumenter = Instrumenter::new(selection);
            let allocate = |len| Some(vec![0; len]);
            let result = instrumenter.instrument(GREETER, "a/T", &mut Positions, allocate);
            let class = result.expect("the bytes are a class").class;
            let class = class.expect("the class was rewritten");
            let has = |name: &[u8]| class.windows(name.len()).any(|bytes| bytes == name);
            assert!(has(b"traceEnter") && has(b"traceThrown") && has(b"traceValue"));
            assert_eq!(has(b"\x05enter"), has_enter);
        }
    }

    /// Intrinsic candidates and trivial methods alternate in this class.
    #[test]
    fn methods_left_alone_are_known_by_their_positions() {
        let instrumented = |left_alone: &[u16], trivial: &[u16]| Instrumented {
            class: None::<Vec<u8>>,
            report: Report {
                left_alone: left_alone
                    .iter()
                    .map(|method| LeftAlone {
                        method: *method,
                        reason: Reason::IntrinsicCandidate,
                    })
                    .collect(),
                ..Report::default()
            },
            trivial: trivial.to_vec(),
        };
        let result = instrumented(&[1, 3, 3, 6], &[0, 5]);
        let left_alone: Vec<u16> = (0..8).filter(|it| result.is_left_alone(*it)).collect();
        assert_eq!(left_alone, [1, 3, 6]);
        let methods: Vec<u16> = result.not_instrumented().map(|it| it.method).collect();
        assert_eq!(methods, [0, 5, 1, 3, 3, 6], "trivial ones first");
        assert!(!instrumented(&[], &[0]).is_left_alone(0));
    }

    /// A worker is used for several classes. The report of a class must not have entries of the
    /// previous one.
    #[test]
    fn each_class_has_a_report_of_its_own() {
        let instrumenter = instrumenter("Greeter");
        let mut last = None;
        for _ in 0..2 {
            let allocate = |len| Some(vec![0; len]);
            let result = instrumenter.instrument(GREETER, "a/T", &mut Positions, allocate);
            let report = result.expect("the bytes are a class").report;
            assert_eq!(report.instrumented, 2);
            assert!(last.is_none_or(|last| last == report));
            last = Some(report);
        }
    }
}
