//! Allocations in the page, thread by thread: the rows of places and types, and the rows of methods
//! with their callees. The page's script sums them by site, type and method.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::analysis::allocation_places::{Amounts, Place, chosen_sites, places_of};
use crate::analysis::measure::Measure;
use crate::analysis::options::Options;
use crate::analysis::view::View;
use crate::format::allocation_text::{describe, unsized_remarks};
use crate::model::Profile;
use crate::model::{Allocations, Site};

/// The maximum number of rows that are kept apart by thread. They take about 10 MB.
const MOST_ROWS: usize = 200_000;

/// The thread number of rows that only the tables of all threads show.
const NO_THREAD: i64 = -1;

/// The rows of the tables, thread by thread.
#[derive(Default)]
struct Rows<'p> {
    /// Index into [`View::trees`], or [`NO_THREAD`].
    places: Vec<(i64, Place<'p>)>,
    /// Methods with the allocations of their callees; `None` stands for the virtual machine.
    methods: Vec<(i64, Option<u32>, Amounts)>,
}

/// Returns the data of the tables. `view` shows the tree of the same allocations; its leaves are
/// the types.
pub(super) fn data(
    profile: &Profile,
    allocations: &Allocations,
    view: &View<'_>,
    options: &Options<'_>,
) -> Value {
    let (rows, together) = rows(profile, allocations, view, options);
    let first_type = profile.methods.len();
    let types = view.methods[first_type..].iter();
    let types: HashMap<&str, usize> = types.map(|one| &*one.class).zip(first_type..).collect();
    let Rows { places, methods } = rows;
    let unsized_objects = places.iter();
    let unsized_objects = unsized_objects
        .map(|(_, place)| place.unsized_objects(Measure::Allocated))
        .sum();
    let method = |method: Option<u32>| method.map_or(-1, i64::from);
    let place_amounts: Vec<_> = places.iter().map(|(_, place)| &place.amounts).collect();
    let method_amounts: Vec<_> = methods.iter().map(|(_, _, amounts)| amounts).collect();
    json!({
        "live": allocations.live,
        "sampled": allocations.seen.is_sampled(),
        "seen": describe(allocations.seen),
        "unsized": unsized_remarks(unsized_objects),
        "together": together,
        "callers": allocations.frames.iter().any(|frame| frame.parent.is_some()),
        "firstType": first_type,
        "sites": {
            "thread": places.iter().map(|(thread, _)| thread).collect::<Vec<_>>(),
            "method": places.iter().map(|(_, place)| method(place.method)).collect::<Vec<_>>(),
            "line": places.iter().map(|(_, place)| place.line).collect::<Vec<_>>(),
            "type": places.iter().map(|(_, place)| types[place.type_name]).collect::<Vec<_>>(),
            "amounts": amounts(&place_amounts, allocations.live),
        },
        "methods": {
            "thread": methods.iter().map(|(thread, ..)| thread).collect::<Vec<_>>(),
            "method": methods.iter().map(|(_, of, _)| method(*of)).collect::<Vec<_>>(),
            "amounts": amounts(&method_amounts, allocations.live),
        },
    })
}

