//! One self-contained page with all views of a dump.
//!
//! The page loads nothing from the network. Its HTML and scripts are in the folder `page`; it
//! shares the style sheet and `common.js` of profile pages. The dump is read in four passes, see [`SharedPasses`].

mod objects;

use std::cell::Cell;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use loadhook_heap::{
    Dominators, Duplicates, Error, Graph, Histogram, Local, SharedPasses, Threads, ViewRequest,
};
use loadhook_profile::format::fill_page;
use loadhook_text::count;
use serde_json::{Map, Value, json};

use self::objects::ObjectSelection;
use super::super::memory::available_for_views;
use super::super::options::ReportArgs;
use super::super::source::{Source, check_complete};
use super::super::views::class_changes::changes;
use super::super::views::{duplicates, histogram};
use super::json;
use super::object_line::{place, title, variable};
use super::table::duplicates::value;
use super::text::{
    FEW_ROOTS, NO_ROOTS, PARTIAL_STRINGS, TRAILING_BYTES, UNREACHABLE, left_out, more_of,
    shortened, shown,
};

const PAGE: &str = include_str!("page/page.html");

/// The scripts of the page. A script uses only definitions of the scripts before it.
const SCRIPT: &str = concat!(
    include_str!("page/data.js"),
    include_str!("page/elements.js"),
    include_str!("page/tables.js"),
    include_str!("page/trees.js"),
    include_str!("page/suspects.js"),
    include_str!("page/details.js"),
    include_str!("page/views.js"),
    include_str!("page/start.js"),
);

/// Limits that keep the page at about 2 to 10 MB; more limits are in objects.rs.
const MOST_CLASSES: usize = 20_000;
const MOST_DUPLICATES: usize = 2_000;
const MOST_THREADS: usize = 1_000;
const MOST_FRAMES: usize = 100;
const MOST_LOCALS: usize = 50;
/// Maximum number of variables in all threads together.
const MOST_VARIABLES: usize = 20_000;

/// Writes the page.
pub(in crate::heap) fn write(file: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    let source = Source::open(file)?;
    let data = data(&source, file, args)?;
    Ok(fill_page(PAGE, SCRIPT, &data.into(), out)?)
}

/// Returns the data of the page.
fn data(source: &Source, file: &Path, args: &ReportArgs) -> Result<Map<String, Value>> {
    let memory = available_for_views();
    let read = source.several_times(|| SharedPasses::read(|| source.again(), memory, args.all));
    let (shared, cut_off) = read?;
    let graph = &shared.graph;
    let mut warnings = warnings(cut_off.as_ref(), &graph.histogram);
    let is_cut_off = cut_off.is_some();
    let outcome = cut_off.map_or(Ok(()), Err);
    check_complete(file, args.partial, outcome, &graph.histogram)?;
    let dominators = graph.dominators().with_context(|| shown(file))?;
    if is_cut_off {
        let has_roots = dominators.reachable() > 0;
        warnings.push(if has_roots { FEW_ROOTS } else { NO_ROOTS }.to_owned());
    }
    let shown_classes = graph.histogram.classes.iter().take(MOST_CLASSES);
    let classes_shown: Vec<u64> = shown_classes.map(|class| class.class_id).collect();
    let selection = ObjectSelection::new(graph, &dominators, &classes_shown);
    let selection = selection.with_context(|| shown(file))?;
    let request = ViewRequest {
        objects: &selection.detailed,
        most_fields: objects::MOST_FIELDS,
        pairs: &selection.pairs,
        duplicates: MOST_DUPLICATES,
        memory: memory_for_hashes(&shared).with_context(|| shown(file))?,
    };
    let views = source.several_times(|| shared.views(|| source.again(), &request));
    let views = views.map_err(|error| duplicates::with_memory(error, request.memory))?;
    let objects = selection.data(views.details, &views.threads);
    let remarks = remarks(&dominators, &views.duplicates, &views.threads, graph);
    let changes = args
        .diff
        .as_deref()
        .map(|later| changes_to(later, args, &graph.histogram));
    let mut data = json::head(&graph.histogram);
    data.extend(json::map(json!({
        "file": shown(file),
        "warnings": warnings,
        "remarks": remarks,
        "classes": classes(graph, &dominators, &objects.instances),
        "objects": objects.objects,
        "suspects": objects.suspects,
        "duplicates": rows(&views.duplicates),
        "threads": nodes(&views.threads),
        "changes": changes.transpose()?,
    })));
    graph.check().with_context(|| shown(file))?;
    Ok(data)
}

/// Returns the bytes that hashes of arrays may take. If the graph leaves too little memory, pages
/// of the graph are first moved to its temporary file.
fn memory_for_hashes(shared: &SharedPasses) -> Result<u64> {
    let available = available_for_views();
    let missing = shared.bytes_of_hashes().saturating_sub(available);
    if missing == 0 {
        return Ok(available);
    }
    // Twice the missing bytes are given back, since a part of them is reserved again.
    shared.give_back_memory(missing.saturating_mul(2))?;
    Ok(available_for_views())
}

/// Returns warnings about parts of the dump that cannot be read.
fn warnings(cut_off: Option<&Error>, histogram: &Histogram) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(error) = cut_off {
        warnings.push(format!(
            "{error}; the page shows only the part before this fault"
        ));
    }
    if histogram.has_trailing_bytes {
        warnings.push(TRAILING_BYTES.to_owned());
    }
    warnings
}

