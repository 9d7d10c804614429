//! Writes compared methods as table and JSON.

use std::io::{self, Write};

use serde_json::json;

use super::cells::{SMALL, growth, is_listed, larger, percent, signed};
use super::sentences::Side;
use super::shared_json;
use super::{groups, sentences};
use crate::analysis::diff::Verdict;
use crate::analysis::diff::methods::{Change, Comparison, Cost, Quantity};
use crate::analysis::options::Options;
use crate::format::bounds::{FEWER, counted_until, fewer, mark, without_later};
use crate::format::json::latency;
use crate::format::notes::{measured, write_sentences};
use crate::format::table::columns::{Column, fitted, text_table};
use crate::format::table::methods::ERROR;
use crate::model::Timing;
use loadhook_text::JsonWriter;
use loadhook_text::units::{self, UNKNOWN, Unit};
use loadhook_text::width::joined;

/// Writes a comparison as a table. With several runs on both sides it shows the changes with their
/// ratios. Otherwise it shows calls, which are exact, and then times.
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
        return writeln!(out, "No instrumented method was called on either side");
    }
    head(comparison, options, out)?;
    let (shown, columns) = if comparison.plan.is_tested() {
        of_several_runs(comparison, options, out)?
    } else {
        of_single_runs(comparison, options, out)?
    };
    // A narrow table lacks columns. Their marks are not explained.
    let has_column = |title: &str| columns.iter().any(|column| column.title.starts_with(title));
    let left = comparison.changes.len() - shown.len();
    if left > 0 {
        let methods = units::counted(left as u64, "more method", "more methods");
        writeln!(out, "      {methods}")?;
    }
    writeln!(out)?;
    write_sentences(&comparison.waiting, options.width, out)?;
    if comparison.quantity == Quantity::P99 {
        write_sentences(partial(&shown), options.width, out)?;
    }
    let least_calls = match has_column("calls") {
        true => least_calls(&shown, comparison.is_sampled()),
        false => Vec::new(),
    };
    let plan = &comparison.plan;
    if !plan.is_tested() && comparison.times().is_some() {
        let but = if least_calls.is_empty() {
            ""
        } else {
            " but for ≥"
        };
        let mark = if has_column(ERROR) { " (±)" } else { "" };
        let noise = format!(
            "Calls are exact{but}. Times vary from run to run by more than their sampling error{mark}."
        );
        write_sentences([noise], options.width, out)?;
    }
    let least_times = least_times(comparison, &shown, has_column);
    write_sentences(least_times, options.width, out)?;
    write_sentences(least_calls, options.width, out)?;
    let told = sentences::below(plan, &comparison.headers, "methods");
    write_sentences(told, options.width, out)
}

/// Writes the number of runs, and how all methods together changed.
fn head(comparison: &Comparison, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let [before, after] = comparison.plan.runs.map(sentences::runs);
    let mut facts = vec![format!("before {before}"), format!("after {after}")];
    if let Some(header) = comparison.headers.iter().flatten().next() {
        facts.push(measured(header));
    }
    if comparison.plan.runs != [1, 1] {
        facts.push("medians".to_owned());
    }
    writeln!(out, "{}", joined(&facts, options.width))?;
    let (what, text): (_, fn(f64) -> String) = match comparison.quantity {
        Quantity::Calls => ("all calls", |calls| units::decimal(calls, 0)),
        _ => ("self time of all methods", units::time),
    };
    // Only the number of calls can be a lower bound: see `Comparison::whole`.
    let number = |side: Side, value| {
        let mut costs = comparison.changes.iter().flat_map(|change| match side {
            Side::Before => &change.before,
            Side::After => &change.after,
        });
        let is_least = comparison.whole.is_bound && costs.any(|cost| cost.calls_are_least);
        format!("{}{}", mark(false, is_least), text(value))
    };
    let whole = sentences::whole(&comparison.whole, &comparison.plan, what, number);
    write_sentences(whole, options.width, out)?;
    write_sentences(&comparison.waited_once, options.width, out)?;
    writeln!(out)
}

