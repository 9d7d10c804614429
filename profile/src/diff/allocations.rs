//! The allocations of two profiles side by side.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::json;

use super::Growth;
use crate::allocation::{Allocations, Amount};
use crate::format::columns::{Column, text_table, with_types};
use crate::format::json::seen;
use crate::format::table::lines;
use crate::format::units::{self, Quantity, UNKNOWN, Unit};
use crate::format::{Options, Sort};
use crate::matching::{Key, Matching};
use crate::measure::Measure;
use crate::model::Method;
use crate::names::names;
use crate::places::{AT_LEAST, Place, UNSIZED, place_name, places, total, total_text, type_names};
use crate::{MergeError, Profile};

/// What one place in the code allocates of one type, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The method, as in the later profile that has it; `None` if no Java method was running.
    pub method: Option<Method>,
    /// The line in the method's source file.
    pub line: Option<u32>,
    /// The type as Java writes it: `java.lang.String`, `int[][]`.
    pub type_name: Arc<str>,
    /// The method's name on screen.
    pub name: Option<Arc<str>>,
    /// In the first profile; zeros if there was none.
    pub before: Amount,
    /// In the second profile; zeros if there was none.
    pub after: Amount,
}

/// None at all.
const NONE: Amount = Amount {
    objects: 0.0,
    bytes: Some(0.0),
    objects_variance: 0.0,
    bytes_variance: 0.0,
};

impl Change {
    /// Method and line on screen, without control characters.
    pub fn place(&self) -> String {
        place_name(self.name.as_deref(), self.line)
    }

    fn bytes(&self) -> Growth {
        let of = |amount: &Amount| (amount.bytes, amount.bytes_variance.sqrt());
        Growth::of(of(&self.before), of(&self.after))
    }

    fn objects(&self) -> Growth {
        let of = |amount: &Amount| (Some(amount.objects), amount.objects_variance.sqrt());
        Growth::of(of(&self.before), of(&self.after))
    }
}

/// Compares what was allocated, or with [`Measure::Live`] what of it is alive, place by place.
/// Methods match as in [`merge`](crate::merge). The largest change of bytes comes first, for
/// [`Sort::Calls`] that of objects; where bytes are unknown, objects of the mean size stand for them.
///
/// # Errors
///
/// Allocations that cannot be compared: of which different ones were looked at.
pub fn diff(
    before: &Profile,
    after: &Profile,
    options: &Options<'_>,
) -> Result<Vec<Change>, MergeError> {
    let none = Allocations::default();
    let [a, b] = [before, after].map(|profile| profile.allocations.as_ref().unwrap_or(&none));
    if !a.seen.is_alike(b.seen) {
        return Err(MergeError::Allocations);
    }
    let measure = measure(options);
    let matching = Matching::of([before, after].into_iter());
    type Place<'p> = (Option<Key<'p>>, Option<u32>, &'p str);
    let mut known: HashMap<Place<'_>, usize> = HashMap::new();
    let mut changes: Vec<Change> = Vec::new();
    // The later profile first, for its files and lines.
    for (profile, allocations, later) in [(after, b, true), (before, a, false)] {
        for place in places(profile, allocations, options) {
            let method = place.method.map(|at| &profile.methods[at as usize]);
            let key = method.map(|method| matching.key(method));
            let at = *known
                .entry((key, place.line, place.type_name))
                .or_insert_with(|| {
                    changes.push(Change {
                        method: method.cloned(),
                        line: place.line,
                        type_name: place.type_name.into(),
                        name: None,
                        before: NONE,
                        after: NONE,
                    });
                    changes.len() - 1
                });
            let change = &mut changes[at];
            let sum = match later {
                true => &mut change.after,
                false => &mut change.before,
            };
            // A profile may have several methods of one name.
            let amount = amount(&place, measure);
            let bytes = sum.bytes.zip(amount.bytes).map(|(sum, more)| sum + more);
            sum.add(&amount);
            sum.bytes = bytes;
        }
    }
    changes.retain(|change| change.before.objects > 0.0 || change.after.objects > 0.0);
    name(&mut changes);
    sort(&mut changes, options.sort);
    Ok(changes)
}

