//! The figures of a profile as plain data, for a program that draws them itself.

use loadhook_text::printable;

use super::allocation_places::{place_name, places};
use super::call_edges::edges;
use super::latencies::Latency;
use super::measure::Measure;
use super::options::{Options, Sort};
use super::tree::{Step, Tree};
use super::view::View;
use crate::model::{Method, MethodCalls, Node, Profile, ThreadKind, Timing, Waiting};

/// The figures of a profile. Names are safe for a terminal.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The time that the profile covers, in nanoseconds.
    pub duration_ns: f64,
    /// Set if times come from samples. Counts in trees are then samples.
    pub is_sampled: bool,
    /// Set if durations of calls are known.
    pub has_latencies: bool,
    /// The time of all methods, which is 100 %; calls if nothing was timed.
    pub whole: f64,
    /// Number of samples of running threads.
    pub samples: u64,
    /// The methods that the other figures refer to by number.
    pub definitions: Vec<Method>,
    /// The methods' names, in the same order.
    pub names: Vec<String>,
    /// The methods that were called or sampled.
    pub methods: Vec<MethodFigures>,
    /// The number of methods that are only counted, because they lost their timing probes; called or not.
    pub only_counted: u64,
    /// The number of methods that are no longer counted, because they lost their last probe; called or not.
    pub not_counted: u64,
    /// The call tree of all threads: depth first, the heaviest callees first.
    pub tree: Vec<Branch>,
    /// All calls of one method by another.
    pub calls: Vec<Calls>,
    /// The threads and groups of threads.
    pub threads: Vec<ThreadFigures>,
    /// The places that allocated; `None` if allocations were not recorded.
    pub allocations: Option<Vec<PlaceFigures>>,
}

/// A method in all its calling contexts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodFigures {
    /// Index into [`Picture::names`].
    pub method: u32,
    /// The calls; `None` if they were not counted.
    pub calls: Option<u64>,
    /// True if `calls` is a lower bound, because the method lost its last probe; see
    /// [`MethodCalls::until_ns`](crate::MethodCalls::until_ns).
    pub calls_are_least: bool,
    /// True if the method lost its timing probes, and its calls are still counted; see
    /// [`MethodCalls::since_ns`](crate::MethodCalls::since_ns).
    pub is_only_counted: bool,
    /// The time in the method itself, in nanoseconds; `None` if it is unknown.
    pub self_ns: Option<f64>,
    /// The time with callees, in nanoseconds; `None` if it is unknown.
    pub total_ns: Option<f64>,
    /// The mean time of a call with callees, in nanoseconds; `None` if it is unknown.
    pub mean_ns: Option<f64>,
    /// The duration, callees included, that 99 % of the calls do not exceed, in nanoseconds; `None`
    /// if it is unknown.
    pub p99_ns: Option<f64>,
    /// True if `p99_ns` is known for a part of the calls only, see [`Latency::is_partial`].
    pub p99_is_partial: bool,
}

/// A method in one calling context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Branch {
    /// Index into [`Picture::names`].
    pub method: u32,
    /// The number of callers above this branch.
    pub depth: u32,
    /// Calls or samples.
    pub count: u64,
    /// The time in the method itself, in nanoseconds, or its calls if nothing was timed.
    pub own: f64,
    /// The same as `own`, callees included.
    pub total: f64,
}

/// The calls of one method by another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calls {
    /// Index into [`Picture::names`]; `None` where a thread starts.
    pub caller: Option<u32>,
    /// Index into [`Picture::names`].
    pub callee: u32,
    /// Calls or samples.
    pub count: u64,
    /// The time of these calls in nanoseconds; `None` if it is unknown.
    pub total_ns: Option<f64>,
}

/// A thread, or a group of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadFigures {
    /// The name.
    pub name: String,
    /// The kind of the threads.
    pub kind: ThreadKind,
    /// The processor time in nanoseconds; `None` if it is unknown.
    pub running_ns: Option<f64>,
    /// The time for which the threads waited.
    pub waiting: Waiting,
}

