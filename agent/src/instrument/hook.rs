//! Instruments the bytes of a class before the JVM defines the class.
//!
//! The hook takes bytes and an allocator. It does not depend on JVM TI, because JVMPI's `CLASS_LOAD_HOOK`, with its
//! `malloc_f`, uses the hook too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use loadhook_instrument::{Ids, Instrumented, ProbesLeft, Traced};
use loadhook_profile::Header;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, Site};
use loadhook_settings::Filter;

use super::exclusions;
use super::levels::Levels;
use super::loaders::Origin;
use super::registry::{Entry, Registry, Symbol};
use super::tally::{self, Tally};
use super::watch::Watch;
use crate::locks::lock;
use crate::options::Options;
use crate::tracker::array_kinds::{KIND_BITS, array_kind};
use crate::{diagnostics, tracker};

/// Instruments classes. Many threads use it at once.
pub(crate) struct Hook {
    options: Options,
    /// The internal name of the class that probes call, once it is known.
    owner: OnceLock<&'static str>,
    pub(crate) registry: Registry,
    pub(crate) levels: Levels,
    /// The present choice of methods. It is replaced as a whole when the choice changes. A class that is being
    /// instrumented at this moment keeps the old choice.
    watch: Mutex<Arc<Watch>>,
    tally: Mutex<Tally>,
}

impl Hook {
    pub(crate) fn new(options: Options) -> Self {
        let watch = Watch::new(options.filter.clone(), Traced::none(), &options);
        Hook {
            watch: Mutex::new(Arc::new(watch)),
            options,
            owner: OnceLock::new(),
            registry: Registry::after_earlier_agents(),
            levels: Levels::default(),
            tally: Mutex::default(),
        }
    }

    /// Sets the class that probes call. Must be called before the first class is instrumented. Without this call,
    /// probes call [`tracker::NAME`].
    pub(crate) fn set_owner(&self, owner: &'static str) {
        let _ = self.owner.set(owner);
    }

    fn owner(&self) -> &'static str {
        self.owner.get_or_init(|| tracker::NAME)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the present choice of methods.
    pub(crate) fn watch(&self) -> Arc<Watch> {
        lock(&self.watch).clone()
    }

    /// Replaces the choice of methods, for classes that are instrumented from now on. Returns the old choice and the
    /// new choice.
    pub(super) fn replace_watch(&self, filter: Filter, traced: Traced) -> (Arc<Watch>, Arc<Watch>) {
        let mut new = Watch::new(filter, traced, &self.options);
        let mut watch = lock(&self.watch);
        new.follow(&watch);
        let new = Arc::new(new);
        let old = std::mem::replace(&mut *watch, new.clone());
        (old, new)
    }

    /// Returns whether probes may have counted something.
    pub(crate) fn may_have_counts(&self) -> bool {
        self.options.rewrites() && !(self.options.settings.include_none && self.registry.is_empty())
    }

    /// Instruments a class, and writes it into a buffer from `allocate`. Returns `None` if the class stays as it is.
    /// After a panic, which is logged, the class stays as it is.
    pub(crate) fn instrument<B: AsMut<[u8]>>(
        &self,
        origin: Origin,
        bytes: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Option<B> {
        let owner = self.owner();
        self.instrument_by(&self.watch(), owner, origin, false, bytes, allocate)
    }

    /// Instruments a hidden class by the choice of methods `watch`, otherwise like [`instrument`](Self::instrument).
    ///
    /// A hidden class gets no probes for a trace. The JVM cannot change a hidden class, so the probes would stay when
    /// the trace ends, and a later trace of other methods would show its calls.
    pub(super) fn instrument_hidden(
        &self,
        watch: &Watch,
        origin: Origin,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        // Only orders begin pauses, so without a control socket the class needs no probes that can be paused.
        let owner = if self.options.settings.control {
            tracker::PAUSABLE
        } else {
            self.owner()
        };
        let allocate = |len| Some(vec![0; len]);
        self.instrument_by(watch, owner, origin, true, bytes, allocate)
    }

    fn instrument_by<B: AsMut<[u8]>>(
        &self,
        watch: &Watch,
        owner: &str,
        origin: Origin,
        is_hidden: bool,
        bytes: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Option<B> {
        if !watch.wants(origin) {
            return None;
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut ids = ClassIds {
                registry: &self.registry,
                levels: &self.levels,
                watch,
                origin,
                is_hidden,
                entry: None,
                is_new: false,
                counted_constructors: None,
                methods: Vec::new(),
            };
            let result = watch
                .instrumenter
                .instrument(bytes, owner, &mut ids, allocate);
            match result {
                Ok(result) => self.finish(ids, bytes, result),
                Err(error) => {
                    diagnostics::once(&format!("a class is not instrumented: {error}"));
                    None
                }
            }
        }));
        result.unwrap_or_else(|_| {
            diagnostics::once(
                "internal error while a class was instrumented; the class runs without probes; report this",
            );
            None
        })
    }

