//! Compares the allocations of two sides; each side has one run or several.

use std::collections::HashMap;
use std::sync::Arc;

use super::judgement::{Judgement, Plan, Values, judge, judge_alone};
use super::sides::{Sides, headers, numbers, sides};
use crate::analysis::allocation_places::{Place, place_name, places, total};
use crate::analysis::measure::Measure;
use crate::analysis::merge::MergeError;
use crate::analysis::method_matching::{Key, Matching};
use crate::analysis::method_names::names;
use crate::analysis::options::{Options, Sort};
use crate::model::{Allocations, Amount, Seen};
use crate::model::{Header, Method, Profile, Recording};

/// The allocations of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The changes in groups: places that changed, places of one side only, the others. Within a
    /// group the largest difference comes first, in bytes or objects.
    pub changes: Vec<Change>,
    /// The tests that the number of runs allows.
    pub plan: Plan,
    /// The judgement of the sum of all places.
    pub whole: Judgement,
    /// The headers of the runs of each side.
    pub headers: [Vec<Header>; 2],
    pub(crate) measure: Measure,
    pub(crate) sort: Sort,
    /// For each run, which allocations the profiler recorded.
    pub(crate) seen: [Vec<Seen>; 2],
    /// For each run, how allocations were recorded; `None` if they were not.
    pub(crate) recordings: [Vec<Option<Recording>>; 2],
    /// For each run, the sum of all allocations, and the number of objects of unknown size.
    pub(crate) totals: [Vec<(Amount, f64)>; 2],
}

/// The objects of one type that one place in the code allocates, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The method, as in the latest profile that has it; `None` if no Java method was running.
    pub method: Option<Method>,
    /// The line in the method's source file.
    pub line: Option<u32>,
    /// The type as Java writes it: `java.lang.String`, `int[][]`.
    pub type_name: Arc<str>,
    /// The method's name on screen.
    pub name: Option<Arc<str>>,
    /// The amount in each run of the first side; zeros where nothing was allocated.
    pub before: Vec<Amount>,
    /// The amount in each run of the second side; zeros where nothing was allocated.
    pub after: Vec<Amount>,
    /// The judgement of the bytes, or of the objects if the table is sorted by objects.
    pub judgement: Judgement,
}

/// No objects and no bytes.
const NONE: Amount = Amount {
    objects: 0.0,
    bytes: Some(0.0),
    objects_variance: 0.0,
    bytes_variance: 0.0,
};

impl Change {
    /// Returns method and line as the screen shows them, without control characters.
    pub fn place(&self) -> String {
        place_name(self.name.as_deref(), self.line)
    }

    /// Returns the value in each run of both sides.
    fn values(&self, value: fn(&Amount) -> Option<f64>) -> Values {
        let of = |side: &[Amount]| {
            let pair = |amount: &Amount| (amount.objects > 0.0, value(amount));
            side.iter().map(pair).collect()
        };
        Values {
            sides: [of(&self.before), of(&self.after)],
            is_bound: false,
        }
    }
}

/// Compares the allocations of two sides place by place; with [`Measure::Live`], only objects that
/// are still alive. Methods match as in [`merge`](crate::merge). Profiles of one process are one
/// run. The compared value is bytes, or objects with [`Sort::Calls`]. An object of unknown size
/// counts with the mean size.
///
/// # Errors
///
/// Fails if the two sides recorded different kinds of allocations.
pub fn compare(profiles: [&[Profile]; 2], options: &Options<'_>) -> Result<Comparison, MergeError> {
    let sides = sides(profiles)?;
    let none = Allocations::default();
    let allocations = |profile: &'_ Profile| profile.allocations.clone().unwrap_or_default().seen;
    let seen_by = sides.each_ref().map(|side| {
        let seen = side.iter().map(|profile| allocations(profile));
        seen.collect::<Vec<_>>()
    });
    let mut kinds = seen_by.iter().flatten();
    if let Some(first) = kinds.next()
        && kinds.any(|other| !first.is_alike(*other))
    {
        return Err(MergeError::Allocations);
    }
    let measure = measure(options);
    let mut totals = [Vec::new(), Vec::new()];
    let mut changes = found(&sides, &none, options, &mut totals)?;
    name(&mut changes);
    let value: fn(&Amount) -> Option<f64> = match options.sort {
        Sort::Calls => |amount| Some(amount.objects),
        _ => |amount| amount.bytes,
    };
    let runs = numbers(&sides);
    let values: Vec<Values> = changes.iter().map(|change| change.values(value)).collect();
    let (judgements, plan) = judge(&values, runs);
    for (change, judgement) in changes.iter_mut().zip(judgements) {
        change.judgement = judgement;
    }
    let of_run = |total: &(Amount, f64)| (true, value(&total.0).or(Some(0.0)));
    let whole = Values {
        sides: totals
            .each_ref()
            .map(|side| side.iter().map(of_run).collect()),
        is_bound: false,
    };
    sort(&mut changes, options.sort, &plan);
    Ok(Comparison {
        changes,
        plan,
        whole: judge_alone(&whole, runs),
        headers: headers(&sides),
        measure,
        sort: options.sort,
        seen: seen_by,
        recordings: sides.each_ref().map(|side| {
            let recordings = side.iter().map(|profile| profile.allocations.as_ref());
            recordings
                .map(|allocations| allocations.map(Allocations::recording))
                .collect()
        }),
        totals,
    })
}

