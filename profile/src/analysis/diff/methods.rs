//! Compares the methods of two sides.

use std::borrow::Cow;
use std::collections::HashMap;

use super::judgement::{Judgement, Plan, Values, judge, judge_alone};
use super::sides::{Sides, headers, numbers, sides};
use crate::analysis::latencies::Latency;
use crate::analysis::merge::MergeError;
use crate::analysis::method_matching::{Key, Matching};
use crate::analysis::method_names::names;
use crate::analysis::method_rows::Row;
use crate::analysis::options::{Options, Sort};
use crate::analysis::view::View;
use crate::analysis::waiting::Waiting;
use crate::model::Profile;
use crate::model::{Header, Method, Timing};
use loadhook_text::printable;

/// The methods of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The changes in groups: methods that changed, methods of one side only, the others. Within a
    /// group the largest difference comes first, in the value that [`Options::sort`] names.
    pub changes: Vec<Change>,
    /// The tests that the number of runs allows.
    pub plan: Plan,
    /// The judgement of all methods together: their self time, or their calls.
    pub whole: Judgement,
    /// The headers of the runs of each side.
    pub headers: [Vec<Header>; 2],
    pub(crate) quantity: Quantity,
    /// The line that names the threads left out because they only waited.
    pub(crate) waiting: Option<String>,
    /// The line that names the threads that only waited in some runs. The sums of these runs have them, unlike in a report
    /// of one profile.
    pub(crate) waited_once: Option<String>,
}

/// A method on both sides of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The method. File and line come from the latest profile that has the method.
    pub method: Method,
    /// The method's name on screen, without control characters.
    pub name: String,
    /// The cost in each run of the first side; zeros where the method was not called.
    pub before: Vec<Cost>,
    /// The cost in each run of the second side; zeros where the method was not called.
    pub after: Vec<Cost>,
    /// The verdict and the statistics over all runs.
    pub judgement: Judgement,
}

/// The cost of a method in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The exact number of calls; 0 if calls were not counted.
    pub calls: u64,
    /// True if the calls were counted; false if the method is known from samples only.
    pub is_counted: bool,
    /// The time until which the calls were counted, see [`MethodCalls::until_ns`](crate::MethodCalls::until_ns).
    pub counted_until_ns: Option<u64>,
    /// Set when `calls` is a lower bound: the method lost its last probe, or the options leave out the calls that were
    /// only counted.
    pub calls_are_least: bool,
    /// Self time in nanoseconds; `None` if calls of other methods were timed, but no call of this method.
    pub self_ns: Option<f64>,
    /// Total time in nanoseconds; `None` under the same condition as `self_ns`.
    pub total_ns: Option<f64>,
    /// The number of calls whose times are known.
    pub timed_calls: u64,
    /// Mean total time of the calls with known times.
    pub mean_ns: Option<f64>,
    /// Standard error of `self_ns`.
    pub self_error_ns: f64,
    /// Standard error of `total_ns`.
    pub total_error_ns: f64,
    /// Set when `total_ns` is an upper bound: in a recursion, calls of the method may have run
    /// inside each other.
    pub total_is_bound: bool,
    /// Set when the method lost its timing probes, so that the times of many calls may be unknown: `self_ns` and
    /// `total_ns` are then lower bounds. Never set if times come from samples, which need no probes.
    pub times_are_least: bool,
    /// The durations of the calls, as far as they are known.
    pub latency: Option<Latency>,
}

impl Default for Cost {
    /// Returns the cost of a method that is not called.
    fn default() -> Self {
        Cost {
            calls: 0,
            is_counted: true,
            counted_until_ns: None,
            calls_are_least: false,
            self_ns: Some(0.0),
            total_ns: Some(0.0),
            timed_calls: 0,
            mean_ns: Some(0.0),
            self_error_ns: 0.0,
            total_error_ns: 0.0,
            total_is_bound: false,
            times_are_least: false,
            latency: None,
        }
    }
}

impl Change {
    /// Returns the difference between the median numbers of calls; negative if there are fewer
    /// calls on the second side. It means nothing if [`has_least_calls`](Self::has_least_calls).
    pub fn calls(&self) -> i128 {
        let median = |side: &[Cost]| {
            let mut calls: Vec<u64> = side.iter().map(|cost| cost.calls).collect();
            calls.sort_unstable();
            calls
                .get(calls.len() / 2)
                .map_or(0, |calls| i128::from(*calls))
        };
        median(&self.after) - median(&self.before)
    }

    /// Returns whether the calls are known, in all runs that have the method.
    pub(crate) fn is_counted(&self) -> bool {
        let mut costs = self.before.iter().chain(&self.after);
        costs.all(|cost| cost.is_counted)
    }

    /// Returns whether the calls of some run are a lower bound. The difference of calls is then unknown.
    pub fn has_least_calls(&self) -> bool {
        self.has_least(Quantity::Calls)
    }