    /// Defines the instrumented methods of a class in the registry, and counts its methods for the header.
    fn finish<B>(&self, ids: ClassIds<'_>, bytes: &[u8], result: Instrumented<B>) -> Option<B> {
        if let Some(entry) = ids.entry.filter(|_| result.class.is_some()) {
            let methods = ids.methods.into_iter();
            let instrumented = methods.filter(|(method, _)| !result.is_left_alone(*method));
            let symbols = instrumented.map(|(_, symbol)| symbol).collect();
            self.registry.define(entry, symbols);
        }
        if ids.is_new {
            self.count(bytes, &result);
        }
        result.class
    }

    fn count<B>(&self, bytes: &[u8], result: &Instrumented<B>) {
        let explained = if self.options.settings.explain {
            tally::explain(result.not_instrumented(), bytes)
        } else {
            Vec::new()
        };
        let mut tally = lock(&self.tally);
        tally.classes += u64::from(result.class.is_some());
        tally.instrumented += u64::from(result.report.instrumented);
        for method in result.not_instrumented() {
            *tally.skipped.entry(method.word()).or_default() += 1;
        }
        tally.explain(explained);
    }

    pub(crate) fn tally(&self) -> Tally {
        lock(&self.tally).clone()
    }

    /// Describes in a profile's header what was instrumented, and by which version.
    pub(crate) fn describe(&self, header: &mut Header) {
        header.version = env!("CARGO_PKG_VERSION").to_owned();
        let tally = self.tally();
        header.left_alone = tally
            .skipped
            .iter()
            .map(|(reason, count)| ((*reason).to_owned(), *count))
            .collect();
        header.explained = tally.into_explained();
        header.unmatched = self.unmatched();
    }

    /// Returns the patterns that have matched no class and no method so far.
    fn unmatched(&self) -> Vec<String> {
        self.watch().instrumenter.unmatched()
    }
}

/// Gives ids to the methods of the class that is being instrumented.
struct ClassIds<'h> {
    registry: &'h Registry,
    levels: &'h Levels,
    watch: &'h Watch,
    origin: Origin,
    is_hidden: bool,
    /// The class in the registry, set once the class is known to be selected.
    entry: Option<Entry>,
    /// True if neither the class nor a copy of it has ids yet.
    is_new: bool,
    /// The time since which the constructors of the class are only counted; `None` if they are not only counted.
    counted_constructors: Option<Duration>,
    /// Positions and symbols of the methods that got ids.
    methods: Vec<(u16, Symbol)>,
}

