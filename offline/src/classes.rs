//! Rewriting single classes, on all cores at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use loadhook_rewrite::class::Member;
use loadhook_rewrite::constant_pool::Constant;
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{
    ClassFile, Options, Outcome, Probes, Rewriter, Selector, Site, TRIVIAL, symbol,
};
use loadhook_settings::Filter;

use crate::plan::{Plan, Tracker};
use crate::symbols;
use crate::tally::{Detail, Identified, Tally};

/// The package of the tracker's classes, and of those of a modular archive.
pub(crate) const PACKAGE: &[u8] = b"loadhook/";

/// What has to be known of a class before it can be rewritten.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Its internal name, modified UTF-8.
    pub(crate) name: Vec<u8>,
    /// How many ids its methods and its allocations take.
    pub(crate) ids: Ids,
    /// About how many bytes its symbols take.
    pub(crate) symbols: u64,
    pub(crate) state: State,
}

/// What a class has to do with trackers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing so far.
    Fresh,
    /// It calls one already.
    Instrumented,
    /// It is of a tracker, or a part.
    Tracker,
}

/// Numbers of ids, or the first ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    pub(crate) methods: u32,
    pub(crate) sites: u32,
}

impl Ids {
    /// Gives out so many; the first ones.
    pub(crate) fn take(&mut self, ids: Ids) -> Ids {
        let first = *self;
        self.methods += ids.methods;
        self.sites += ids.sites;
        first
    }
}

/// What became of a class.
#[derive(Debug)]
pub(crate) struct Done {
    /// `None` when it stays as it was.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) is_rewritten: bool,
    /// Its lines among its unit's symbols.
    pub(crate) symbols: String,
    /// Methods left out or alone, by reason.
    pub(crate) left_alone: BTreeMap<&'static str, u64>,
    pub(crate) tally: Tally,
}

/// Rewrites classes by one plan.
pub(crate) struct Workshop<'p> {
    plan: &'p Plan,
    detail: Detail,
    idle: Mutex<Vec<Worker>>,
}

struct Worker {
    rewriter: Rewriter,
    filter: Filter,
}

impl<'p> Workshop<'p> {
    pub(crate) fn new(plan: &'p Plan, detail: Detail) -> Self {
        Workshop {
            plan,
            detail,
            idle: Mutex::default(),
        }
    }

    /// What is to be known before.
    pub(crate) fn facts(&self, bytes: &[u8]) -> Result<Facts, loadhook_rewrite::Error> {
        let class = ClassFile::parse(bytes)?;
        let mut ids = Ids {
            methods: class.methods().len() as u32,
            sites: 0,
        };
        if self.plan.allocations {
            let codes = class.methods().filter_map(|method| method.code().ok()?);
            ids.sites = codes.map(|code| sites(&code)).sum();
        }
        let symbols = class
            .methods()
            .map(|method| (method.name().len() + method.descriptor().len()) as u64)
            .sum();
        let pool = class.pool();
        let is_ours = |name: &[u8]| name.starts_with(PACKAGE) || name == b"java/lang/$Loadhook";
        let names_ours = |index| {
            matches!(pool.get(index), Ok(Constant::Class { name })
                if pool.utf8(name).is_ok_and(is_ours))
        };
        let state = match pool.indexes().any(names_ours) {
            _ if is_ours(class.name()) => State::Tracker,
            true => State::Instrumented,
            false => State::Fresh,
        };
        Ok(Facts {
            name: class.name().to_vec(),
            ids,
            symbols,
            state,
        })
    }

    /// Rewrites a class; `name` names it in messages. `owner` is the internal
    /// name of what the probes call, `first` the first ids.
    ///
    /// # Errors
    /// When it is no class file.
    pub(crate) fn rewrite(
        &self,
        name: &str,
        bytes: &[u8],
        owner: &str,
        first: Ids,
    ) -> Result<Done, loadhook_rewrite::Error> {
        let mut worker = self.worker();
        let done = self.rewrite_by(&mut worker, name, bytes, owner, first);
        // It knows which patterns matched, whatever became of this class.
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
        done
    }

