//! Objects and classes by their retained sizes.

use std::path::Path;

use anyhow::{Context, Result, bail};
use loadhook_heap::{ClassCount, Dominators, Error, Graph, Histogram};

use super::super::memory::available_for_views;
use super::super::options::ReportArgs;
use super::super::render::text::{FEW_ROOTS, NO_ROOTS, shown};
use super::super::source::{Source, check_complete};
use crate::output::say;

/// The objects with the largest retained sizes.
pub(in crate::heap) struct BiggestObjects {
    pub(in crate::heap) histogram: Histogram,
    /// Number of unreachable objects.
    pub(in crate::heap) unreachable: u64,
    /// Number of reachable objects.
    pub(in crate::heap) reachable: usize,
    /// The objects, the largest first.
    pub(in crate::heap) objects: Vec<RetainedObject>,
}

/// An object with its retained size.
pub(in crate::heap) struct RetainedObject {
    pub(in crate::heap) id: u64,
    pub(in crate::heap) class: String,
    pub(in crate::heap) bytes: u64,
    pub(in crate::heap) retained: u64,
    /// Identifier of the object's immediate dominator.
    pub(in crate::heap) dominator: Option<u64>,
}

/// The classes, ordered by their retained sizes.
pub(in crate::heap) struct RetainedClasses {
    pub(in crate::heap) histogram: Histogram,
    /// Number of unreachable objects.
    pub(in crate::heap) unreachable: u64,
    /// All classes with their retained sizes, the largest first.
    pub(in crate::heap) classes: Vec<(ClassCount, u64)>,
}

/// Reads the objects with the largest retained sizes.
pub(in crate::heap) fn biggest(file: &Path, args: &ReportArgs) -> Result<BiggestObjects> {
    let source = Source::open(file)?;
    with_dominators(&source, file, args, |graph, dominators| {
        let largest = dominators.largest(args.top);
        let object = |object: u32| RetainedObject {
            id: graph.id(object),
            class: graph.name(object),
            bytes: graph.size(object),
            retained: dominators.retained(object).unwrap_or(0),
            dominator: dominators.dominator(object).map(|above| graph.id(above)),
        };
        Ok(BiggestObjects {
            histogram: graph.histogram.clone(),
            unreachable: dominators.unreachable(),
            reachable: dominators.reachable() as usize,
            objects: largest.into_iter().map(object).collect(),
        })
    })
}

/// Reads the classes, ordered by their retained sizes.
pub(in crate::heap) fn classes(file: &Path, args: &ReportArgs) -> Result<RetainedClasses> {
    let source = Source::open(file)?;
    with_dominators(&source, file, args, |graph, dominators| {
        let by_class = dominators.by_class();
        let classes = graph.histogram.classes.iter();
        let mut classes: Vec<(ClassCount, u64)> = classes
            .map(|class| {
                let retained = by_class.get(&class.class_id).copied().unwrap_or(0);
                (class.clone(), retained)
            })
            .collect();
        classes.sort_by_key(|(_, retained)| std::cmp::Reverse(*retained));
        Ok(RetainedClasses {
            histogram: graph.histogram.clone(),
            unreachable: dominators.unreachable(),
            classes,
        })
    })
}

/// Reads the graph and the dominators of a dump for a view. Fails if the graph's temporary file
/// became unreadable while the view was made.
pub(super) fn with_dominators<T>(
    source: &Source,
    file: &Path,
    args: &ReportArgs,
    view: impl FnOnce(&Graph, &Dominators<'_>) -> Result<T>,
) -> Result<T> {
    let name = || shown(file);
    let (graph, cut_off) = read_graph(source, args)?;
    let is_cut_off = cut_off.is_some();
    let outcome = cut_off.map_or(Ok(()), Err);
    check_complete(file, args.partial, outcome, &graph.histogram)?;
    let dominators = graph.dominators().with_context(name)?;
    if is_cut_off && dominators.reachable() == 0 {
        bail!("{}: {NO_ROOTS}", name());
    }
    if is_cut_off {
        say!("warning: {}: {FEW_ROOTS}", name());
    }
    let view = view(&graph, &dominators);
    graph.check().with_context(name)?;
    view
}

/// Reads the graph of a dump that may be cut off. The profiler's own objects are left out unless
/// `--all` is given.
pub(super) fn read_graph(source: &Source, args: &ReportArgs) -> Result<(Graph, Option<Error>)> {
    let memory = available_for_views();
    source.several_times(|| {
        let (mut graph, cut_off) = Graph::read(|| source.again(), memory)?;
        if !args.all {
            graph.leave_out_profiler()?;
        }
        Ok((graph, cut_off))
    })
}
