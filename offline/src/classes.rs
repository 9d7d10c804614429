//! Rewriting single classes, on all cores at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use loadhook_rewrite::class::Member;
use loadhook_rewrite::constant_pool::Constant;
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{
    ClassFile, Filter, Options, Outcome, Probes, Rewriter, Selector, Site, symbol,
};

use crate::plan::Plan;
use crate::symbols::{ClassSymbols, MethodSymbol};
use crate::tally::{Identified, Tally};

/// Up to this many instructions a method without call and loop is trivial:
/// it costs less than its probes.
const TRIVIAL: usize = 24;

/// The package of the tracker's classes, and of those of a modular archive.
pub(crate) const PACKAGE: &[u8] = b"loadhook/";

/// What has to be known of a class before it can be rewritten.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Its internal name, modified UTF-8.
    pub(crate) name: Vec<u8>,
    /// How many ids its methods and its allocations take.
    pub(crate) ids: Ids,
    /// Whether it calls a tracker already, or is a part of one.
    pub(crate) is_instrumented: bool,
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
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// `None` when it stays as it was.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) is_rewritten: bool,
    pub(crate) symbols: Option<ClassSymbols>,
    /// Methods left out or alone, by reason.
    pub(crate) left_alone: BTreeMap<&'static str, u64>,
    pub(crate) tally: Tally,
}

/// Rewrites classes by one plan.
pub(crate) struct Workshop<'p> {
    plan: &'p Plan,
    /// Whether to name what the ids stand for.
    pub(crate) remember: bool,
    idle: Mutex<Vec<Worker>>,
}

struct Worker {
    rewriter: Rewriter,
    filter: Filter,
}

impl<'p> Workshop<'p> {
    pub(crate) fn new(plan: &'p Plan, remember: bool) -> Self {
        Workshop {
            plan,
            remember,
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
        let pool = class.pool();
        let is_ours = |name: &[u8]| name.starts_with(PACKAGE) || name == b"java/lang/$Loadhook";
        let calls_ours = (1..pool.count()).any(|index| {
            matches!(pool.get(index), Ok(Constant::Class { name })
                if pool.utf8(name).is_ok_and(is_ours))
        });
        Ok(Facts {
            name: class.name().to_vec(),
            ids,
            is_instrumented: calls_ours,
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
        if worker.rewriter.options().owner != owner {
            owner.clone_into(&mut worker.rewriter.options_mut().owner);
        }
        let mut chooser = Chooser {
            plan: self.plan,
            filter: &mut worker.filter,
            first,
            sites: 0,
            trivial: 0,
            chosen: Vec::new(),
            chosen_sites: Vec::new(),
            remember: self.remember,
        };
        let outcome = worker
            .rewriter
            .rewrite(bytes, &mut chooser, |len| Some(vec![0; len]))?;
        let Chooser {
            trivial,
            chosen,
            chosen_sites,
            ..
        } = chooser;

        let mut done = Done::default();
        done.tally.classes = 1;
        done.tally.class_bytes = bytes.len() as u64;
        done.tally.trivial = trivial;
        if trivial != 0 {
            done.left_alone.insert("trivial", trivial);
        }
        let class = ClassFile::parse(bytes)?;
        count(&mut done, name, &class, &worker.rewriter);
        if let Outcome::Rewritten(rewritten) = outcome {
            let left_alone = &worker.rewriter.report().left_alone;
            let is_kept = |method: u16| left_alone.iter().all(|left| left.method != method);
            let mut methods = chosen;
            methods.retain(|(method, _)| is_kept(*method));
            done.tally.rewritten = 1;
            done.tally.sites = chosen_sites
                .into_iter()
                .filter(|(method, _)| is_kept(*method))
                .map(|(_, site)| site)
                .collect();
            let symbols = ClassSymbols {
                name: symbol::java_name(class.name()),
                source_file: symbol::source_file(&class),
                methods: methods.into_iter().map(|(_, symbol)| symbol).collect(),
            };
            if self.remember {
                done.tally.methods = symbols
                    .methods
                    .iter()
                    .map(|m| m.identified(&symbols.name))
                    .collect();
            }
            done.symbols = Some(symbols);
            done.bytes = Some(rewritten);
            done.is_rewritten = true;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
        Ok(done)
    }

    /// Whether a class would change; it is not one that carries probes.
    pub(crate) fn rewrites(&self, bytes: &[u8]) -> bool {
        let facts = self.facts(bytes);
        facts.is_ok_and(|facts| !facts.is_instrumented)
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

impl MethodSymbol {
    fn identified(&self, class: &str) -> Identified {
        Identified {
            id: self.id,
            class: class.to_owned(),
            method: self.name.clone(),
            descriptor: self.descriptor.clone(),
            bci: None,
            type_name: None,
        }
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
    let method_name = |index: u16| {
        let method = class.methods().nth(usize::from(index));
        method.map_or_else(
            || format!("{name}: method {index}"),
            |method| shown(&method),
        )
    };
    for left in &report.left_alone {
        let mut line = method_name(left.method);
        if !left.reason.is_by_nature() {
            line = format!("{line}: {}", left.reason);
            tally.refused.push(line.clone());
        }
        *done.left_alone.entry(left.reason.word()).or_default() += 1;
        tally
            .left_alone
            .entry(left.reason.word())
            .or_default()
            .push(line);
    }
    for uncovered in &report.uncovered {
        let name = method_name(uncovered.method);
        tally
            .uncovered
            .push(format!("{name}: {} instructions", uncovered.instructions));
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
    sites: u32,
    trivial: u64,
    /// Position and symbol of each method chosen.
    chosen: Vec<(u16, MethodSymbol)>,
    chosen_sites: Vec<(u16, Identified)>,
    remember: bool,
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
                let symbol = MethodSymbol {
                    id,
                    name: symbol::text(method.name()),
                    descriptor: symbol::text(method.descriptor()),
                    line: symbol::first_line(method),
                };
                self.chosen.push((method.index(), symbol));
            }
        }
        probes
    }

    fn site(&mut self, method: &Member<'_, '_>, site: &Site<'_>) -> u32 {
        let id = self.first.sites + self.sites;
        self.sites += 1;
        if self.remember {
            let site = Identified {
                id,
                class: symbol::java_name(method.class().name()),
                method: symbol::text(method.name()),
                descriptor: symbol::text(method.descriptor()),
                bci: Some(site.bci),
                type_name: Some(site.allocation.type_name()),
            };
            self.chosen_sites.push((method.index(), site));
        }
        id
    }
}