    fn rewrite_by(
        &self,
        worker: &mut Worker,
        name: &str,
        bytes: &[u8],
        owner: &str,
        first: Ids,
    ) -> Result<Done, loadhook_rewrite::Error> {
        if worker.rewriter.options().owner != owner {
            owner.clone_into(&mut worker.rewriter.options_mut().owner);
        }
        let mut chooser = Chooser {
            plan: self.plan,
            filter: &mut worker.filter,
            first,
            trivial: 0,
            lines: String::new(),
            ends: Vec::new(),
            methods: Vec::new(),
            sites: 0,
            identified_sites: Vec::new(),
            identify: self.detail.ids,
        };
        let outcome = worker
            .rewriter
            .rewrite(bytes, &mut chooser, |len| Some(vec![0; len]))?;

        let mut done = Done {
            bytes: None,
            is_rewritten: false,
            symbols: String::new(),
            left_alone: BTreeMap::new(),
            tally: Tally::new(self.detail),
        };
        done.tally.classes = 1;
        done.tally.class_bytes = bytes.len() as u64;
        done.tally.trivial = chooser.trivial;
        if chooser.trivial != 0 {
            done.left_alone.insert("trivial", chooser.trivial);
        }
        let class = ClassFile::parse(bytes)?;
        count(&mut done, name, &class, &worker.rewriter);
        if let Outcome::Rewritten(rewritten) = outcome {
            let report = worker.rewriter.report();
            let left_alone = report.left_alone.iter().map(|left| left.method).collect();
            chooser.finish(&class, &left_alone, &mut done);
            done.tally.rewritten = 1;
            done.bytes = Some(rewritten);
            done.is_rewritten = true;
        }
        Ok(done)
    }

    /// Whether a class of these facts would change.
    pub(crate) fn rewrites(&self, bytes: &[u8], facts: &Facts) -> bool {
        facts.state == State::Fresh
            && self
                .rewrite("", bytes, "loadhook/Tracker", Ids::default())
                .is_ok_and(|done| done.is_rewritten)
    }

    fn worker(&self) -> Worker {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop().unwrap_or_else(|| Worker {
            rewriter: Rewriter::new(Options::default()),
            filter: self.plan.filter.clone(),
        })
    }

    /// The patterns that named nothing.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self
            .plan
            .filter
            .unmatched()
            .map(|pattern| pattern.text().to_owned());
        all.filter(|text| {
            idle.iter().all(|worker| {
                worker
                    .filter
                    .unmatched()
                    .any(|pattern| pattern.text() == text)
            })
        })
        .collect()
    }
}

/// How many instructions of a method allocate.
fn sites(code: &loadhook_rewrite::code::Code<'_>) -> u32 {
    code.instructions()
        .map_while(Result::ok)
        .filter(|instruction| {
            use Opcode::{Anewarray, Multianewarray, New, Newarray};
            matches!(
                instruction.opcode,
                New | Newarray | Anewarray | Multianewarray
            )
        })
        .count() as u32
}

fn count(done: &mut Done, name: &str, class: &ClassFile<'_>, rewriter: &Rewriter) {
    let report = rewriter.report();
    let tally = &mut done.tally;
    tally.methods_with_code = u64::from(report.with_code);
    tally.instrumented = u64::from(report.instrumented);
    let methods: Vec<Member<'_, '_>> = class.methods().collect();
    let method_name = |index: u16| {
        methods
            .get(usize::from(index))
            .map_or_else(|| format!("{name}: method {index}"), shown)
    };
    for left in &report.left_alone {
        let word = left.reason.word();
        let line = || match left.reason.is_by_nature() {
            true => method_name(left.method),
            false => format!("{}: {}", method_name(left.method), left.reason),
        };
        if !left.reason.is_by_nature() {
            tally.refused.push_with(line);
        }
        *done.left_alone.entry(word).or_default() += 1;
        tally.leave_alone(word, line);
    }
    for uncovered in &report.uncovered {
        tally.uncovered.push_with(|| {
            let name = method_name(uncovered.method);
            format!("{name}: {} instructions", uncovered.instructions)
        });
    }
}