fn measure(options: &Options<'_>) -> Measure {
    match options.measure {
        Some(Measure::Live) => Measure::Live,
        _ => Measure::Allocated,
    }
}

/// Bytes are unknown where those of some of the objects are.
fn amount(place: &Place<'_>, measure: Measure) -> Amount {
    let amount = place.amount(measure);
    let is_known = place.unsized_objects(measure) == 0.0;
    let bytes = is_known.then_some(amount.bytes.unwrap_or(0.0));
    Amount { bytes, ..amount }
}

fn name(changes: &mut [Change]) {
    let methods: Vec<Method> = changes.iter().filter_map(|c| c.method.clone()).collect();
    let mut distinct = methods;
    distinct.sort_by(|a, b| a.key().cmp(&b.key()));
    distinct.dedup_by(|a, b| a.key() == b.key());
    let names = names(&distinct).into_iter().map(Arc::from);
    let names: HashMap<_, Arc<str>> = distinct.iter().map(Method::key).zip(names).collect();
    for change in changes {
        let method = change.method.as_ref();
        change.name = method.and_then(|method| names.get(&method.key()).cloned());
    }
}

fn sort(changes: &mut [Change], sort: Sort) {
    let mean = mean_size(changes);
    let objects = |change: &Change| (change.after.objects - change.before.objects).abs();
    let bytes = |change: &Change| match change.bytes().size {
        Some(size) => size.abs(),
        None => objects(change) * mean,
    };
    fn name(change: &Change) -> (Option<&str>, Option<u32>, &str) {
        (change.name.as_deref(), change.line, &change.type_name)
    }
    changes.sort_by(|a, b| {
        let bytes = bytes(b).total_cmp(&bytes(a));
        let objects = objects(b).total_cmp(&objects(a));
        let by_name = || name(a).cmp(&name(b));
        match sort {
            Sort::Name => by_name(),
            Sort::Calls => objects.then(bytes).then_with(by_name),
            _ => bytes.then(objects).then_with(by_name),
        }
    });
}

/// The bytes of an object, on average over those whose sizes are known.
fn mean_size(changes: &[Change]) -> f64 {
    let amounts = changes.iter().flat_map(|c| [&c.before, &c.after]);
    let known = amounts.filter_map(|amount| Some((amount.objects, amount.bytes?)));
    let sum = known.fold((0.0, 0.0), |sum, (objects, bytes)| {
        (sum.0 + objects, sum.1 + bytes)
    });
    match sum {
        (0.0, _) => 1.0,
        (objects, bytes) => bytes / objects,
    }
}

/// Writes at most [`Options::top`] changes as a table, below what there is in all; `~` marks those within sampling error.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    changes: &[Change],
    [before, after]: [&Profile; 2],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_live = measure(options) == Measure::Live;
    if changes.is_empty() {
        let nothing = match is_live {
            true => "Nothing is alive in either profile",
            false => "Nothing was allocated in either profile",
        };
        return writeln!(out, "{nothing}");
    }
    let totals = [before, after].map(|profile| {
        let allocations = profile.allocations.as_ref();
        let places = allocations.map_or(Vec::new(), |a| places(profile, a, options));
        total(&places, measure(options))
    });
    head(totals, [before, after], options, out)?;
    let shown = &changes[..changes.len().min(options.top.unwrap_or(usize::MAX))];
    let places: Vec<String> = shown.iter().map(Change::place).collect();
    let types = type_names(shown.iter().map(|change| &*change.type_name));
    let columns = with_types(columns(shown, options.sort), &types, &places, options.width);
    text_table(&columns, "place", &places, options.width, out)?;
    let more = changes.len() - shown.len();
    if more > 0 {
        writeln!(out, "      {} more", units::count(more as u64))?;
    }
    let unsized_objects = totals.map(|(_, unsized_objects)| unsized_objects);
    if unsized_objects != [0.0; 2] {
        let [before, after] = unsized_objects.map(|objects| units::decimal(objects, 0));
        writeln!(
            out,
            "\n{before} objects before and {after} after {UNSIZED}\n{AT_LEAST}"
        )?;
    }
    Ok(())
}