    /// Returns whether the value of a quantity is a lower bound in some run. The difference is then unknown.
    pub(crate) fn has_least(&self, quantity: Quantity) -> bool {
        let mut costs = self.before.iter().chain(&self.after);
        costs.any(|cost| quantity.is_least(cost))
    }

    /// Returns the values of a quantity in all runs.
    fn values(&self, quantity: Quantity) -> Values {
        let is_met_by_chance = !self.is_counted();
        let of = |side: &[Cost]| {
            let may_be_called = |cost: &Cost| cost.calls > 0 || cost.counted_until_ns.is_some();
            let is_there = |cost: &Cost| is_met_by_chance || may_be_called(cost);
            let value = |cost: &Cost| (is_there(cost), quantity.value(cost));
            side.iter().map(value).collect()
        };
        Values {
            sides: [of(&self.before), of(&self.after)],
            is_bound: self.has_least(quantity),
        }
    }
}

/// Compares runs of two sides method by method. Methods match as in [`merge`](crate::merge).
/// Profiles of one process are one run. Threads that only waited in all runs are left out.
/// [`Options::sort`] names the compared value; if nothing was timed, calls are compared.
///
/// # Errors
///
/// Fails if clocks or timing modes cannot be compared, or if the modes of one side differ.
pub fn compare(profiles: [&[Profile]; 2], options: &Options<'_>) -> Result<Comparison, MergeError> {
    let sides = sides(profiles)?;
    let all = || sides.iter().flatten().map(Cow::as_ref);
    let timing = alike(&sides)?;
    let matching = Matching::of(all().map(|profile| &*profile.methods));
    let ([waiting, waited_once], left_out) = Waiting::in_all(&sides, options);
    let mut changes: Vec<Change> = Vec::new();
    let mut places: HashMap<Key<'_>, usize> = HashMap::new();
    let none = |side: usize| vec![Cost::default(); sides[side].len()];
    // The later side comes first, because its files and lines are shown.
    for side in [1, 0] {
        for (run, profile) in sides[side].iter().enumerate().rev() {
            let view = View::of_calls_without(&left_out[side][run], profile, options);
            for row in view.rows(Sort::SelfTime) {
                let method = &profile.methods[row.method as usize];
                let place = *places.entry(matching.key(method)).or_insert_with(|| {
                    changes.push(Change {
                        method: method.clone(),
                        name: String::new(),
                        before: none(0),
                        after: none(1),
                        judgement: judge_alone(&Values::default(), [0, 0]),
                    });
                    changes.len() - 1
                });
                let change = &mut changes[place];
                let costs = match side {
                    0 => &mut change.before,
                    _ => &mut change.after,
                };
                costs[run] = Cost {
                    latency: view.latencies.get(&row.method).copied(),
                    ..cost(&row)
                };
            }
        }
    }
    let methods: Vec<Method> = changes.iter().map(|change| change.method.clone()).collect();
    for (change, name) in changes.iter_mut().zip(names(&methods)) {
        change.name = printable(&name).into_owned();
    }
    let quantity = Quantity::of(options.sort, timing);
    let runs = numbers(&sides);
    let values: Vec<Values> = changes
        .iter()
        .map(|change| change.values(quantity))
        .collect();
    let (judgements, mut plan) = judge(&values, runs);
    if !plan.is_tested() && timing != Timing::Count {
        // Times need several runs; exact calls do not.
        let times = changes
            .iter()
            .map(|change| change.values(Quantity::SelfTime));
        plan = judge(&times.collect::<Vec<_>>(), runs).1;
    }
    for (change, judgement) in changes.iter_mut().zip(judgements) {
        change.judgement = judgement;
    }
    let whole = whole(&changes, quantity, runs);
    sort(&mut changes, options.sort, &plan);
    Ok(Comparison {
        changes,
        plan,
        whole,
        headers: headers(&sides),
        quantity,
        waiting,
        waited_once,
    })
}

/// Returns the timing of all runs, or an error if the runs cannot be compared.
fn alike(sides: &Sides<'_>) -> Result<Timing, MergeError> {
    let mut headers = sides.iter().flatten().map(|profile| &profile.header);
    let Some(first) = headers.next() else {
        return Ok(Timing::default());
    };
    for header in headers {
        if header.clock != first.clock {
            return Err(MergeError::Clocks);
        }
        if (header.timing == Timing::Count) != (first.timing == Timing::Count) {
            return Err(MergeError::Timings);
        }
        if (header.timing == Timing::Sampled) != (first.timing == Timing::Sampled) {
            return Err(MergeError::Samples);
        }
    }
    let mut engines = sides
        .iter()
        .flatten()
        .filter_map(|profile| profile.sampling.map(|sampling| sampling.engine));
    if let Some(engine) = engines.next()
        && engines.any(|other| other != engine)
    {
        return Err(MergeError::Engines);
    }
    // Exact and adaptive probes cost different amounts, so one side must not mix them.
    let is_mixed = |side: &Vec<Cow<'_, Profile>>| {
        side.windows(2)
            .any(|pair| pair[0].header.timing != pair[1].header.timing)
    };
    if sides.iter().any(is_mixed) {
        Err(MergeError::Modes)
    } else {
        Ok(first.timing)
    }
}