/// `com.example.Service.handle()V`, fit to be printed.
fn shown(method: &Member<'_, '_>) -> String {
    let text = |bytes| loadhook_rewrite::text::display(bytes).to_string();
    let class = text(method.class().name()).replace('/', ".");
    format!(
        "{class}.{}{}",
        text(method.name()),
        text(method.descriptor())
    )
}

/// Chooses the methods of one class.
struct Chooser<'a> {
    plan: &'a Plan,
    filter: &'a mut Filter,
    first: Ids,
    trivial: u64,
    /// The symbols of the methods chosen, one behind the other, and where each
    /// ends.
    lines: String,
    ends: Vec<(u16, usize)>,
    sites: u32,
    /// Whether to keep what the ids stand for.
    identify: bool,
    methods: Vec<(u16, Identified)>,
    identified_sites: Vec<(u16, Identified)>,
}

impl Chooser<'_> {
    /// Gives what the ids stand for, but those of methods that were left alone
    /// in the end.
    fn finish(self, class: &ClassFile<'_>, left_alone: &BTreeSet<u16>, done: &mut Done) {
        let kept = |(method, identified): (u16, Identified)| {
            (!left_alone.contains(&method)).then_some(identified)
        };
        done.tally.methods = self.methods.into_iter().filter_map(kept).collect();
        done.tally.sites = self.identified_sites.into_iter().filter_map(kept).collect();
        if self
            .ends
            .iter()
            .all(|(method, _)| left_alone.contains(method))
        {
            return;
        }
        let source_file = symbol::source_file(class);
        let name = symbol::java_name(class.name());
        symbols::class(&mut done.symbols, &name, source_file.as_deref());
        let mut start = 0;
        for (method, end) in self.ends {
            if !left_alone.contains(&method) {
                done.symbols.push_str(&self.lines[start..end]);
            }
            start = end;
        }
    }
}

impl Selector for Chooser<'_> {
    fn class(&mut self, class: &ClassFile<'_>) -> bool {
        self.filter.class(class)
    }

    fn wants(&mut self, method: &Member<'_, '_>) -> bool {
        self.filter.method(method)
    }

    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let mut probes = Probes {
            timing: None,
            allocations: self.plan.allocations,
            objects: self.plan.objects,
        };
        if self.plan.timing {
            if !self.plan.all && method.is_trivial(TRIVIAL) {
                self.trivial += 1;
            } else {
                let id = self.first.methods + u32::from(method.index());
                probes.timing = Some(id);
                self.choose(method, id);
            }
        }
        probes
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

impl Chooser<'_> {
    fn choose(&mut self, method: &Member<'_, '_>, id: u32) {
        // Nobody else asks what the ids stand for.
        if self.plan.tracker != Tracker::None {
            symbols::method(
                &mut self.lines,
                id,
                &symbol::text(method.name()),
                &symbol::text(method.descriptor()),
                symbol::first_line(method),
            );
            self.ends.push((method.index(), self.lines.len()));
        }
        if self.identify {
            self.methods.push((method.index(), identified(method, id)));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const GREETER: &[u8] = include_bytes!("../../rewrite/doc/Greeter.class");

    #[test]
    fn what_matched_is_not_forgotten_when_a_class_fails() {
        let mut filter = Filter::new();
        filter.include("Greeter,Nobody").unwrap();
        let plan = Plan::new(filter);
        let workshop = Workshop::new(&plan, Detail::default());
        let rewrite = |owner| workshop.rewrite("", GREETER, owner, Ids::default());
        assert!(rewrite("a/Part").unwrap().is_rewritten);
        // No name of a class.
        assert!(rewrite("a;").is_err());
        assert_eq!(workshop.unmatched(), ["Nobody"]);
    }
}