/// Finds the places in all runs, and adds to `totals` the sum of the places of each run.
fn found(
    sides: &Sides<'_>,
    none: &Allocations,
    options: &Options<'_>,
    totals: &mut [Vec<(Amount, f64)>; 2],
) -> Result<Vec<Change>, MergeError> {
    let measure = measure(options);
    let matching = Matching::of(sides.iter().flatten().map(|profile| &*profile.methods));
    type PlaceKey<'p> = (Option<Key<'p>>, Option<u32>, String);
    let mut known: HashMap<PlaceKey<'_>, usize> = HashMap::new();
    let mut changes: Vec<Change> = Vec::new();
    // The later side comes first, because its files and lines are shown.
    for side in [1, 0] {
        for (run, profile) in sides[side].iter().enumerate() {
            let allocations = profile.allocations.as_ref().unwrap_or(none);
            let places = places(profile, allocations, options);
            totals[side].push(total(&places, measure));
            for place in places {
                let method = place.method.map(|at| &profile.methods[at as usize]);
                let key = method.map(|method| matching.key(method));
                let at = *known
                    .entry((key, place.line, place.type_name.to_owned()))
                    .or_insert_with(|| {
                        changes.push(Change {
                            method: method.cloned(),
                            line: place.line,
                            type_name: place.type_name.into(),
                            name: None,
                            before: vec![NONE; sides[0].len()],
                            after: vec![NONE; sides[1].len()],
                            judgement: judge_alone(&Values::default(), [0, 0]),
                        });
                        changes.len() - 1
                    });
                let change = &mut changes[at];
                let sum = match side {
                    0 => &mut change.before[run],
                    _ => &mut change.after[run],
                };
                // A profile may have several methods of one name.
                let amount = amount(&place, measure);
                let bytes = sum.bytes.zip(amount.bytes).map(|(sum, more)| sum + more);
                sum.add(&amount);
                sum.bytes = bytes;
            }
        }
    }
    changes.retain(|change| {
        let mut amounts = change.before.iter().chain(&change.after);
        amounts.any(|amount| amount.objects > 0.0)
    });
    Ok(changes)
}

fn measure(options: &Options<'_>) -> Measure {
    match options.measure {
        Some(Measure::Live) => Measure::Live,
        _ => Measure::Allocated,
    }
}

/// Returns the amount of a place. The bytes are unknown if some objects of the place have an unknown size.
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

fn sort(changes: &mut [Change], sort: Sort, plan: &Plan) {
    let mean = mean_size(changes);
    let group = |change: &Change| plan.group(&change.judgement);
    let objects =
        |change: &Change| difference(change, |amount| Some(amount.objects)).unwrap_or(0.0);
    let bytes = |change: &Change| match difference(change, |amount| amount.bytes) {
        Some(size) => size,
        None => objects(change) * mean,
    };
    fn name(change: &Change) -> (Option<&str>, Option<u32>, &str) {
        (change.name.as_deref(), change.line, &change.type_name)
    }
    changes.sort_by(|a, b| {
        let bytes = bytes(b).total_cmp(&bytes(a));
        let objects = objects(b).total_cmp(&objects(a));
        let by_name = || name(a).cmp(&name(b));
        let order = match sort {
            Sort::Name => by_name(),
            Sort::Calls => objects.then(bytes).then_with(by_name),
            _ => bytes.then(objects).then_with(by_name),
        };
        group(a).cmp(&group(b)).then(order)
    });
}

/// Returns the difference of the medians of both sides; `None` if the value is unknown in some run.
fn difference(change: &Change, value: fn(&Amount) -> Option<f64>) -> Option<f64> {
    let of = |side: &[Amount]| {
        let known: Option<Vec<f64>> = side.iter().map(value).collect();
        crate::analysis::statistics::median(&known?)
    };
    Some((of(&change.after)? - of(&change.before)?).abs())
}

/// Returns the mean size of the objects whose sizes are known.
fn mean_size(changes: &[Change]) -> f64 {
    let amounts = changes.iter().flat_map(|c| c.before.iter().chain(&c.after));
    let known = amounts.filter_map(|amount| Some((amount.objects, amount.bytes?)));
    let sum = known.fold((0.0, 0.0), |sum, (objects, bytes)| {
        (sum.0 + objects, sum.1 + bytes)
    });
    match sum {
        (0.0, _) => 1.0,
        (objects, bytes) => bytes / objects,
    }
}
