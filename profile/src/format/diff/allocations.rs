//! Writes compared allocations as table and JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::cells::{SMALL, growth, is_listed, larger, percent};
use super::shared_json;
use super::{groups, sentences};
use crate::analysis::diff::Verdict;
use crate::analysis::diff::allocations::{Change, Comparison};
use crate::analysis::measure::Measure;
use crate::analysis::options::{Options, Sort};
use crate::analysis::statistics::median;
use crate::format::allocation_text::{AT_LEAST, UNSIZED, describe, total_text};
use crate::format::json::recording;
use crate::format::notes::write_sentences;
use crate::format::table::columns::{Column, text_table, with_types};
use crate::model::{Amount, Seen};
use loadhook_text::JsonWriter;
use loadhook_text::java::simple_type_names;
use loadhook_text::units::{self, Quantity, UNKNOWN, Unit};
use loadhook_text::width::joined;

/// Writes a comparison as a table. With several runs on both sides it shows the changes with their
/// ratios, otherwise the values of both sides.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn write(
    comparison: &Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if comparison.changes.is_empty() {
        let nothing = match comparison.measure {
            Measure::Live => "Nothing is alive on either side",
            _ => "Nothing was allocated on either side",
        };
        return writeln!(out, "{nothing}");
    }
    let is_tested = comparison.plan.is_tested();
    head(comparison, options, out)?;
    let shown = shown(comparison, options);
    let places: Vec<String> = shown.iter().map(|change| change.place()).collect();
    let types = simple_type_names(shown.iter().map(|change| &*change.type_name));
    let columns = if is_tested {
        ratios(comparison, &shown)
    } else {
        both_sides(comparison, &shown)
    };
    let columns = with_types(columns, &types, &places, options.width);
    if is_tested {
        let verdicts: Vec<Verdict> = shown.iter().map(|c| c.judgement.verdict).collect();
        groups::write(&columns, "place", &places, &verdicts, options.width, out)?;
    } else {
        text_table(&columns, "place", &places, options.width, out)?;
    }
    let more = comparison.changes.len() - shown.len();
    if more > 0 {
        writeln!(out, "      {} more", units::count(more as u64))?;
    }
    writeln!(out)?;
    let most = |side: &Vec<(Amount, f64)>| side.iter().map(|total| total.1).fold(0.0, f64::max);
    let unsized_objects = comparison.totals.each_ref().map(most);
    if unsized_objects != [0.0; 2] {
        let [before, after] = unsized_objects.map(|objects| units::decimal(objects, 0));
        let missing = format!("{before} objects before and {after} after {UNSIZED}");
        write_sentences([missing.as_str(), AT_LEAST], options.width, out)?;
    }
    let told = sentences::below(&comparison.plan, &comparison.headers, "places");
    write_sentences(told, options.width, out)
}

/// Returns the changes that the table lists.
fn shown<'c>(comparison: &'c Comparison, options: &Options<'_>) -> Vec<&'c Change> {
    let small = if comparison.plan.is_tested() {
        SMALL * larger(&comparison.whole)
    } else {
        0.0
    };
    let listed = comparison.changes.iter();
    listed
        .filter(|change| is_listed(&change.judgement, small))
        .take(options.top.unwrap_or(usize::MAX))
        .collect()
}