/// What there was in all, and how it is known.
fn head(
    totals: [(Amount, f64); 2],
    profiles: [&Profile; 2],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let seen = profiles.map(|profile| {
        profile
            .allocations
            .as_ref()
            .map(|a| a.seen)
            .unwrap_or_default()
    });
    let about = if seen[0].is_sampled() { "~" } else { "" };
    let [before, after] = totals.map(|total| total_text(total, about));
    let what = match measure(options) {
        Measure::Live => "alive",
        _ => "allocated",
    };
    let mut facts = vec![
        format!("{what} before {before}"),
        format!("after {after}"),
        seen[0].describe(),
    ];
    if seen[0] != seen[1] {
        facts.push(format!("after {}", seen[1].describe()));
    }
    writeln!(out, "{}\n", lines(&facts, options.width))
}

fn columns(changes: &[Change], sort: Sort) -> Vec<Column> {
    // What decides the order is seen.
    let is_by_objects = sort == Sort::Calls || changes.iter().any(|c| c.bytes().size.is_none());
    let objects_spare = if is_by_objects { 0 } else { 2 };
    let cells = |cell: &dyn Fn(&Change) -> String| changes.iter().map(cell).collect::<Vec<_>>();
    let bytes = changes.iter().flat_map(|c| [c.before.bytes, c.after.bytes]);
    let unit = Unit::for_largest(bytes.flatten().fold(0.0, f64::max), Quantity::Bytes);
    let known = |bytes: Option<f64>| bytes.map_or(UNKNOWN.to_owned(), |b| unit.number(b));
    let grown = |change: &Change| change.bytes().told(|size| unit.number(size));
    let objects =
        |amount: fn(&Change) -> Amount| cells(&|change| units::decimal(amount(change).objects, 0));
    let more = |change: &Change| change.objects().told(|size| units::decimal(size, 0));
    vec![
        Column::new(
            &format!("{} before", unit.name),
            0,
            cells(&|change| known(change.before.bytes)),
        ),
        Column::new("after", 0, cells(&|change| known(change.after.bytes))),
        Column::new("change", 0, cells(&grown)),
        Column::new("%", 1, cells(&|change| change.bytes().percent())),
        Column::new("objects before", 3, objects(|change| change.before)),
        Column::new("after", 3, objects(|change| change.after)),
        Column::new("change of objects", objects_spare, cells(&more)),
    ]
}

/// Writes at most [`Options::top`] changes as JSON, version 1: see `docs/profile.md`.
///
/// # Errors
///
/// Those of `out`.
pub fn write_json(
    changes: &[Change],
    [before, after]: [&Profile; 2],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole = |value: f64| value.round() as u64;
    let amount = |amount: &Amount, profile: &Profile| {
        let mut told =
            json!({ "objects": whole(amount.objects), "bytes": amount.bytes.map(whole) });
        if profile
            .allocations
            .as_ref()
            .is_some_and(|a| a.seen.is_sampled())
        {
            told["objects_error"] = json!(whole(amount.objects_variance.sqrt()));
            told["bytes_error"] = json!(whole(amount.bytes_variance.sqrt()));
        }
        told
    };
    let site = |change: &Change| {
        let method = change.method.as_ref();
        json!({
            "class": method.map(|method| &*method.class),
            "method": method.map(|method| &*method.name),
            "descriptor": method.map(|method| &*method.descriptor),
            "loader": method.map(|method| &*method.loader),
            "line": change.line,
            "type": &*change.type_name,
            "before": amount(&change.before, before),
            "after": amount(&change.after, after),
        })
    };
    let shown = changes.iter().take(options.top.unwrap_or(usize::MAX));
    let file = json!({
        "version": 1,
        "before": before.header,
        "after": after.header,
        "measure": measure(options).as_str(),
        "allocations": {
            "before": before.allocations.as_ref().map(seen),
            "after": after.allocations.as_ref().map(seen),
        },
        "sites": shown.map(site).collect::<Vec<_>>(),
    });
    writeln!(out, "{file}")
}
