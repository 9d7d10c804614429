//! One self-contained page: flame graph, method table, call tree.
//!
//! The page holds no name of a server and loads nothing; its own files are in
//! `page/`. Data goes in as JSON, once for each measure that the profile tells: trees and
//! tables in the compact form of `encode.rs`, all else as it is.

use std::io::{self, Write};

use serde_json::{Value, json};

use self::lanes::{Heaviest, Lane};
use super::Options;
use crate::allocated::as_calls;
use crate::measure::Measure;
use crate::model::{Header, Method, Profile};
use crate::places::unsized_remarks;
use crate::view::View;

mod allocations;
mod difference;
mod encode;
mod lanes;

pub use difference::differences;

/// The most tree nodes that a page gets: some 30 MB, which browsers take.
const MOST_NODES: usize = 2_000_000;

const PAGE: &str = include_str!("page/page.html");
/// The style of all pages.
const STYLE: &str = include_str!("page/page.css");
/// The style of profiles' pages.
const GRAPH_STYLE: &str = include_str!("page/graph.css");

/// The script, one subject a file. They share one scope and run in this order: a view is a file
/// that calls `addView`, and comes before the last.
const SCRIPTS: [&str; 17] = [
    include_str!("page/data.js"),
    include_str!("page/numbers.js"),
    include_str!("page/names.js"),
    include_str!("page/tree-model.js"),
    include_str!("page/colours.js"),
    include_str!("page/allocations.js"),
    include_str!("page/layout.js"),
    include_str!("page/views.js"),
    include_str!("page/flame.js"),
    include_str!("page/allocation-tables.js"),
    include_str!("page/methods.js"),
    include_str!("page/call-tree.js"),
    include_str!("page/details.js"),
    include_str!("page/export.js"),
    include_str!("page/search.js"),
    include_str!("page/state.js"),
    include_str!("page/start.js"),
];

/// Writes the page. Of trees with more nodes than two million, or
/// [`Options::top`], the heaviest are kept, and the page says so; its method
/// table and who calls whom are always whole.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let measures: Vec<Measure> = match options.measure {
        Some(measure) => vec![measure],
        None => {
            // The page opens with the first.
            let told = [Measure::Time, Measure::Live, Measure::Allocated].into_iter();
            told.filter(|measure| measure.is_in(profile)).collect()
        }
    };
    let data: Vec<_> = measures
        .into_iter()
        .map(|measure| weighed(profile, measure, options))
        .collect();
    fill_own(&json!(data), out)
}

/// Writes a page of profiles.
fn fill_own(data: &Value, out: &mut dyn Write) -> io::Result<()> {
    let style = format!("{STYLE}\n{GRAPH_STYLE}");
    put(PAGE, &style, &SCRIPTS.concat(), data, out)
}

/// Writes a page: what is ours, `page` with places for the style of all pages,
/// a script and its data.
///
/// # Errors
///
/// Those of `out`.
pub fn fill(page: &str, script: &str, data: &Value, out: &mut dyn Write) -> io::Result<()> {
    put(page, STYLE, script, data, out)
}

fn put(page: &str, style: &str, script: &str, data: &Value, out: &mut dyn Write) -> io::Result<()> {
    // Inside a script element only its own end tag, or a comment's start, could
    // end the data; neither has a place in JSON outside of strings.
    let data = data.to_string().replace('<', "\\u003c");
    // Each piece is looked for in our own file only, never in data.
    let mut rest = page;
    for (place, piece) in [
        ("/*STYLE*/", style),
        ("/*DATA*/", &data),
        ("/*SCRIPT*/", script),
    ] {
        let (before, after) = rest.split_once(place).expect("the page has its places");
        out.write_all(before.as_bytes())?;
        out.write_all(piece.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// The data of one measure.
fn weighed(profile: &Profile, measure: Measure, options: &Options<'_>) -> Value {
    let options = Options {
        measure: Some(measure),
        ..*options
    };
    match measure {
        Measure::Time => data(&View::new(profile, &options), &options),
        Measure::Allocated | Measure::Live => {
            let weighed = as_calls(profile, measure);
            let view = View::new(&weighed, &options);
            let mut data = data(&view, &options);
            if let Some(allocations) = &profile.allocations {
                data["allocations"] = allocations::data(profile, allocations, &view, &options);
            }
            data
        }
    }
}

fn data(view: &View<'_>, options: &Options<'_>) -> Value {
    let lanes = Lane::all(view);
    let (threads, left_out) = threads(&lanes, view.counts_only(), false, options.top);
    json!({
        "header": header(view.profile),
        "counts": view.counts_only(),
        "measure": view.measure.as_str(),
        "sort": options.sort.as_str(),
        "whole": view.whole.round(),
        "leftOut": left_out,
        "unsized": unsized_remarks(view.unsized_objects()),
        "methods": methods(&view.profile.methods, &view.names),
        "threads": threads,
        "threadsText": view.threads(),
    })
}

/// The threads, and how many nodes they lack.
fn threads(lanes: &[Lane], counts: bool, is_diff: bool, top: Option<usize>) -> (Vec<Value>, usize) {
    let most = top.unwrap_or(MOST_NODES).min(MOST_NODES);
    let mut heaviest = Heaviest::of(lanes, most);
    let threads = lanes
        .iter()
        .map(|lane| lane.write(&mut heaviest, is_diff, counts))
        .collect();
    let nodes: usize = lanes.iter().map(Lane::size).sum();
    (threads, nodes.saturating_sub(most))
}

fn header(profile: &Profile) -> Header {
    let header = &profile.header;
    Header {
        notes: header
            .all_notes()
            .map(str::to_owned)
            .chain(header.explained.iter().cloned())
            .collect(),
        explained: Vec::new(),
        ..header.clone()
    }
}

fn methods(methods: &[Method], names: &[String]) -> Value {
    json!({
        "name": names,
        "class": methods.iter().map(|m| &*m.class).collect::<Vec<_>>(),
        "descriptor": methods.iter().map(|m| &*m.descriptor).collect::<Vec<_>>(),
        "loader": methods.iter().map(|m| &*m.loader).collect::<Vec<_>>(),
        "loaders": methods.iter().map(|m| m.loaders).collect::<Vec<_>>(),
        "file": methods.iter().map(|m| m.file.as_deref()).collect::<Vec<_>>(),
        "line": methods.iter().map(|m| m.line).collect::<Vec<_>>(),
    })
}