/// Returns all rows, and the number of threads whose rows are merged because there are too many.
/// The threads that allocate the most keep their own rows.
fn rows<'p>(
    profile: &'p Profile,
    allocations: &'p Allocations,
    view: &View<'_>,
    options: &'p Options<'_>,
) -> (Rows<'p>, usize) {
    // Threads without a tree allocated nothing in this measure and cannot be chosen.
    let trees = view.trees.iter().zip(0..);
    let trees: HashMap<u32, i64> = trees.map(|(tree, at)| (tree.thread, at)).collect();
    let mut sites_by_thread: BTreeMap<i64, Vec<&Site>> = BTreeMap::new();
    for site in chosen_sites(profile, allocations, options) {
        let thread = trees.get(&site.thread).copied().unwrap_or(NO_THREAD);
        sites_by_thread.entry(thread).or_default().push(site);
    }
    let mut rest = sites_by_thread.remove(&NO_THREAD).unwrap_or_default();
    let weight = |thread: i64| {
        let entries = view.trees[thread as usize].entries.iter();
        let roots = entries.filter(|entry| entry.parent.is_none());
        roots.map(|root| root.below).sum::<f64>()
    };
    let by_weight = sites_by_thread.into_iter();
    let mut by_weight: Vec<_> = by_weight
        .map(|(thread, sites)| (weight(thread), thread, sites))
        .collect();
    by_weight.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let mut rows = Rows::default();
    let mut together = 0;
    for (_, thread, sites) in by_weight {
        let places = places_of(allocations, sites.iter().copied());
        let methods = with_callees(allocations, &sites);
        let all = rows.places.len() + rows.methods.len() + places.len() + methods.len();
        if all > MOST_ROWS {
            rest.extend(sites);
            together += 1;
        } else {
            rows.add(thread, places, methods);
        }
    }
    let places = places_of(allocations, rest.iter().copied());
    let methods = with_callees(allocations, &rest);
    rows.add(NO_THREAD, places, methods);
    (rows, together)
}

impl<'p> Rows<'p> {
    fn add(&mut self, thread: i64, places: Vec<Place<'p>>, methods: Vec<(Option<u32>, Amounts)>) {
        let places = places.into_iter().map(|place| (thread, place));
        self.places.extend(places);
        let methods = methods.into_iter();
        let methods = methods.map(|(method, amounts)| (thread, method, amounts));
        self.methods.extend(methods);
    }
}

/// Returns the allocations of each method and its callees. A site counts once for each method on
/// its stack, also in a recursion.
fn with_callees(allocations: &Allocations, sites: &[&Site]) -> Vec<(Option<u32>, Amounts)> {
    let mut rows: Vec<(Option<u32>, Amounts)> = Vec::new();
    // The key is the method; the values are its row and the last site that was added to it.
    let mut known: HashMap<Option<u32>, (usize, usize)> = HashMap::new();
    for (number, site) in sites.iter().enumerate() {
        let mut add = |method: Option<u32>| {
            let (row, last) = known.entry(method).or_insert_with(|| {
                rows.push((method, Amounts::default()));
                (rows.len() - 1, usize::MAX)
            });
            if *last != number {
                *last = number;
                rows[*row].1.add(site);
            }
        };
        if site.frame.is_none() {
            add(None);
        }
        for frame in allocations.path(site) {
            add(Some(frame.method));
        }
    }
    rows
}

/// Returns the columns of allocated objects and, if objects were followed, of live objects.
fn amounts(rows: &[&Amounts], with_live: bool) -> Value {
    let columns = |measure: Measure| {
        let of = |value: &dyn Fn(&Amounts) -> f64| column(rows.iter().map(|row| value(row)));
        let bytes = rows.iter().map(|row| row.of(measure).bytes.map(number));
        json!({
            "bytes": bytes.collect::<Vec<_>>(),
            "objects": of(&|row| row.of(measure).objects),
            "variance": of(&|row| row.of(measure).bytes_variance.round()),
            "unsized": of(&|row| row.unsized_objects(measure)),
        })
    };
    let mut told = json!({ "allocated": columns(Measure::Allocated) });
    if with_live {
        told["live"] = columns(Measure::Live);
        told["live"]["age"] = column(rows.iter().map(|row| row.live_age));
    }
    told
}

/// Returns a column of numbers; a single 0 if all are 0.
fn column(values: impl Iterator<Item = f64> + Clone) -> Value {
    if values.clone().all(|value| value == 0.0) {
        return json!(0);
    }
    values.map(number).collect()
}

/// Returns a number with at most three decimals. Estimates are fractions, and no view shows more
/// digits.
fn number(value: f64) -> Value {
    let rounded = (value * 1000.0).round() / 1000.0;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        json!(rounded as i64)
    } else {
        json!(rounded)
    }
}