/// Writes the number of runs, the sum of all places, and how allocations were recorded.
fn head(comparison: &Comparison, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let what = match comparison.measure {
        Measure::Live => "alive",
        _ => "allocated",
    };
    let seen = comparison
        .seen
        .each_ref()
        .map(|side| side.first().copied().unwrap_or_default());
    let mut facts = match comparison.totals.each_ref().map(Vec::as_slice) {
        [[before], [after]] => {
            let about = if seen[0].is_sampled() { "~" } else { "" };
            let [before, after] = [before, after].map(|total| total_text(*total, about));
            vec![format!("{what} before {before}"), format!("after {after}")]
        }
        _ => {
            let [before, after] = comparison.plan.runs.map(sentences::runs);
            vec![
                format!("{what} before {before}"),
                format!("after {after}"),
                "medians".to_owned(),
            ]
        }
    };
    facts.push(describe(seen[0]));
    if seen[0] != seen[1] {
        facts.push(format!("after {}", describe(seen[1])));
    }
    writeln!(out, "{}", joined(&facts, options.width))?;
    if comparison.plan.is_tested() {
        let (title, number): (_, fn(f64) -> String) = match comparison.sort {
            Sort::Calls => ("all objects", |objects| units::decimal(objects, 0)),
            _ => ("all bytes", |bytes| units::bytes(bytes.round() as u64)),
        };
        let number = |_, value| number(value);
        let whole = sentences::whole(&comparison.whole, &comparison.plan, title, number);
        write_sentences(whole, options.width, out)?;
    }
    writeln!(out)
}

/// Returns the columns for several runs: bytes, or objects, with their ratio.
fn ratios(comparison: &Comparison, shown: &[&Change]) -> Vec<Column> {
    let values = shown
        .iter()
        .flat_map(|c| [c.judgement.before, c.judgement.after]);
    let unit = Unit::for_largest(values.flatten().fold(0.0, f64::max), Quantity::Bytes);
    let is_of_objects = comparison.sort == Sort::Calls;
    let number = |value: Option<f64>| match value {
        None => UNKNOWN.to_owned(),
        Some(value) if is_of_objects => units::decimal(value, 0),
        Some(value) => unit.number(value),
    };
    let cells = |cell: &dyn Fn(&Change) -> String| shown.iter().map(|c| cell(c)).collect();
    let title = if is_of_objects { "objects" } else { unit.name };
    let mut columns = vec![
        Column::new(title, 0, cells(&|c| number(c.judgement.before))),
        Column::new("after", 0, cells(&|c| number(c.judgement.after))),
    ];
    let judgements = shown.iter().map(|change| &change.judgement);
    columns.extend(groups::columns(judgements, comparison.plan.runs));
    columns
}

/// One value of a change before and after (the median of several runs), and the standard error of
/// the difference.
struct Grown {
    before: Option<f64>,
    after: Option<f64>,
    error: f64,
}

impl Grown {
    fn of(
        change: &Change,
        value: fn(&Amount) -> Option<f64>,
        variance: fn(&Amount) -> f64,
    ) -> Grown {
        let of = |side: &[Amount]| {
            let known: Option<Vec<f64>> = side.iter().map(value).collect();
            known.and_then(|known| median(&known))
        };
        let worst = |side: &[Amount]| side.iter().map(variance).fold(0.0, f64::max);
        Grown {
            before: of(&change.before),
            after: of(&change.after),
            error: (worst(&change.before) + worst(&change.after)).sqrt(),
        }
    }

    fn size(&self) -> Option<f64> {
        Some(self.after? - self.before?)
    }

    /// Returns the difference with its sign and mark; `number` formats a size.
    fn text(&self, number: impl Fn(f64) -> String) -> String {
        growth(self.size(), self.error, number)
    }

    /// Returns the difference in percent of the value before.
    fn percent(&self) -> String {
        let Some((size, before)) = self.size().zip(self.before) else {
            return String::new();
        };
        percent(size, before)
    }
}