impl Ids for ClassIds<'_> {
    fn excludes_class(&self, class: &ClassFile<'_>) -> bool {
        // A program that was rewritten on disk brings its own copy of the tracker's classes in `loadhook/`. They are
        // excluded, too.
        class.name().starts_with(b"loadhook/") || exclusions::has_class(class.name())
    }

    fn excludes_method(&self, method: &Member<'_, '_>) -> bool {
        exclusions::has_method(method.class().name(), method.name(), method.descriptor())
    }

    fn begin_class(&mut self, class: &ClassFile<'_>) -> bool {
        let entry = self.registry.entry(self.origin.loader, class);
        (self.entry, self.is_new) = (entry.map(|it| it.0), entry.is_some_and(|it| it.1));
        // A class that shares the ids of another class is not noted, because the other class was, and there may be
        // millions of copies.
        if self.is_new {
            self.counted_constructors = self.levels.constructors.note(class, self.is_hidden);
        }
        entry.is_some()
    }

    fn method(&mut self, method: &Member<'_, '_>) -> u32 {
        // `entry` is set, because `begin_class` is called first.
        let Some(entry) = self.entry else {
            return 0;
        };
        let id = entry.id(method.index());
        if let Some(since) = self.counted_constructors
            && method.name() == b"<init>"
        {
            self.levels.begin_counted(id, since);
        }
        self.methods.push((method.index(), Symbol::of(id, method)));
        id
    }

    fn probes_left(&self, id: u32) -> ProbesLeft {
        self.levels.probes_left(id)
    }

    fn only_traces(&self) -> bool {
        !self.watch.watches(self.origin)
    }

    fn traces(&self, method: &Member<'_, '_>) -> bool {
        !self.is_hidden && !exclusions::records_traces(method.class().name())
    }

    fn traced(&mut self, id: u32, method: &Member<'_, '_>) {
        self.watch.note_traced(id, method);
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        let Some(entry) = self.entry else {
            return 0;
        };
        let symbol = Symbol::of(entry.id(method.index()), method);
        let id = self.registry.site(entry, symbol, method, site);
        match array_kind(&site.allocation) {
            Some(kind) => id << KIND_BITS | kind,
            None => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use loadhook_settings::Pattern;

    use super::*;
    use crate::instrument::loaders::Loader;
    use crate::options;

    #[test]
    fn a_class_that_comes_again_counts_once() {
        let hook = Hook::new(options::for_test("timing=adaptive,file=unused"));
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
            "a class and its copies are counted once"
        );
        hook.instrument(from(5, 4), greeter, |len| Some(vec![0; len]));
        let twice = hook.tally();
        assert_eq!((twice.classes, twice.skipped["trivial"]), (2, 2));
        assert_eq!(twice.instrumented, 2 * once.instrumented);
    }

    /// If a constructor is only counted, those that call it for the same object are only counted, too: they cannot see an
    /// exception of that constructor.
    #[test]
    fn constructors_are_lowered_with_those_of_subclasses() {
        const OBJECT: &[u8] = b"java/lang/Object";
        let hook = Hook::new(options::for_test("file=unused"));
        let greeter = include_bytes!("../../../rewrite/doc/Greeter.class");
        let at = greeter.windows(OBJECT.len()).position(|it| it == OBJECT);
        let at = at.expect("the class has a superclass");
        // Makes the class with another superclass, whose name has the same length.
        let child =
            |name: &[u8; 16]| [&greeter[..at], name, &greeter[at + OBJECT.len()..]].concat();
        let instrument = |number: u32, bytes: &[u8]| {
            let origin = Origin {
                loader: Loader {
                    number,
                    kind: number,
                },
                is_jdk: false,
            };
            hook.instrument(origin, bytes, |len| Some(vec![0; len]));
        };
        let constructors = &hook.levels.constructors;
        let second = Duration::from_secs(1);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        instrument(3, &child(b"early/SuperClass"));
        let kept = constructors.kept(&hook.registry, HashSet::from(["Greeter".into()]));
        assert_eq!(kept, names(&["Greeter", "early.SuperClass"]));
        assert!(constructors.kept(&hook.registry, HashSet::new()).is_empty());
        let order = constructors.count(names(&["early.SuperClass"]), second);
        assert_eq!(order, [names(&["Greeter"]), names(&["early.SuperClass"])]);
        assert!(
            constructors
                .count(names(&["Greeter"]), 2 * second)
                .is_empty()
        );
        assert!(hook.levels.counted().is_empty());
        // The constructor of a subclass that is loaded later is only counted, like the constructor of its superclass.
        constructors.count(names(&["later.SuperClass"]), second);
        instrument(4, &child(b"later/SuperClass"));
        let counted = hook.levels.counted();
        let (id, level) = counted
            .first_key_value()
            .expect("the constructor is counted");
        let class = hook
            .registry
            .class_of(*id)
            .expect("the method belongs to a class");
        assert!(class.is_constructor && level.since == second && !level.had_probes);
        assert_eq!(counted.len(), 1);
        let kept = constructors.keep("Greeter");
        assert_eq!(
            kept,
            names(&["Greeter", "early.SuperClass", "later.SuperClass"])
        );
        instrument(5, &child(b"later/SuperClass"));
        assert_eq!(hook.levels.counted().len(), 1);
    }

    /// Each loader has a class whose name and superclass no other class has. After many of these classes are unloaded,
    /// further classes share ids.
    #[test]
    fn generated_classes_leave_no_names_of_constructors() {
        const OBJECT: &[u8] = b"java/lang/Object";
        let hook = Hook::new(options::for_test("file=unused"));
        let greeter = include_bytes!("../../../rewrite/doc/Greeter.class");
        let at = greeter.windows(OBJECT.len()).position(|it| it == OBJECT);
        let (before, after) = greeter.split_at(at.expect("the class has a superclass"));
        let generated = |number: u32| {
            let mut class = before.to_vec();
            class.extend(format!("some/Parent{number:05}").bytes());
            class.extend(&after[OBJECT.len()..]);
            for at in 0..class.len() - 7 {
                if &class[at..at + 7] == b"Greeter" {
                    class[at..at + 7].copy_from_slice(format!("Gen{number:04}").as_bytes());
                }
            }
            class
        };
        for number in 3..3000 {
            let loader = Loader { number, kind: 3 };
            let origin = Origin {
                loader,
                is_jdk: false,
            };
            let instrumented =
                hook.instrument(origin, &generated(number), |len| Some(vec![0; len]));
            assert!(instrumented.is_some());
            hook.registry.forget(number);
        }
        let constructors = &hook.levels.constructors;
        let family = |parent: &str| {
            let parents = HashSet::from([parent.to_owned()]);
            constructors.count(parents, Duration::ZERO).len()
        };
        assert_eq!(family("some.Parent00003"), 2, "the class and its subclass");
        assert_eq!(family("some.Parent02999"), 1);
    }

    /// The JVM could not remove the probes of a trace from a hidden class.
    #[test]
    fn hidden_classes_are_not_traced() {
        let hook = Hook::new(options::for_test("file=unused"));
        let patterns = Pattern::parse_list("Greeter").expect("a pattern");
        let traced = Traced {
            methods: Filter::of(patterns, Vec::new()),
            values: false,
        };
        let greeter = include_bytes!("../../../rewrite/doc/Greeter.class");
        let origin = Origin {
            loader: Loader { number: 3, kind: 3 },
            is_jdk: false,
        };
        let before = hook.instrument_hidden(&hook.watch(), origin, greeter);
        hook.replace_watch(Filter::new(), traced);
        let watch = hook.watch();
        let hidden = hook.instrument_hidden(&watch, origin, greeter);
        assert!(hidden.is_some() && hidden == before && !watch.has_traced());
        let ordinary = hook.instrument(origin, greeter, |len| Some(vec![0; len]));
        assert!(ordinary.is_some() && watch.has_traced());
    }

    /// A pattern counts as matched as soon as a class that it matches is being instrumented, even if the
    /// instrumentation fails.
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
            assert_eq!(
                hook.unmatched(),
                ["not.There"],
                "while the class is being instrumented"
            );
            panic!("a panic while the class is being instrumented");
        });
        assert!(none.is_none());
        assert_eq!(hook.unmatched(), ["not.There"], "after the panic");
    }
}
