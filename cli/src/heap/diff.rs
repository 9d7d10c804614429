//! Two dumps side by side.

use std::collections::BTreeMap;
use std::io::{self, Write};

use loadhook_heap::Histogram;
use loadhook_text::date::utc;
use loadhook_text::{bytes, count};
use serde_json::{Value, json};

use super::report::{COLUMNS, Format, ReportArgs, left_out, rest};
use super::{json, table};
use crate::output::columns;

/// Instances and bytes of a class, before and after.
#[derive(Default)]
pub(super) struct Change {
    pub(super) instances: [u64; 2],
    pub(super) bytes: [u64; 2],
}

/// Of how many classes how many changed: those that grew most come first, those
/// that shrank last. Classes of one name count as one: what tells loaders apart are
/// addresses.
pub(super) fn changes(both: [&Histogram; 2]) -> (usize, Vec<(&str, Change)>) {
    let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
    for (side, histogram) in both.into_iter().enumerate() {
        for class in &histogram.classes {
            let change = changes.entry(&*class.name).or_default();
            change.instances[side] += class.instances;
            change.bytes[side] = change.bytes[side].saturating_add(class.bytes);
        }
    }
    let all = changes.len();
    let is_changed = |change: &Change| {
        [change.instances, change.bytes]
            .iter()
            .any(|[before, after]| before != after)
    };
    let mut changed: Vec<(&str, Change)> = changes.into_iter().collect();
    changed.retain(|(_, change)| is_changed(change));
    changed.sort_by_key(|(_, change)| std::cmp::Reverse(difference(change.bytes)));
    (all, changed)
}

/// Writes what changed, class by class.
pub(super) fn write(
    names: [String; 2],
    both: [&Histogram; 2],
    args: &ReportArgs,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (all, changed) = changes(both);
    let [before, after] = both;
    if args.format == Format::Json {
        let classes = changed.iter().map(class_json);
        let mut view = json::rows("classes", classes, args.top);
        view.insert("before".to_owned(), json::head(before).into());
        view.insert("after".to_owned(), json::head(after).into());
        return json::print(view, out);
    }
    for (side, name, histogram) in [("before", &names[0], before), ("after", &names[1], after)] {
        writeln!(
            out,
            "{side:6}  {} objects · {} · dumped {} · {name}",
            count(histogram.instances()),
            bytes(histogram.bytes()),
            utc(histogram.header.time_ms),
        )?;
        if let Some(left_out) = left_out(histogram) {
            writeln!(out, "        {left_out}")?;
        }
    }
    writeln!(
        out,
        "{} of {} classes changed; + is more after than before; bytes and instances are after\n",
        count(changed.len() as u64),
        count(all as u64),
    )?;
    let titles = ["#", "± bytes", "bytes", "± instances", "instances", "class"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for (rank, (name, change)) in changed.iter().take(args.top).enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            signed(change.bytes, bytes),
            bytes(change.bytes[1]),
            signed(change.instances, count),
            count(change.instances[1]),
            (*name).to_owned(),
        ]);
    }
    table::write(&rows, columns(io::stdout(), COLUMNS), out)?;
    rest(changed.len(), args.top, "classes", out)
}

fn class_json((name, change): &(&str, Change)) -> Value {
    let [before, after] = [0, 1]
        .map(|side| json!({ "instances": change.instances[side], "bytes": change.bytes[side] }));
    json!({ "class": name, "before": before, "after": after })
}

fn difference([before, after]: [u64; 2]) -> i128 {
    i128::from(after) - i128::from(before)
}

fn signed(both: [u64; 2], text: fn(u64) -> String) -> String {
    let sign = match difference(both) {
        ..0 => "−",
        0 => "",
        _ => "+",
    };
    format!("{sign}{}", text(both[0].abs_diff(both[1])))
}