/// A place in the code that allocated objects of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceFigures {
    /// The type, and the method with its line.
    pub name: String,
    /// The place's method, an index into [`Picture::names`]; `None` if no Java method was running.
    pub method: Option<u32>,
    /// Number of objects.
    pub objects: f64,
    /// The bytes of these objects; `None` if they are unknown.
    pub bytes: Option<f64>,
    /// The bytes of the objects that are alive; `None` if objects were not followed.
    pub live_bytes: Option<f64>,
}

impl Picture {
    /// Returns the figures of a profile.
    pub fn of(profile: &Profile) -> Picture {
        let options = Options::default();
        let view = View::of_calls(profile, &options);
        let rows = view.rows(Sort::SelfTime);
        let methods = rows.iter().map(|row| {
            let latency = view.latencies.get(&row.method);
            MethodFigures {
                method: row.method,
                calls: row.known_calls(),
                calls_are_least: row.counted_until_ns.is_some(),
                is_only_counted: row.counted_since_ns.is_some() && row.counted_until_ns.is_none(),
                self_ns: row.known_own(),
                total_ns: row.some_total(),
                mean_ns: row.mean(),
                p99_ns: latency.map(Latency::p99),
                p99_is_partial: latency.is_some_and(|latency| latency.is_partial(row.count)),
            }
        });
        let number = |is_it: fn(&&MethodCalls) -> bool| {
            let counted = profile.method_calls.iter();
            counted.filter(is_it).count() as u64
        };
        let silent = number(|of| of.until_ns.is_some());
        let lost = number(|of| of.since_ns.or(of.until_ns).is_some());
        let whole = view.overlaid();
        let calls = edges(&whole).into_iter().map(|edge| Calls {
            caller: edge.caller,
            callee: edge.callee,
            count: edge.count,
            total_ns: edge.some_total(),
        });
        Picture {
            duration_ns: match view.is_sampled() {
                true => profile.header.watched_ns(),
                false => profile.header.duration_ns,
            } as f64,
            is_sampled: view.is_sampled(),
            has_latencies: !profile.latencies.is_empty(),
            whole: view.whole,
            samples: profile.sampling.map_or(0, |sampling| sampling.samples),
            definitions: profile.methods.clone(),
            methods: methods.collect(),
            only_counted: lost.saturating_sub(silent),
            not_counted: silent,
            tree: branches(&whole, view.counts_only()),
            calls: calls.collect(),
            threads: threads(profile),
            allocations: allocations(profile, &view.names),
            names: view.names,
        }
    }
}

fn branches(tree: &Tree, counts_only: bool) -> Vec<Branch> {
    let mut branches = Vec::with_capacity(tree.entries.len());
    let mut depth = 0;
    tree.walk(|step| {
        let at = match step {
            Step::Enter(at) => at,
            Step::Leave(_) => {
                depth -= 1;
                return true;
            }
        };
        let entry = &tree.entries[at as usize];
        branches.push(Branch {
            method: entry.method,
            depth,
            count: entry.weight.count,
            own: entry.size(counts_only),
            total: if counts_only {
                entry.below
            } else {
                entry.weight.total
            },
        });
        depth += 1;
        true
    });
    branches
}

fn threads(profile: &Profile) -> Vec<ThreadFigures> {
    let is_sampled = profile.header.timing == Timing::Sampled;
    let own = |node: &Node| node.all_ns.saturating_sub(node.child_ns) as f64;
    let threads = profile.threads.iter().map(|thread| {
        let mut waiting = Waiting::default();
        thread
            .nodes
            .iter()
            .for_each(|node| waiting.add(&node.waiting));
        let sampled = is_sampled.then(|| thread.nodes.iter().map(own).sum());
        ThreadFigures {
            name: printable(&thread.name).into_owned(),
            kind: thread.kind,
            running_ns: thread.cpu_ns.map(|cpu_ns| cpu_ns as f64).or(sampled),
            waiting,
        }
    });
    threads.collect()
}