impl Comparison {
    /// Returns the times to show beside calls; `None` if nothing was timed.
    fn times(&self) -> Option<Quantity> {
        let mut headers = self.headers.iter().flatten();
        match self.quantity {
            _ if headers.any(|header| header.timing == Timing::Count) => None,
            Quantity::Calls => Some(Quantity::SelfTime),
            quantity => Some(quantity),
        }
    }
}

impl Comparison {
    /// Returns whether times come from samples.
    fn is_sampled(&self) -> bool {
        let mut headers = self.headers.iter().flatten();
        headers.any(|header| header.timing == Timing::Sampled)
    }
}

/// Returns the explanations of `≥` before calls; none if no listed number of calls has the mark. `is_sampled` is true if
/// times come from samples.
fn least_calls(shown: &[&Change], is_sampled: bool) -> Vec<String> {
    let costs = shown
        .iter()
        .flat_map(|change| change.before.iter().chain(&change.after));
    let until = costs.clone().filter_map(|cost| cost.counted_until_ns).min();
    let mut marked = costs.filter(|cost| cost.calls_are_least);
    let lacks_later = marked.any(|cost| cost.counted_until_ns.is_none());
    let told = [
        until.map(|first| counted_until(first, is_sampled)),
        lacks_later.then(|| without_later("calls")),
    ];
    told.into_iter().flatten().collect()
}

/// Returns the explanation of `≥` before times; `None` if no listed time has the mark. `has_column` returns whether
/// the table has a column whose title begins with a text.
fn least_times(
    comparison: &Comparison,
    shown: &[&Change],
    has_column: impl Fn(&str) -> bool,
) -> Option<String> {
    let quantity = if comparison.plan.is_tested() {
        comparison.quantity
    } else {
        comparison.times()?
    };
    if quantity == Quantity::Calls || !has_column(&format!("{}, ", quantity.title())) {
        return None;
    }
    let mut costs = shown
        .iter()
        .flat_map(|change| change.before.iter().chain(&change.after));
    let is_marked = costs.any(|cost| quantity.value(cost).is_some() && quantity.is_least(cost));
    is_marked.then(|| {
        "≥ before times: the method lost its timing probes, so the change of its time is unknown"
            .to_owned()
    })
}

/// Returns the mark of a value that is an upper or lower bound.
fn mark_of(quantity: Quantity, cost: &Cost) -> &'static str {
    let is_least = quantity.is_least(cost);
    let is_partial = cost.timed_calls < cost.calls;
    match quantity {
        Quantity::SelfTime => mark(false, is_least || is_partial),
        Quantity::Total => mark(cost.total_is_bound, is_least || is_partial),
        Quantity::Calls => mark(false, is_least),
        Quantity::Mean => mark(cost.total_is_bound, false),
        Quantity::P99 => match cost.latency {
            Some(latency) if latency.is_partial(cost.calls) => FEWER,
            _ => "",
        },
    }
}

/// Returns the explanation of `†`, the mark of percentiles that cover only a part of the calls; `None` if no listed
/// method has the mark.
fn partial(shown: &[&Change]) -> Option<String> {
    let mut costs = shown
        .iter()
        .flat_map(|change| change.before.iter().chain(&change.after));
    costs.find_map(|cost| {
        let latency = cost.latency?;
        let is_partial = latency.is_partial(cost.calls);
        is_partial.then(|| fewer(latency.calls, cost.calls))
    })
}