/// Returns the columns for single runs. Only exact values get a percentage.
fn both_sides(comparison: &Comparison, shown: &[&Change]) -> Vec<Column> {
    let bytes_of = |change: &Change| Grown::of(change, |a| a.bytes, |a| a.bytes_variance);
    let objects_of =
        |change: &Change| Grown::of(change, |a| Some(a.objects), |a| a.objects_variance);
    // The column that decides the order is always shown.
    let is_by_objects =
        comparison.sort == Sort::Calls || shown.iter().any(|c| bytes_of(c).size().is_none());
    let objects_spare = if is_by_objects { 0 } else { 2 };
    let cells =
        |cell: &dyn Fn(&Change) -> String| shown.iter().map(|c| cell(c)).collect::<Vec<_>>();
    let bytes = shown
        .iter()
        .flat_map(|c| [bytes_of(c).before, bytes_of(c).after]);
    let unit = Unit::for_largest(bytes.flatten().fold(0.0, f64::max), Quantity::Bytes);
    let known = |bytes: Option<f64>| bytes.map_or(UNKNOWN.to_owned(), |b| unit.number(b));
    let objects = |value: Option<f64>| value.map_or(UNKNOWN.to_owned(), |o| units::decimal(o, 0));
    let is_sampled = comparison
        .seen
        .iter()
        .flatten()
        .any(|seen: &Seen| seen.is_sampled());
    let percent = |change: &Change| match change.judgement.verdict {
        Verdict::New => "new".to_owned(),
        Verdict::Gone => "gone".to_owned(),
        _ if is_sampled => String::new(),
        _ => bytes_of(change).percent(),
    };
    let error = |change: &Change| match bytes_of(change).error {
        0.0 => String::new(),
        error => unit.number(error),
    };
    let columns = [
        Column::new(
            &format!("{} before", unit.name),
            0,
            cells(&|c| known(bytes_of(c).before)),
        ),
        Column::new("after", 0, cells(&|c| known(bytes_of(c).after))),
        Column::new(
            "change",
            0,
            cells(&|c| bytes_of(c).text(|size| unit.number(size))),
        ),
        Column::new("±", 0, cells(&error)),
        Column::new("%", 1, cells(&percent)),
        Column::new(
            "objects before",
            3,
            cells(&|c| objects(objects_of(c).before)),
        ),
        Column::new("after", 3, cells(&|c| objects(objects_of(c).after))),
        Column::new(
            "change of objects",
            objects_spare,
            cells(&|c| objects_of(c).text(|size| units::decimal(size, 0))),
        ),
    ];
    columns.into_iter().filter(Column::has_text).collect()
}

/// Writes at most [`Options::top`] changes as JSON, version 3: see `docs/user/compare.md`.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn write_json(
    comparison: &Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole = |value: f64| value.round() as u64;
    let amounts = |side: &[Amount], seen: &[Seen]| -> Value {
        let amount = |(amount, seen): (&Amount, &Seen)| {
            let mut told =
                json!({ "objects": whole(amount.objects), "bytes": amount.bytes.map(whole) });
            if seen.is_sampled() {
                told["objects_error"] = json!(whole(amount.objects_variance.sqrt()));
                told["bytes_error"] = json!(whole(amount.bytes_variance.sqrt()));
            }
            told
        };
        side.iter().zip(seen).map(amount).collect()
    };
    let site = |change: &Change| {
        let mut told = shared_json::change(change.method.as_ref(), &change.judgement);
        told["line"] = json!(change.line);
        told["type"] = json!(&*change.type_name);
        told["before"] = amounts(&change.before, &comparison.seen[0]);
        told["after"] = amounts(&change.after, &comparison.seen[1]);
        told
    };
    let recordings = |side: usize| -> Value {
        let runs = comparison.recordings[side].iter();
        runs.map(|run| run.map_or(Value::Null, recording)).collect()
    };
    let shown = comparison
        .changes
        .iter()
        .take(options.top.unwrap_or(usize::MAX));
    let compared = match comparison.sort {
        Sort::Calls => "objects",
        _ => "bytes",
    };
    let mut file = shared_json::comparison(
        &comparison.headers,
        &comparison.plan,
        &comparison.whole,
        comparison.measure.as_str(),
        compared,
    );
    file["allocations"] = json!({ "before": recordings(0), "after": recordings(1) });
    file["sites"] = shown.map(site).collect();
    writeln!(JsonWriter(out), "{file}")
}