fn allocations(profile: &Profile, names: &[String]) -> Option<Vec<PlaceFigures>> {
    let allocations = profile.allocations.as_ref()?;
    let options = Options::default();
    let figures = places(profile, allocations, &options)
        .into_iter()
        .map(|place| {
            let method = place.method.map(|method| &*names[method as usize]);
            let type_name = printable(place.type_name).into_owned();
            let live = place.amount(Measure::Live).bytes;
            PlaceFigures {
                name: format!("{type_name}  {}", place_name(method, place.line)),
                method: place.method,
                objects: place.amount(Measure::Allocated).objects,
                bytes: place.amount(Measure::Allocated).bytes,
                live_bytes: live.filter(|_| allocations.live),
            }
        });
    Some(figures.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ThreadTree, sampled_tree};
    use crate::{SampledNode, Sampling};

    /// Returns a profile with samples of `a.A.outer`, which calls `a.A.inner`, and with a thread
    /// that only waits.
    fn profile() -> Profile {
        let stack = |parent, method, self_ns| SampledNode {
            parent,
            method,
            self_ns,
            self_squares: 1.0,
            samples: self_ns / 10,
            ..SampledNode::default()
        };
        let parked = SampledNode {
            waiting: Waiting {
                parked_ns: 100,
                ..Waiting::default()
            },
            ..stack(None, 0, 0)
        };
        let thread = |name: &str, id, stacks: &[SampledNode]| ThreadTree {
            name: name.into(),
            id: Some(id),
            kind: ThreadKind::Platform,
            cpu_ns: None,
            nodes: sampled_tree(stacks),
        };
        let mut profile = Profile {
            methods: ["outer", "inner"]
                .map(|name| Method::new("a.A", name, "()V"))
                .into(),
            threads: vec![
                thread("busy", 1, &[stack(None, 0, 30), stack(Some(0), 1, 70)]),
                thread("a\u{1b}", 2, &[parked]),
            ],
            method_calls: vec![MethodCalls {
                method: 1,
                calls: 7,
                since_ns: None,
                until_ns: None,
            }],
            sampling: Some(Sampling {
                samples: 10,
                ..Sampling::default()
            }),
            ..Profile::default()
        };
        profile.header.timing = Timing::Sampled;
        profile.header.duration_ns = 200;
        profile
    }

    #[test]
    fn a_picture_has_methods_tree_calls_and_threads() {
        let picture = Picture::of(&profile());
        assert_eq!(
            (picture.whole, picture.duration_ns, picture.samples),
            (100.0, 200.0, 10)
        );
        assert_eq!(picture.names, ["a.A.outer", "a.A.inner"]);
        let methods = picture.methods.iter();
        let methods: Vec<_> = methods
            .map(|figures| {
                (
                    figures.method,
                    figures.calls,
                    figures.self_ns,
                    figures.mean_ns,
                )
            })
            .collect();
        assert_eq!(
            methods,
            [
                (1, Some(7), Some(70.0), Some(10.0)),
                (0, None, Some(30.0), None)
            ]
        );
        let tree = picture.tree.iter();
        let tree: Vec<_> = tree
            .map(|branch| (branch.depth, branch.method, branch.total))
            .collect();
        assert_eq!(tree, [(0, 0, 100.0), (1, 1, 70.0)]);
        let calls = picture.calls.iter();
        let calls: Vec<_> = calls
            .map(|calls| (calls.caller, calls.callee, calls.total_ns))
            .collect();
        assert_eq!(calls, [(None, 0, Some(100.0)), (Some(0), 1, Some(70.0))]);
        let threads = picture.threads.iter();
        let threads: Vec<_> = threads
            .map(|thread| (&*thread.name, thread.running_ns, thread.waiting.parked_ns))
            .collect();
        assert_eq!(
            threads,
            [("busy", Some(100.0), 0), (r"a\u{1b}", Some(0.0), 100)]
        );
        assert!(picture.allocations.is_none());
    }
}