/// Writes changes with their ratios; returns the changes that are listed, and the columns for which there was room.
fn of_several_runs<'c>(
    comparison: &'c Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<(Vec<&'c Change>, Vec<Column>)> {
    let changes = &comparison.changes;
    let quantity = comparison.quantity;
    let small = match quantity {
        // Means and percentiles are not parts of a total, so none is too small to be listed.
        Quantity::Mean | Quantity::P99 => 0.0,
        _ => SMALL * larger(&comparison.whole),
    };
    let shown: Vec<&Change> = changes
        .iter()
        .filter(|change| is_listed(&change.judgement, small))
        .take(options.top.unwrap_or(usize::MAX))
        .collect();
    let known = shown.iter().map(|change| larger(&change.judgement));
    let unit = Unit::for_largest(known.fold(0.0, f64::max), units::Quantity::Time);
    let counts = quantity == Quantity::Calls;
    let number = |value: Option<f64>| match value {
        None => UNKNOWN.to_owned(),
        Some(value) if counts => units::decimal(value, 0),
        Some(value) => unit.number(value),
    };
    let title = if counts {
        "calls".to_owned()
    } else {
        format!("{}, {}", quantity.title(), unit.name)
    };
    let cells = |cell: &dyn Fn(&Change) -> String| shown.iter().map(|c| cell(c)).collect();
    let marked = |side: &[Cost], value: Option<f64>| {
        let mark = side
            .iter()
            .map(|cost| mark_of(quantity, cost))
            .max()
            .unwrap_or("");
        match value {
            Some(_) => format!("{mark}{}", number(value)),
            None => number(value),
        }
    };
    let mut columns = vec![
        Column::new(&title, 0, cells(&|c| marked(&c.before, c.judgement.before))),
        Column::new("after", 0, cells(&|c| marked(&c.after, c.judgement.after))),
    ];
    let judgements = shown.iter().map(|change| &change.judgement);
    columns.extend(groups::columns(judgements, comparison.plan.runs));
    if !counts {
        columns.push(Column::new("calls", 2, cells(&|c| calls_of(c, &c.before))));
        columns.push(Column::new("after", 2, cells(&|c| calls_of(c, &c.after))));
    }
    let names: Vec<&str> = shown.iter().map(|change| &*change.name).collect();
    let verdicts: Vec<Verdict> = shown.iter().map(|c| c.judgement.verdict).collect();
    let columns = fitted(columns, &names, options.width);
    groups::write(&columns, "method", &names, &verdicts, options.width, out)?;
    Ok((shown, columns))
}

/// Returns the calls of a side; `–` if a method's calls were not counted.
fn calls_of(change: &Change, side: &[Cost]) -> String {
    if change.is_counted() {
        calls(side)
    } else {
        UNKNOWN.to_owned()
    }
}

/// Returns the calls of runs: one number if all agree, else from the least to the most.
fn calls(side: &[Cost]) -> String {
    let calls = side.iter().map(|cost| cost.calls);
    let has_bound = side.iter().any(|cost| cost.calls_are_least);
    let mark = mark(false, has_bound);
    match (calls.clone().min(), calls.max()) {
        (Some(least), Some(most)) if least != most => {
            format!("{mark}{}–{}", units::count(least), units::count(most))
        }
        (least, _) => format!("{mark}{}", units::count(least.unwrap_or(0))),
    }
}

/// Writes calls, then times; returns the changes that are listed, and the columns for which there was room.
fn of_single_runs<'c>(
    comparison: &'c Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<(Vec<&'c Change>, Vec<Column>)> {
    let all = &comparison.changes;
    let shown = &all[..all.len().min(options.top.unwrap_or(usize::MAX))];
    let cells = |cell: &dyn Fn(&Change) -> String| shown.iter().map(cell).collect::<Vec<_>>();
    let grown = |change: &Change| {
        if !change.is_counted() || change.has_least_calls() {
            return UNKNOWN.to_owned();
        }
        let calls = change.calls();
        let digits = units::count(u64::try_from(calls.unsigned_abs()).unwrap_or(u64::MAX));
        signed(calls as f64, digits)
    };
    let mut columns = vec![
        Column::new("calls before", 0, cells(&|c| calls_of(c, &c.before))),
        Column::new("after", 0, cells(&|c| calls_of(c, &c.after))),
        Column::new("change", 1, cells(&grown)),
        Column::new("%", 3, cells(&calls_percent)),
    ];
    if let Some(quantity) = comparison.times() {
        columns.extend(times(shown, quantity));
    }
    let names: Vec<&str> = shown.iter().map(|change| &*change.name).collect();
    let columns = fitted(columns, &names, options.width);
    text_table(&columns, "method", &names, options.width, out)?;
    Ok((shown.iter().collect(), columns))
}

