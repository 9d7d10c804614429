//! One self-contained page: classes, what objects keep, duplicates, threads.
//!
//! The page holds no name of a server and loads nothing; its own files are in
//! `page/`, its style is that of profiles' pages.

use std::cell::Cell;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use loadhook_heap::{Dominators, Duplicates, Graph, Histogram, Local, Profiler, Threads};
use loadhook_profile::format::fill_page;
use loadhook_text::{clipped, count, printable};
use serde_json::{Value, json};

use super::report::{FOLLOWED, ReportArgs, histogram, shown, whole};
use super::source::Source;
use super::{diff, duplicates, json, kept, objects, report, threads};

const PAGE: &str = include_str!("page/page.html");
const SCRIPT: &str = include_str!("page/page.js");

/// What a page gets at most: some 2 to 10 MB, which browsers take; see also objects.rs.
const MOST_CLASSES: usize = 20_000;
const MOST_DUPLICATES: usize = 2_000;
const MOST_THREADS: usize = 1_000;
const MOST_FRAMES: usize = 100;
const MOST_LOCALS: usize = 50;
/// Of all threads together.
const MOST_VARIABLES: usize = 20_000;
/// In columns: of names that nobody reads to their end, the beginning.
const LONGEST_NAME: usize = 300;

/// Writes the page.
pub(super) fn write(file: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    let source = Source::open(file)?;
    let (graph, cut_off) = kept::read(&source, args)?;
    let mut remarks: Vec<String> = cut_off
        .iter()
        .map(|error| format!("{error}; the page shows only the part before that"))
        .collect();
    if graph.histogram.is_followed {
        remarks.push(FOLLOWED.to_owned());
    }
    let is_cut_off = cut_off.is_some();
    whole(file, args, cut_off.map_or(Ok(()), Err), &graph.histogram)?;
    remarks.extend(report::left_out(&graph.histogram));
    let own = Profiler::Of(&graph);
    let (duplicates, _) = duplicates::read(&source, MOST_DUPLICATES, own)?;
    let of_threads = if args.all { Profiler::Shown } else { own };
    let (threads, _) = threads::read(&source, of_threads)?;
    let found = graph.dominators().with_context(|| shown(file))?;
    let mut loose = found.loose();
    match is_cut_off {
        true if found.kept() == 0 => {
            remarks.push(kept::NO_ROOTS.to_owned());
            loose = 0;
        }
        true => remarks.push(kept::FEW_ROOTS.to_owned()),
        false => {}
    }
    let shown_classes = graph.histogram.classes.iter().take(MOST_CLASSES);
    let ids: Vec<u64> = shown_classes.map(|class| class.class_id).collect();
    let objects =
        objects::collect(&source, &graph, &found, &threads, &ids).with_context(|| shown(file))?;
    let mut remark = |number: usize, what: &str| {
        if number > 0 {
            remarks.push(format!("{} {what}", count(number as u64)));
        }
    };
    let all = graph.histogram.classes.len();
    remark(loose as usize, kept::LOOSE);
    remark(
        (found.kept() as usize).saturating_sub(objects::MOST_ROWS),
        "smaller objects omitted (by retained size)",
    );
    remark(all.saturating_sub(MOST_CLASSES), "smaller classes omitted");
    remark(
        duplicates::left_out(&duplicates) as usize,
        "smaller duplicates omitted",
    );
    remark(duplicates.parts as usize, duplicates::PARTS);
    remark(
        threads.threads.len().saturating_sub(MOST_THREADS),
        "more threads omitted",
    );
    let changes = args
        .diff
        .as_deref()
        .map(|later| changes(later, args, &graph.histogram));
    let mut data = json::head(&graph.histogram);
    data.extend(json::map(json!({
        "file": shown(file),
        "remarks": remarks,
        "classes": classes(&graph, &found, &objects.instances),
        "objects": objects.objects,
        "suspects": objects.suspects,
        "duplicates": rows(&duplicates),
        "threads": nodes(&threads),
        "changes": changes.transpose()?,
    })));
    graph.check().with_context(|| shown(file))?;
    Ok(fill_page(PAGE, SCRIPT, &data.into(), out)?)
}

fn classes(graph: &Graph, found: &Dominators, instances: &[Vec<usize>]) -> Value {
    let retained = found.by_class();
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
    let value = |row| shortened(&duplicates::value(row));
    json!({
        "strings": duplicates::waste_json(found.strings),
        "arrays": duplicates::waste_json(found.arrays),
        "wasted": rows().map(|row| row.wasted).collect::<Vec<_>>(),
        "count": rows().map(|row| row.count).collect::<Vec<_>>(),
        "bytes": rows().map(|row| row.bytes).collect::<Vec<_>>(),
        "value": rows().map(value).collect::<Vec<_>>(),
    })
}

/// What changed till a later dump. Names are few: all of them are on the page.
fn changes(later: &Path, args: &ReportArgs, before: &Histogram) -> Result<Value> {
    let after = histogram(later, args)?;
    let (all, changed) = diff::changes([before, &after]);
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

/// Threads, their frames and variables as one kind of nodes.
fn nodes(found: &Threads) -> Value {
    let node =
        |name: String, below: Vec<Value>| json!({ "name": shortened(&name), "below": below });
    let left = Cell::new(MOST_VARIABLES);
    let locals = |locals: &[Local]| {
        let most = MOST_LOCALS.min(left.get());
        let shown = locals.iter().take(most).map(threads::variable);
        let mut nodes: Vec<Value> = shown.map(|name| node(name, Vec::new())).collect();
        left.set(left.get() - nodes.len());
        nodes.extend(more(locals.len(), most, "variables"));
        nodes
    };
    let thread = |thread: &loadhook_heap::Thread| {
        let mut below = locals(&thread.locals);
        let frames = thread.frames.iter().take(MOST_FRAMES);
        below.extend(frames.map(|frame| node(threads::place(frame), locals(&frame.locals))));
        below.extend(more(thread.frames.len(), MOST_FRAMES, "frames"));
        node(threads::title(thread), below)
    };
    found
        .threads
        .iter()
        .take(MOST_THREADS)
        .map(thread)
        .collect()
}

/// A name fit for the page.
pub(super) fn shortened(name: &str) -> String {
    clipped(&printable(name), LONGEST_NAME)
}

/// Text in the place of nodes.
fn more(all: usize, most: usize, what: &str) -> Option<Value> {
    let left_out = all.checked_sub(most).filter(|left_out| *left_out > 0)?;
    Some(format!("… {} more {what}", count(left_out as u64)).into())
}