fn whole(changes: &[Change], quantity: Quantity, runs: [usize; 2]) -> Judgement {
    let quantity = match quantity {
        Quantity::Calls => Quantity::Calls,
        _ => Quantity::SelfTime,
    };
    let sums = |side: fn(&Change) -> &[Cost], runs: usize| {
        let of = |run: usize| {
            let values = changes
                .iter()
                .map(|change| quantity.value(&side(change)[run]));
            (true, Some(values.flatten().sum()))
        };
        (0..runs).map(of).collect()
    };
    let values = Values {
        sides: [
            sums(|change| &change.before, runs[0]),
            sums(|change| &change.after, runs[1]),
        ],
        // Callers' self times contain the time of calls that lost their probes, so the sum of self times is no bound.
        is_bound: quantity == Quantity::Calls && changes.iter().any(Change::has_least_calls),
    };
    judge_alone(&values, runs)
}

/// Sorts the changes: by verdict if there are several runs, then the largest first.
fn sort(changes: &mut [Change], sort: Sort, plan: &Plan) {
    let group = |change: &Change| plan.group(&change.judgement);
    changes.sort_by(|a, b| {
        let sizes = b.judgement.size().total_cmp(&a.judgement.size());
        let times = |change: &Change| {
            if change.has_least(Quantity::SelfTime) {
                return 0.0;
            }
            let pair =
                [&change.before, &change.after].map(|side| side.first().and_then(|c| c.self_ns));
            (pair[0].unwrap_or(0.0) - pair[1].unwrap_or(0.0)).abs()
        };
        let calls = |change: &Change| match change.has_least_calls() {
            true => 0,
            false => change.calls().abs(),
        };
        let order = match sort {
            Sort::Name => std::cmp::Ordering::Equal,
            // Many programs make the same calls in every run, so times decide among equal
            // differences.
            Sort::Calls => sizes.then_with(|| times(b).total_cmp(&times(a))),
            _ => sizes.then_with(|| calls(b).cmp(&calls(a))),
        };
        group(a)
            .cmp(&group(b))
            .then(order)
            .then_with(|| a.name.cmp(&b.name))
    });
}

fn cost(row: &Row) -> Cost {
    Cost {
        calls: row.count,
        is_counted: row.known_calls().is_some(),
        counted_until_ns: row.counted_until_ns,
        calls_are_least: row.counted_until_ns.is_some() || row.lacks_later_calls(),
        self_ns: row.known_own(),
        total_ns: row.some_total(),
        timed_calls: row.known_count,
        mean_ns: row.mean(),
        self_error_ns: row.own_error(),
        total_error_ns: row.total_error(),
        total_is_bound: row.total_is_bound,
        times_are_least: !row.is_sampled && row.counted_since_ns.is_some(),
        latency: None,
    }
}

/// The quantity that a comparison is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantity {
    SelfTime,
    Total,
    Calls,
    Mean,
    P99,
}

impl Quantity {
    fn of(sort: Sort, timing: Timing) -> Quantity {
        match sort {
            _ if timing == Timing::Count => Quantity::Calls,
            Sort::SelfTime | Sort::Name => Quantity::SelfTime,
            Sort::Total => Quantity::Total,
            Sort::Calls => Quantity::Calls,
            Sort::Mean => Quantity::Mean,
            Sort::P99 => Quantity::P99,
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Quantity::SelfTime => "self",
            Quantity::Total => "total",
            Quantity::Calls => "calls",
            Quantity::Mean => "mean",
            Quantity::P99 => "p99",
        }
    }

    pub(crate) fn value(self, cost: &Cost) -> Option<f64> {
        match self {
            Quantity::SelfTime => cost.self_ns,
            Quantity::Total => cost.total_ns,
            Quantity::Calls => cost.is_counted.then_some(cost.calls as f64),
            // A method that is not called has no mean.
            Quantity::Mean => cost.mean_ns.filter(|_| cost.calls > 0),
            Quantity::P99 => cost.latency.map(|latency| latency.p99()),
        }
    }

    /// Returns whether the value is a lower bound.
    pub(crate) fn is_least(self, cost: &Cost) -> bool {
        match self {
            Quantity::SelfTime | Quantity::Total => cost.times_are_least,
            Quantity::Calls => cost.calls_are_least,
            // Means and percentiles are those of the calls with known times.
            Quantity::Mean | Quantity::P99 => false,
        }
    }

    /// Returns the standard error of a quantity.
    pub(crate) fn error(self, cost: &Cost) -> f64 {
        match self {
            Quantity::SelfTime => cost.self_error_ns,
            Quantity::Total => cost.total_error_ns,
            Quantity::Calls => 0.0,
            Quantity::Mean => cost.total_error_ns / cost.timed_calls.max(1) as f64,
            // The end of a range stands for all durations in it.
            Quantity::P99 => cost.latency.map_or(0.0, |latency| latency.p99() / 16.0),
        }
    }
}