/// Returns the difference of calls in percent. Times are not exact enough for a percentage.
fn calls_percent(change: &Change) -> String {
    match change.judgement.verdict {
        Verdict::New => return "new".to_owned(),
        Verdict::Gone => return "gone".to_owned(),
        _ => {}
    }
    if change.calls() == 0 || change.has_least_calls() {
        return String::new();
    }
    let before = change
        .before
        .iter()
        .map(|cost| cost.calls)
        .max()
        .unwrap_or(0);
    percent(change.calls() as f64, before as f64)
}

/// Returns the columns of times with their sampling error; for several runs, of the median times.
fn times(shown: &[Change], quantity: Quantity) -> Vec<Column> {
    let median = |side: &[Cost]| {
        let known: Vec<f64> = side
            .iter()
            .filter_map(|cost| quantity.value(cost))
            .collect();
        crate::analysis::statistics::median(&known)
    };
    let known = shown
        .iter()
        .flat_map(|c| [median(&c.before), median(&c.after)]);
    let unit = Unit::for_largest(known.flatten().fold(0.0, f64::max), units::Quantity::Time);
    let told = |side: &[Cost]| {
        let mark = side
            .iter()
            .map(|cost| mark_of(quantity, cost))
            .max()
            .unwrap_or("");
        let number = |ns| format!("{mark}{}", unit.number(ns));
        median(side).map_or(UNKNOWN.to_owned(), number)
    };
    let error = |change: &Change| {
        let worst = |side: &[Cost]| side.iter().map(|c| quantity.error(c)).fold(0.0, f64::max);
        worst(&change.before).hypot(worst(&change.after))
    };
    let change_of = |change: &Change| {
        let known = median(&change.after).zip(median(&change.before));
        let grown = known.filter(|_| !change.has_least(quantity));
        let size = grown.map(|(after, before)| after - before);
        growth(size, error(change), |size| unit.number(size))
    };
    let shown_error = |change: &Change| match error(change) {
        0.0 => String::new(),
        error => unit.number(error),
    };
    let cells = |cell: &dyn Fn(&Change) -> String| shown.iter().map(cell).collect::<Vec<_>>();
    let (what, unit) = (quantity.title(), unit.name);
    let columns = [
        Column::new(&format!("{what}, {unit}"), 2, cells(&|c| told(&c.before))),
        Column::new("after", 2, cells(&|c| told(&c.after))),
        // The unit stands here, too, because a narrow table lacks the columns before.
        Column::new(&format!("change, {unit}"), 0, cells(&change_of)),
        Column::new(ERROR, 0, cells(&shown_error)),
    ];
    columns.into_iter().filter(Column::has_text).collect()
}

/// Writes a comparison as JSON, version 3: see `docs/user/compare.md`.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn write_json(
    comparison: &Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole = |ns: f64| ns.round() as u64;
    let cost = |cost: &Cost| {
        json!({
            "calls": cost.is_counted.then_some(cost.calls),
            "calls_are_least": cost.calls_are_least,
            "counted_until_ns": cost.counted_until_ns,
            "self_ns": cost.self_ns.map(whole),
            "total_ns": cost.total_ns.map(whole),
            "timed_calls": cost.timed_calls,
            "mean_ns": cost.mean_ns.map(whole),
            "self_error_ns": cost.self_ns.map(|_| whole(cost.self_error_ns)),
            "total_error_ns": cost.total_ns.map(|_| whole(cost.total_error_ns)),
            "total_is_bound": cost.total_is_bound,
            "times_are_least": cost.times_are_least,
            "latency": cost.latency.as_ref().map(latency),
        })
    };
    let method = |change: &Change| {
        let mut told = shared_json::change(Some(&change.method), &change.judgement);
        told["before"] = change.before.iter().map(cost).collect();
        told["after"] = change.after.iter().map(cost).collect();
        told
    };
    let shown = comparison
        .changes
        .iter()
        .take(options.top.unwrap_or(usize::MAX));
    let mut file = shared_json::comparison(
        &comparison.headers,
        &comparison.plan,
        &comparison.whole,
        "time",
        comparison.quantity.title(),
    );
    file["methods"] = shown.map(method).collect();
    writeln!(JsonWriter(out), "{file}")
}
