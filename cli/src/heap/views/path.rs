//! The shortest path from an object to a GC root.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use loadhook_heap::{Dominators, Graph, Histogram};
use loadhook_text::printable;

use super::super::options::ReportArgs;
use super::super::render::text::id;
use super::super::source::Source;
use super::retained::with_dominators;
use super::root_reason::RootReason;

/// The shortest path from an object to a GC root.
pub(in crate::heap) struct PathToRoot {
    pub(in crate::heap) histogram: Histogram,
    /// Number of unreachable objects.
    pub(in crate::heap) unreachable: u64,
    /// The objects of the path that are shown, the root last.
    pub(in crate::heap) steps: Vec<Step>,
    /// Number of objects in the middle of the path that are not shown. They belong after the first
    /// half of `steps`. If the number of steps is odd, the first half is the longer one.
    pub(in crate::heap) left_out: usize,
    pub(in crate::heap) root: RootReason,
    /// Identifiers of other classes with the same name, if the path begins at a class.
    pub(in crate::heap) others: Vec<u64>,
}

/// An object of a path.
pub(in crate::heap) struct Step {
    pub(in crate::heap) id: u64,
    pub(in crate::heap) class: Arc<str>,
    /// Name of the field by which this object refers to the object before it.
    pub(in crate::heap) refers_by: Option<String>,
    pub(in crate::heap) bytes: u64,
    pub(in crate::heap) retained: u64,
}

/// Reads the path from the object that `wanted` names. At most `most` of its objects are shown,
/// since a path through a list may have millions.
pub(in crate::heap) fn read(
    file: &Path,
    args: &ReportArgs,
    wanted: &str,
    most: usize,
) -> Result<PathToRoot> {
    let source = Source::open(file)?;
    with_dominators(&source, file, args, |graph, dominators| {
        path_of(wanted, most, &source, graph, dominators)
    })
}

fn path_of(
    wanted: &str,
    most: usize,
    source: &Source,
    graph: &Graph,
    dominators: &Dominators,
) -> Result<PathToRoot> {
    let Wanted { object, others } = find(wanted, graph, dominators)?;
    if graph.is_left_out(object) {
        bail!(
            "{} {}: one of the profiler's own objects, which are left out; add --all to show its path",
            id(graph.id(object)),
            printable(&graph.name(object))
        );
    }
    let path = dominators.path(object);
    let Some(root) = path.last() else {
        bail!(
            "{} {}: no path to a GC root: the object is unreachable, only softly or weakly reachable, or \
             referred to only by fields of java.lang.Class, which dumps leave out",
            id(graph.id(object)),
            printable(&graph.name(object))
        );
    };
    let names = graph.reference_names(source.again()?, &path);
    source.check_unchanged()?;
    // The first object refers to no object before it, so no field name belongs to it.
    let names = [None].into_iter().chain(names?.into_iter().map(Some));
    let root = RootReason::read(graph.root(*root), source);
    let left_out = path.len().saturating_sub(most);
    let gap = most.div_ceil(2);
    let is_shown = |at: usize| at < gap || at - gap >= left_out;
    let mut classes = HashSet::new();
    let mut steps = Vec::new();
    for (at, (object, refers_by)) in path.iter().zip(names).enumerate() {
        if !is_shown(at) {
            continue;
        }
        steps.push(Step {
            id: graph.id(*object),
            class: once(graph.name(*object), &mut classes),
            refers_by,
            bytes: graph.size(*object),
            retained: dominators.retained(*object).unwrap_or(0),
        });
    }
    Ok(PathToRoot {
        histogram: graph.histogram.clone(),
        unreachable: dominators.unreachable(),
        steps,
        left_out,
        root,
        others,
    })
}

/// Interns a name.
fn once(name: String, known: &mut HashSet<Arc<str>>) -> Arc<str> {
    if let Some(known) = known.get(&*name) {
        return known.clone();
    }
    let name: Arc<str> = name.into();
    known.insert(name.clone());
    name
}

/// The object that `--path` names.
struct Wanted {
    object: u32,
    /// Identifiers of other classes with the same name, if the object is a class.
    others: Vec<u64>,
}

fn find(of: &str, graph: &Graph, found: &Dominators) -> Result<Wanted> {
    if let Some(hex) = of.strip_prefix("0x") {
        let number = u64::from_str_radix(hex, 16).with_context(|| format!("--path {of}"))?;
        let object = graph.object(number);
        let object = object
            .with_context(|| format!("--path {of}: no object with this identifier in the dump"))?;
        let others = Vec::new();
        return Ok(Wanted { object, others });
    }
    // Prefers a reachable object.
    let is_reachable = |object: &u32| found.retained(*object).is_some();
    let first = graph.objects_of_class(of).find(is_reachable);
    let first = first.or_else(|| graph.objects_of_class(of).next());
    let is_class = of.starts_with("class ");
    let object = first.with_context(|| match is_class {
        true => format!("--path {of}: no class of that name in the dump; names are written as in class java.util.Map$Entry"),
        false => format!("--path {of}: no object of that class in the dump{}", near(of, graph)),
    })?;
    let others = match is_class {
        true => graph.objects_of_class(of).filter(|other| *other != object),
        false => {
            return Ok(Wanted {
                object,
                others: Vec::new(),
            });
        }
    };
    let others = others.map(|other| graph.id(other)).collect();
    Ok(Wanted { object, others })
}

/// Returns the names of classes that the user may have meant, ordered by the bytes of their
/// objects.
fn near(of: &str, graph: &Graph) -> String {
    let is_near = |name: &str| name.rsplit(['.', '$']).next() == Some(of);
    let classes = graph.histogram.classes.iter();
    let names = classes
        .map(|class| &*class.name)
        .filter(|name| is_near(name));
    // Each loader may have a class of this name, so names may repeat.
    let mut different: Vec<_> = Vec::new();
    for name in names.map(printable) {
        if different.len() < 3 && !different.contains(&name) {
            different.push(name);
        }
    }
    match different.is_empty() {
        false => format!("; similar classes: {}", different.join(", ")),
        true => "; names are written as in java.util.Map$Entry or int[]".to_owned(),
    }
}
