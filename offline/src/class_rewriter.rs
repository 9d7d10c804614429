//! Rewrites single classes, on all cores at once.

use std::collections::BTreeMap;

use loadhook_instrument::{Instrumented, Instrumenter, NotInstrumented, SkipReason};
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, Site, symbol};

use crate::class_facts::{Facts, Ids, TrackerUse};
use crate::plan::{Plan, Tracker};
use crate::symbols;
use crate::tally::{Detail, Identified, Tally};

/// Rewrites classes by one plan.
pub(crate) struct ClassRewriter<'p> {
    plan: &'p Plan,
    detail: Detail,
    instrumenter: Instrumenter,
}

/// The result for one class.
#[derive(Debug)]
pub(crate) struct RewrittenClass {
    /// The new class. `None` if the class stays unchanged, or if the caller has already taken the bytes.
    pub(crate) bytes: Option<Vec<u8>>,
    /// True if the class changed.
    pub(crate) is_rewritten: bool,
    /// The class's lines in the symbols of its unit.
    pub(crate) symbols: String,
    /// Numbers of methods without probes, by the reason.
    pub(crate) not_instrumented: BTreeMap<&'static str, u64>,
    /// Counts and names for the summary.
    pub(crate) tally: Tally,
}

impl<'p> ClassRewriter<'p> {
    pub(crate) fn new(plan: &'p Plan, detail: Detail) -> Self {
        ClassRewriter {
            plan,
            detail,
            instrumenter: Instrumenter::new(plan.selection.clone()),
        }
    }

    /// Reads the facts about a class that the rewriting needs.
    pub(crate) fn facts(&self, bytes: &[u8]) -> Result<Facts, loadhook_rewrite::Error> {
        Facts::read(bytes, self.plan.selection.allocations)
    }

    /// Rewrites a class. `name` names the class in messages, `owner` is the internal name of the class that the probes
    /// call, and `first` has the first method id and the first site id.
    ///
    /// # Errors
    /// When the bytes are not a class file.
    pub(crate) fn rewrite(
        &self,
        name: &str,
        bytes: &[u8],
        owner: &str,
        first: Ids,
    ) -> Result<RewrittenClass, loadhook_rewrite::Error> {
        let mut ids = ClassIds {
            first,
            needs_symbols: self.plan.tracker != Tracker::None,
            symbols: String::new(),
            symbol_ends: Vec::new(),
            sites: 0,
            identify: self.detail.ids,
            identified_methods: Vec::new(),
            identified_sites: Vec::new(),
        };
        let allocate = |len| Some(vec![0; len]);
        let result = self
            .instrumenter
            .instrument(bytes, owner, &mut ids, allocate)?;
        let class = ClassFile::parse(bytes)?;
        let mut rewritten = RewrittenClass {
            bytes: None,
            is_rewritten: result.class.is_some(),
            symbols: String::new(),
            not_instrumented: BTreeMap::new(),
            tally: Tally::new(self.detail),
        };
        rewritten.tally.classes = 1;
        rewritten.tally.class_bytes = bytes.len() as u64;
        rewritten.tally.rewritten = u64::from(rewritten.is_rewritten);
        rewritten.count(name, &class, &result);
        if rewritten.is_rewritten {
            ids.finish(&class, &result, &mut rewritten);
        }
        rewritten.bytes = result.class;
        Ok(rewritten)
    }

    /// Returns whether a class with these facts would change.
    pub(crate) fn rewrites(&self, bytes: &[u8], facts: &Facts) -> bool {
        facts.tracker_use == TrackerUse::Fresh
            && self
                .rewrite("", bytes, "loadhook/Tracker", Ids::default())
                .is_ok_and(|rewritten| rewritten.is_rewritten)
    }

    /// Returns the patterns that have matched nothing so far.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        self.instrumenter.unmatched()
    }
}

impl RewrittenClass {
    /// Counts the methods of a class. `name` names the class in messages.
    fn count(&mut self, name: &str, class: &ClassFile<'_>, result: &Instrumented<Vec<u8>>) {
        let methods: Vec<Member<'_, '_>> = class.methods().collect();
        let method_name = |index: u16| {
            methods
                .get(usize::from(index))
                .map_or_else(|| format!("{name}: method {index}"), shown)
        };
        self.tally.methods_with_code = u64::from(result.report.with_code);
        self.tally.instrumented = u64::from(result.report.instrumented);
        for it in result.not_instrumented() {
            *self.not_instrumented.entry(it.word()).or_default() += 1;
            self.tally_method(&it, method_name);
        }
        for uncovered in &result.report.uncovered {
            self.tally.uncovered.push_with(|| {
                let name = method_name(uncovered.method);
                format!("{name}: {} instructions", uncovered.instructions)
            });
        }
    }

