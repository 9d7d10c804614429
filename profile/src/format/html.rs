//! One self-contained page: flame graph, method table, call tree.
//!
//! The page holds no name of a server and loads nothing; its own files are in
//! `page/`. Data goes in as JSON in columns, one array a field, once for each
//! measure that the profile tells.

use std::io::{self, Write};

use serde_json::json;

use super::Options;
use crate::allocated::as_calls;
use crate::edges::{Edge, edges};
use crate::figures::Figure;
use crate::measure::Measure;
use crate::model::{Header, Profile};
use crate::places::unsized_remarks;
use crate::view::{Entry, Row, Tree, View};

/// The most tree nodes a page gets: some 10 MB, which browsers take.
const MOST_NODES: usize = 200_000;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Writes the page. Of trees with more nodes than 200,000, or [`Options::top`],
/// the heaviest are kept, and the page says so; its method table and who calls
/// whom are always whole.
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
    fill(PAGE, SCRIPT, &json!(data), out)
}

/// Writes a page: what is ours, `page` with places for the style of all pages,
/// a script and its data.
///
/// # Errors
///
/// Those of `out`.
pub fn fill(
    page: &str,
    script: &str,
    data: &serde_json::Value,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Inside a script element only its own end tag, or a comment's start, could
    // end the data; neither has a place in JSON outside of strings.
    let data = data.to_string().replace('<', "\\u003c");
    // Each piece is looked for in our own file only, never in data.
    let mut rest = page;
    for (place, piece) in [
        ("/*STYLE*/", STYLE),
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
fn weighed(profile: &Profile, measure: Measure, options: &Options<'_>) -> serde_json::Value {
    let options = Options {
        measure: Some(measure),
        ..*options
    };
    match measure {
        Measure::Time => data(&View::new(profile, &options), &options),
        Measure::Allocated | Measure::Live => {
            let weighed = as_calls(profile, measure);
            data(&View::new(&weighed, &options), &options)
        }
    }
}

fn data(view: &View<'_>, options: &Options<'_>) -> serde_json::Value {
    let methods = &view.profile.methods;
    let rows = view.rows(options.sort);
    let edges = edges(view);
    let most = options.top.unwrap_or(MOST_NODES).min(MOST_NODES);
    let mut heaviest = Heaviest::of(view, most);
    let nodes: usize = view.trees.iter().map(|tree| tree.entries.len()).sum();
    let threads: Vec<_> = view
        .trees
        .iter()
        .map(|tree| thread(tree, &mut heaviest))
        .collect();
    let kept: usize = threads
        .iter()
        .map(|thread| thread["method"].as_array().map_or(0, Vec::len))
        .sum();
    let header = &view.profile.header;
    let header = Header {
        notes: header
            .all_notes()
            .map(str::to_owned)
            .chain(header.explained.iter().cloned())
            .collect(),
        explained: Vec::new(),
        ..header.clone()
    };
    json!({
        "header": header,
        "counts": view.counts_only(),
        "measure": view.measure.as_str(),
        "whole": view.whole.round(),
        "leftOut": nodes - kept,
        "unsized": unsized_remarks(view.unsized_objects()),
        "methods": {
            "name": view.names,
            "class": methods.iter().map(|m| &*m.class).collect::<Vec<_>>(),
            "descriptor": methods.iter().map(|m| &*m.descriptor).collect::<Vec<_>>(),
            "loader": methods.iter().map(|m| &*m.loader).collect::<Vec<_>>(),
            "file": methods.iter().map(|m| m.file.as_deref()).collect::<Vec<_>>(),
            "line": methods.iter().map(|m| m.line).collect::<Vec<_>>(),
        },
        "rows": {
            "method": rows.iter().map(|row| row.method).collect::<Vec<_>>(),
            "calls": rows.iter().map(|row| row.calls).collect::<Vec<_>>(),
            "self": rows.iter().map(|row| whole(row.own_ns())).collect::<Vec<_>>(),
            "total": rows.iter().map(|row| whole(row.whole_ns())).collect::<Vec<_>>(),
            "error": rows.iter().map(|row| row.self_error_ns().round() as u64).collect::<Vec<_>>(),
            "estimated": rows.iter().map(|row| u8::from(row.estimated)).collect::<Vec<_>>(),
            "selfMark": rows.iter().map(Row::self_mark).collect::<Vec<_>>(),
            "totalMark": rows.iter().map(Row::total_mark).collect::<Vec<_>>(),
            "meanMark": rows.iter().map(Row::mean_mark).collect::<Vec<_>>(),
            "mean": rows.iter().map(|row| whole(row.mean_ns())).collect::<Vec<_>>(),
        },
        "edges": {
            "caller": edges.iter().map(|edge| edge.caller.map_or(-1, i64::from)).collect::<Vec<_>>(),
            "callee": edges.iter().map(|edge| edge.callee).collect::<Vec<_>>(),
            "calls": edges.iter().map(|edge| edge.calls).collect::<Vec<_>>(),
            "total": edges.iter().map(|edge| whole(edge.whole_ns())).collect::<Vec<_>>(),
            "mark": edges.iter().map(Edge::total_mark).collect::<Vec<_>>(),
        },
        "threads": threads,
        "threadsText": view.threads(),
    })
}

/// Whole nanoseconds, or null.
fn whole(ns: Option<f64>) -> Option<u64> {
    ns.map(|ns| ns.round() as u64)
}

/// The nodes that stay.
struct Heaviest {
    /// All that are heavier than this,
    weight: f64,
    /// and so many as heavy, which may be very many: of weight 0.
    equal: usize,
}

impl Heaviest {
    fn of(view: &View<'_>, most: usize) -> Heaviest {
        let entries = view.trees.iter().flat_map(|tree| &tree.entries);
        let mut weights: Vec<f64> = entries.map(|entry| entry.below).collect();
        if weights.len() <= most {
            let (weight, equal) = (f64::NEG_INFINITY, 0);
            return Heaviest { weight, equal };
        }
        let (heavier, weight, _) = weights.select_nth_unstable_by(most, |a, b| b.total_cmp(a));
        let weight = *weight;
        let heavier = heavier.iter().filter(|other| **other > weight).count();
        Heaviest {
            weight,
            equal: most - heavier,
        }
    }

    /// Whether the next node stays. No node weighs more than its caller, which
    /// comes before it: callers stay wherever callees do.
    fn keep(&mut self, weight: f64) -> bool {
        if weight == self.weight && self.equal > 0 {
            self.equal -= 1;
            return true;
        }
        weight > self.weight
    }
}

/// A tree's columns; parents are indexes, -1 for roots.
fn thread(tree: &Tree, heaviest: &mut Heaviest) -> serde_json::Value {
    let mut places = vec![-1i64; tree.entries.len()];
    let mut kept = Vec::new();
    for (at, entry) in tree.entries.iter().enumerate() {
        if heaviest.keep(entry.below) {
            places[at] = kept.len() as i64;
            kept.push(entry);
        }
    }
    // Nearly always all of its calls are timed, or none.
    let part = |(at, entry): (usize, &&Entry)| {
        let Figure {
            timed_calls,
            timed_ns,
            ..
        } = entry.figure;
        let is_part = 0 < timed_calls && timed_calls < entry.calls;
        is_part.then(|| {
            (
                at.to_string(),
                json!([timed_calls, timed_ns.round() as u64]),
            )
        })
    };
    let parts: serde_json::Map<_, _> = kept.iter().enumerate().filter_map(part).collect();
    let parent = |parent: Option<u32>| parent.map_or(-1, |parent| places[parent as usize]);
    json!({
        "name": tree.name,
        "parent": kept.iter().map(|entry| parent(entry.parent)).collect::<Vec<_>>(),
        "method": kept.iter().map(|entry| entry.method).collect::<Vec<_>>(),
        "calls": kept.iter().map(|entry| entry.calls).collect::<Vec<_>>(),
        "parts": parts,
        "self": kept.iter().map(|entry| whole(entry.figure.own_ns())).collect::<Vec<_>>(),
        "total": kept.iter().map(|entry| whole(entry.figure.whole_ns())).collect::<Vec<_>>(),
        "below": kept.iter().map(|entry| entry.below.round() as u64).collect::<Vec<_>>(),
        "estimated": kept.iter().map(|entry| u8::from(entry.figure.estimated)).collect::<Vec<_>>(),
    })
}
