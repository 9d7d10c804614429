//! What objects keep.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use loadhook_heap::{Dominators, Graph, Profiler};
use loadhook_text::{bytes, count};
use serde_json::json;

use super::memory::to_take;
use super::report::{
    COLUMNS, Format, ReportArgs, class_json, head, id, percent, rest, shown, whole,
};
use super::source::Source;
use super::{json, path, table};
use crate::output::{columns, say};

/// Shows the biggest objects, classes with what they keep, or a way to a root.
pub(super) fn run(file: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    let source = Source::open(file)?;
    let name = || shown(file);
    let (graph, cut_off) = read(&source, args)?;
    let is_cut_off = cut_off.is_some();
    whole(file, args, cut_off.map_or(Ok(()), Err), &graph.histogram)?;
    let found = graph.dominators().with_context(name)?;
    if is_cut_off && found.kept() == 0 {
        bail!("{}: {NO_ROOTS}", name());
    }
    if is_cut_off {
        say!("warning: {}: {FEW_ROOTS}", name());
    }
    // Nothing is said of a graph that can no longer be read.
    let mut text = Vec::new();
    let shown = match &args.path {
        Some(of) => path::write(&source, args, of, &graph, &found, &mut text),
        None if args.biggest => biggest(args, &graph, &found, &mut text).map_err(Into::into),
        None => classes(args, &graph, &found, &mut text).map_err(Into::into),
    };
    graph.check().with_context(name)?;
    shown?;
    Ok(out.write_all(&text)?)
}

/// The graph of a dump, that may be cut off; without the profiler's own objects
/// unless they are asked for.
pub(super) fn read(
    source: &Source,
    args: &ReportArgs,
) -> Result<(Graph, Option<loadhook_heap::Error>)> {
    let memory = to_take();
    source.several_times(|| {
        let (mut graph, cut_off) = Graph::read(|| source.again(), memory)?;
        if !args.all {
            graph.leave_out_profiler()?;
        }
        Ok((graph, cut_off))
    })
}

/// How a view that needs no graph treats the profiler's own objects.
pub(super) fn profiler(args: &ReportArgs) -> Profiler<'static> {
    if args.all {
        Profiler::Shown
    } else {
        Profiler::LeftOut(to_take())
    }
}

/// What is said of a dump that is cut off before its roots.
pub(super) const NO_ROOTS: &str = "the readable part of the dump has no GC roots (JDK 17 and earlier write them at the end), so retained sizes cannot be computed";

/// What is said of a dump that is cut off and has some roots.
pub(super) const FEW_ROOTS: &str = "GC roots and objects may be missing (JDK 17 and earlier write roots at the end), so retained sizes, paths to roots and unreachable objects can be wrong";

/// What is said of objects that no root keeps.
pub(super) const LOOSE: &str = "objects are unreachable or only weakly reachable";

/// What roots do not keep is said: it is in no object's sum.
fn kept(graph: &Graph, found: &Dominators, out: &mut dyn Write) -> io::Result<()> {
    head(&graph.histogram, out)?;
    match found.loose() {
        0 => Ok(()),
        loose => writeln!(out, "{} {LOOSE}\n", count(loose)),
    }
}

fn biggest(
    args: &ReportArgs,
    graph: &Graph,
    found: &Dominators,
    out: &mut dyn Write,
) -> io::Result<()> {
    let largest = found.largest(args.top);
    let retained = |object: u32| found.retained(object).unwrap_or(0);
    if args.format == Format::Json {
        let object = |object: &u32| {
            json!({
                "id": id(graph.id(*object)),
                "class": graph.name(*object),
                "bytes": graph.size(*object),
                "retained": retained(*object),
                "dominator": found.dominator(*object).map(|above| id(graph.id(above))),
            })
        };
        let view = json!({
            "loose": found.loose(),
            "objects": largest.iter().map(object).collect::<Vec<_>>(),
            "left_out": found.kept() as usize - largest.len(),
        });
        return json::write(&graph.histogram, json::map(view), out);
    }
    kept(graph, found, out)?;
    let titles = ["#", "retained %", "retained", "bytes", "id", "object"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let all = graph.histogram.bytes();
    for (rank, object) in largest.iter().enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            percent(retained(*object), all),
            bytes(retained(*object)),
            bytes(graph.size(*object)),
            id(graph.id(*object)),
            graph.name(*object),
        ]);
    }
    table::write(&rows, columns(io::stdout(), COLUMNS), out)?;
    rest(found.kept() as usize, args.top, "objects", out)
}

fn classes(
    args: &ReportArgs,
    graph: &Graph,
    found: &Dominators,
    out: &mut dyn Write,
) -> io::Result<()> {
    let by_class = found.by_class();
    let retained =
        |class: &loadhook_heap::Count| by_class.get(&class.class_id).copied().unwrap_or(0);
    let mut classes: Vec<_> = graph.histogram.classes.iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(retained(class)));
    if args.format == Format::Json {
        let class = |class: &&loadhook_heap::Count| {
            let mut json = class_json(class);
            json["retained"] = retained(class).into();
            json
        };
        let mut view = json::rows("classes", classes.iter().map(class), args.top);
        view.insert("loose".to_owned(), found.loose().into());
        return json::write(&graph.histogram, view, out);
    }
    kept(graph, found, out)?;
    let titles = ["#", "retained %", "retained", "bytes", "instances", "class"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let all = graph.histogram.bytes();
    for (rank, class) in classes.iter().take(args.top).enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            percent(retained(class), all),
            bytes(retained(class)),
            bytes(class.bytes),
            count(class.instances),
            class.name.to_string(),
        ]);
    }
    table::write(&rows, columns(io::stdout(), COLUMNS), out)?;
    rest(classes.len(), args.top, "classes", out)
}