    fn tally_method(&mut self, it: &NotInstrumented<'_>, method_name: impl Fn(u16) -> String) {
        let SkipReason::LeftAlone(reason) = it.reason else {
            self.tally.trivial += 1;
            return;
        };
        if reason.is_by_nature() {
            self.tally.leave_alone(it.word(), || method_name(it.method));
            return;
        }
        let line = || format!("{}: {reason}", method_name(it.method));
        self.tally.refused.push_with(line);
        self.tally.leave_alone(it.word(), line);
    }
}

/// Returns a method as `com.example.Service.handle()V`. Characters that a terminal would act on are
/// escaped.
fn shown(method: &Member<'_, '_>) -> String {
    let text = |bytes| loadhook_rewrite::text::display(bytes).to_string();
    let class = text(method.class().name()).replace('/', ".");
    let (name, descriptor) = (text(method.name()), text(method.descriptor()));
    format!("{class}.{name}{descriptor}")
}

/// The ids that the methods and sites of one class get, and the names for these ids.
struct ClassIds {
    first: Ids,
    /// True if probes call Loadhook's own tracker, which needs the names of methods.
    needs_symbols: bool,
    /// The symbols of the methods with ids, one after the other.
    symbols: String,
    /// For each method in `symbols`, its position in the class and the end of its symbol.
    symbol_ends: Vec<(u16, usize)>,
    /// Number of sites so far.
    sites: u32,
    /// True if ids are listed in the summary.
    identify: bool,
    identified_methods: Vec<(u16, Identified)>,
    identified_sites: Vec<(u16, Identified)>,
}

impl ClassIds {
    /// Adds the names for the ids to `rewritten`, but no names for methods that were not instrumented in the end.
    fn finish(
        self,
        class: &ClassFile<'_>,
        result: &Instrumented<Vec<u8>>,
        rewritten: &mut RewrittenClass,
    ) {
        let kept = |(method, identified): (u16, Identified)| {
            (!result.is_left_alone(method)).then_some(identified)
        };
        let methods = self.identified_methods.into_iter().filter_map(kept);
        rewritten.tally.methods = methods.collect();
        let sites = self.identified_sites.into_iter().filter_map(kept);
        rewritten.tally.sites = sites.collect();
        let mut symbol_ends = self.symbol_ends.iter();
        if symbol_ends.all(|(method, _)| result.is_left_alone(*method)) {
            return;
        }
        let source_file = symbol::source_file(class);
        let name = symbol::java_name(class.name());
        symbols::class(&mut rewritten.symbols, &name, source_file.as_deref());
        let mut start = 0;
        for (method, end) in self.symbol_ends {
            if !result.is_left_alone(method) {
                rewritten.symbols.push_str(&self.symbols[start..end]);
            }
            start = end;
        }
    }
}

impl loadhook_instrument::Ids for ClassIds {
    fn method(&mut self, method: &Member<'_, '_>) -> u32 {
        let id = self.first.methods + u32::from(method.index());
        if self.needs_symbols {
            symbols::method(
                &mut self.symbols,
                id,
                &symbol::text(method.name()),
                &symbol::text(method.descriptor()),
                symbol::first_line(method),
            );
            self.symbol_ends.push((method.index(), self.symbols.len()));
        }
        if self.identify {
            self.identified_methods
                .push((method.index(), identified(method, id)));
        }
        id
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        let id = self.first.sites + self.sites;
        self.sites += 1;
        if self.identify {
            let mut identified = identified(method, id);
            identified.bci = Some(site.bci.0);
            identified.type_name = Some(site.allocation.type_name());
            self.identified_sites.push((method.index(), identified));
        }
        id
    }
}

fn identified(method: &Member<'_, '_>, id: u32) -> Identified {
    Identified {
        id,
        class: symbol::java_name(method.class().name()),
        method: symbol::text(method.name()),
        descriptor: symbol::text(method.descriptor()),
        bci: None,
        type_name: None,
    }
}