/// Returns remarks about objects and rows that the page leaves out.
fn remarks(
    dominators: &Dominators,
    found: &Duplicates,
    threads: &Threads,
    graph: &Graph,
) -> Vec<String> {
    let beyond = |all: usize, most: usize| all.saturating_sub(most) as u64;
    let reachable = dominators.reachable() as usize;
    let unreachable = if reachable == 0 && graph.is_cut_off() {
        0
    } else {
        dominators.unreachable()
    };
    let remarks = [
        (unreachable, UNREACHABLE),
        (
            beyond(reachable, objects::MOST_ROWS),
            "smaller objects omitted (by retained size)",
        ),
        (
            beyond(graph.histogram.classes.len(), MOST_CLASSES),
            "smaller classes omitted",
        ),
        (duplicates::left_out(found), "smaller duplicates omitted"),
        (found.partial_strings, PARTIAL_STRINGS),
        (
            beyond(threads.threads.len(), MOST_THREADS),
            "more threads omitted",
        ),
    ];
    let remarks = remarks.into_iter().filter(|(number, _)| *number > 0);
    let remarks = remarks.map(|(number, what)| format!("{} {what}", count(number)));
    left_out(&graph.histogram)
        .into_iter()
        .chain(remarks)
        .collect()
}

fn classes(graph: &Graph, dominators: &Dominators, instances: &[Vec<usize>]) -> Value {
    let retained = dominators.by_class();
    let rows = || graph.histogram.classes.iter().take(MOST_CLASSES);
    let retained = |id: &u64| retained.get(id).copied().unwrap_or(0);
    json!({
        "name": rows().map(|class| shortened(&class.name)).collect::<Vec<_>>(),
        "instances": rows().map(|class| class.instances).collect::<Vec<_>>(),
        "bytes": rows().map(|class| class.bytes).collect::<Vec<_>>(),
        "retained": rows().map(|class| retained(&class.class_id)).collect::<Vec<_>>(),
        "largest": instances,
    })
}

fn rows(found: &Duplicates) -> Value {
    let rows = || found.worst.iter();
    let value = |row| shortened(&value(row));
    json!({
        "strings": json::waste_json(found.strings),
        "arrays": json::waste_json(found.arrays),
        "wasted": rows().map(|row| row.wasted).collect::<Vec<_>>(),
        "count": rows().map(|row| row.count).collect::<Vec<_>>(),
        "bytes": rows().map(|row| row.bytes).collect::<Vec<_>>(),
        "value": rows().map(value).collect::<Vec<_>>(),
    })
}

/// Returns the changes from `before` to a later dump.
fn changes_to(later: &Path, args: &ReportArgs, before: &Histogram) -> Result<Value> {
    let after = histogram::read(later, args)?;
    let (all, changed) = changes([before, &after]);
    let rows = || changed.iter().take(MOST_CLASSES);
    Ok(json!({
        "file": shown(later),
        "after": json::head(&after),
        "all": all,
        "left_out": changed.len().saturating_sub(MOST_CLASSES),
        "name": rows().map(|(name, _)| shortened(name)).collect::<Vec<_>>(),
        "instances": rows().map(|(_, change)| change.instances).collect::<Vec<_>>(),
        "bytes": rows().map(|(_, change)| change.bytes).collect::<Vec<_>>(),
    }))
}

/// Returns the threads as a tree. Each node is an object with the members `name` and `below`: below
/// a thread are its frames, below a frame its variables.
fn nodes(found: &Threads) -> Value {
    let node =
        |name: String, below: Vec<Value>| json!({ "name": shortened(&name), "below": below });
    let left = Cell::new(MOST_VARIABLES);
    let locals = |locals: &[Local]| {
        let most = MOST_LOCALS.min(left.get());
        let shown = locals.iter().take(most).map(variable);
        let mut nodes: Vec<Value> = shown.map(|name| node(name, Vec::new())).collect();
        left.set(left.get() - nodes.len());
        nodes.extend(more(locals.len(), most, ["variable", "variables"]));
        nodes
    };
    let thread = |thread: &loadhook_heap::Thread| {
        let mut below = locals(&thread.locals);
        let frames = thread.frames.iter().take(MOST_FRAMES);
        below.extend(frames.map(|frame| node(place(frame), locals(&frame.locals))));
        below.extend(more(thread.frames.len(), MOST_FRAMES, ["frame", "frames"]));
        node(title(thread), below)
    };
    found
        .threads
        .iter()
        .take(MOST_THREADS)
        .map(thread)
        .collect()
}

/// Returns the text in place of the nodes that are left out; `None` if there are none.
fn more(all: usize, most: usize, nouns: [&str; 2]) -> Option<Value> {
    let left_out = all.checked_sub(most).filter(|left_out| *left_out > 0)?;
    Some(format!("… {}", more_of(left_out, nouns)).into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        report: ReportArgs,
    }

    /// Returns an uncompressed dump with one array.
    fn dump() -> Vec<u8> {
        let mut dump = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
        dump.extend([0x1c, 0, 0, 0, 0, 0, 0, 0, 18 + 3]);
        dump.extend([
            0x23, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 3, 8, 1, 2, 3,
        ]);
        dump.extend([0x2c, 0, 0, 0, 0, 0, 0, 0, 0]);
        dump
    }

    #[test]
    fn a_dump_is_read_in_four_passes() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("heap.hprof");
        std::fs::write(&file, dump()).expect("the test file can be written");
        let source = Source::open(&file).expect("the file exists");
        let args = Command::parse_from(["heap", "--format", "html"]).report;
        let data = data(&source, &file, &args).expect("the dump is complete");
        assert_eq!(data["classes"]["name"], json!(["byte[]"]));
        assert_eq!(source.passes.get(), 4);
    }
}
