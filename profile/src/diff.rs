//! Two profiles side by side.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::json;

use crate::format::columns::{Column, fitted, text_table};
use crate::format::units::{self, UNKNOWN, Unit};
use crate::format::{Options, Sort};
use crate::matching::{Key, Matching};
use crate::model::{Method, Timing};
use crate::names::{names, printable};
use crate::view::{Row, View, mark};
use crate::{MergeError, Profile};

pub mod allocations;

/// A method before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The method; file and line as in the later profile that has it.
    pub method: Method,
    /// Its name on screen, without control characters.
    pub name: String,
    /// In the first profile; zeros if it was not called.
    pub before: Cost,
    /// In the second profile; zeros if it was not called.
    pub after: Cost,
}

/// What a method cost in one profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Exact.
    pub calls: u64,
    /// Nanoseconds; `None` if no call was timed, though others' were.
    pub self_ns: Option<f64>,
    /// Nanoseconds; `None` as of `self_ns`.
    pub total_ns: Option<f64>,
    /// How many of the calls have known times.
    pub timed_calls: u64,
    /// Total time a call, of those with known times.
    pub mean_ns: Option<f64>,
    /// Standard error of `self_ns`.
    pub self_error_ns: f64,
    /// Standard error of `total_ns`.
    pub total_error_ns: f64,
    /// Whether `total_ns` is what it took at most: in a recursion calls of the
    /// method may have run inside each other.
    pub total_is_bound: bool,
}

impl Default for Cost {
    /// What a method costs that is not called.
    fn default() -> Self {
        Cost {
            calls: 0,
            self_ns: Some(0.0),
            total_ns: Some(0.0),
            timed_calls: 0,
            mean_ns: Some(0.0),
            self_error_ns: 0.0,
            total_error_ns: 0.0,
            total_is_bound: false,
        }
    }
}

impl Change {
    /// What calls grew by; negative where they shrank.
    pub fn calls(&self) -> i128 {
        i128::from(self.after.calls) - i128::from(self.before.calls)
    }
}

/// Compares two profiles method by method; they match as in
/// [`merge`](crate::merge). The largest
/// change of what [`Options::sort`] names comes first; of calls, where nothing
/// was timed.
///
/// # Errors
///
/// Clocks or timing modes that cannot be compared.
pub fn diff(
    before: &Profile,
    after: &Profile,
    options: &Options<'_>,
) -> Result<Vec<Change>, MergeError> {
    let [a, b] = [before, after].map(|profile| &profile.header);
    if a.clock != b.clock {
        return Err(MergeError::Clocks);
    }
    if (a.timing == Timing::Count) != (b.timing == Timing::Count) {
        return Err(MergeError::Timings);
    }
    let mut changes: Vec<Change> = Vec::new();
    let matching = Matching::of([before, after].into_iter());
    let mut places: HashMap<Key<'_>, usize> = HashMap::new();
    // The later profile first, for its files and lines.
    for (profile, later) in [(after, true), (before, false)] {
        for row in View::new(profile, options).rows(Sort::SelfTime) {
            let method = &profile.methods[row.method as usize];
            let place = *places.entry(matching.key(method)).or_insert_with(|| {
                changes.push(Change {
                    method: method.clone(),
                    name: String::new(),
                    before: Cost::default(),
                    after: Cost::default(),
                });
                changes.len() - 1
            });
            let change = &mut changes[place];
            *(if later {
                &mut change.after
            } else {
                &mut change.before
            }) = cost(&row);
        }
    }
    let methods: Vec<Method> = changes.iter().map(|change| change.method.clone()).collect();
    for (change, name) in changes.iter_mut().zip(names(&methods)) {
        change.name = printable(&name).into_owned();
    }
    let quantity = Quantity::of(options.sort, a.timing);
    changes.sort_by(|a, b| {
        let sizes = [a, b].map(|change| quantity.growth(change).size.unwrap_or(0.0).abs());
        let sizes = match options.sort {
            Sort::Name => std::cmp::Ordering::Equal,
            _ => sizes[1].total_cmp(&sizes[0]),
        };
        let calls = || b.calls().abs().cmp(&a.calls().abs());
        let by_name = a.name.cmp(&b.name);
        match options.sort {
            Sort::Name => by_name,
            _ => sizes.then_with(calls).then(by_name),
        }
    });
    changes.truncate(options.top.unwrap_or(usize::MAX));
    Ok(changes)
}

fn cost(row: &Row) -> Cost {
    Cost {
        calls: row.calls,
        self_ns: row.own_ns(),
        total_ns: row.whole_ns(),
        timed_calls: row.timed_calls,
        mean_ns: row.mean_ns(),
        self_error_ns: row.self_error_ns(),
        total_error_ns: row.total_error_ns(),
        total_is_bound: row.total_is_bound,
    }
}

/// What is compared.
#[derive(Clone, Copy, PartialEq)]
enum Quantity {
    SelfTime,
    Total,
    Calls,
    Mean,
}

impl Quantity {
    fn of(sort: Sort, timing: Timing) -> Quantity {
        match sort {
            _ if timing == Timing::Count => Quantity::Calls,
            Sort::SelfTime | Sort::Name => Quantity::SelfTime,
            Sort::Total => Quantity::Total,
            Sort::Calls => Quantity::Calls,
            Sort::Mean => Quantity::Mean,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Quantity::SelfTime => "self",
            Quantity::Total => "total",
            Quantity::Calls => "calls",
            Quantity::Mean => "mean",
        }
    }

    fn value(self, cost: &Cost) -> Option<f64> {
        match self {
            Quantity::SelfTime => cost.self_ns,
            Quantity::Total => cost.total_ns,
            Quantity::Calls => Some(cost.calls as f64),
            Quantity::Mean => cost.mean_ns,
        }
    }

    /// Standard error.
    fn error(self, cost: &Cost) -> f64 {
        match self {
            Quantity::SelfTime => cost.self_error_ns,
            Quantity::Total => cost.total_error_ns,
            Quantity::Calls => 0.0,
            Quantity::Mean => cost.total_error_ns / cost.timed_calls.max(1) as f64,
        }
    }

    /// What a value is of the true one.
    fn mark(self, cost: &Cost) -> &'static str {
        let is_partial = cost.timed_calls < cost.calls;
        match self {
            Quantity::SelfTime => mark(false, is_partial),
            Quantity::Total => mark(cost.total_is_bound, is_partial),
            Quantity::Calls => "",
            Quantity::Mean => mark(cost.total_is_bound, false),
        }
    }

    fn growth(self, change: &Change) -> Growth {
        let of = |cost: &Cost| (self.value(cost), self.error(cost));
        Growth::of(of(&change.before), of(&change.after))
    }
}

/// What a value grew by.
#[derive(Clone, Copy)]
struct Growth {
    before: Option<f64>,
    /// `None` if one of the values is unknown.
    size: Option<f64>,
    /// Standard error of `size`.
    error: f64,
}

impl Growth {
    /// Of values and their standard errors.
    fn of(before: (Option<f64>, f64), after: (Option<f64>, f64)) -> Growth {
        Growth {
            before: before.0,
            size: after.0.zip(before.0).map(|(after, before)| after - before),
            error: before.1.hypot(after.1),
        }
    }

    /// With its sign, and `~` within twice the standard error; `number` writes a size.
    fn told(self, number: impl Fn(f64) -> String) -> String {
        let Some(size) = self.size else {
            return UNKNOWN.to_owned();
        };
        let is_noise = size != 0.0 && size.abs() <= 2.0 * self.error;
        let mark = if is_noise { "~" } else { "" };
        format!("{mark}{}", signed(size, number(size.abs())))
    }

    /// In percent of what it was.
    fn percent(self) -> String {
        let Some((size, before)) = self.size.zip(self.before) else {
            return String::new();
        };
        match 100.0 * size / before {
            percent if percent.is_finite() => format!("{percent:+.1}"),
            _ if size > 0.0 => "new".to_owned(),
            _ => String::new(),
        }
    }
}

/// Writes changes as a table of what [`Options::sort`] names, of self time for
/// `name`, of calls where `timing` says that nothing was timed; `~` marks
/// changes within sampling error.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    changes: &[Change],
    timing: Timing,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let quantity = Quantity::of(options.sort, timing);
    let values = |c: &Change| [quantity.value(&c.before), quantity.value(&c.after)];
    let known = changes.iter().flat_map(values).flatten();
    let unit = Unit::for_largest(known.fold(0.0, f64::max), units::Quantity::Time);
    let counts = quantity == Quantity::Calls;
    let number = |value: f64| match counts {
        true => units::decimal(value, 0),
        false => unit.number(value),
    };
    if changes.is_empty() {
        return writeln!(out, "No instrumented method was called in either profile");
    }
    let title = |what: &str| match counts {
        true => what.to_owned(),
        false => format!("{what}, {}", unit.name),
    };
    let cells = |cell: &dyn Fn(&Change) -> String| changes.iter().map(cell).collect::<Vec<_>>();
    let cost = |cost: &Cost| {
        let number = |value| format!("{}{}", quantity.mark(cost), number(value));
        quantity.value(cost).map_or(UNKNOWN.to_owned(), number)
    };
    let grown = |change: &Change| quantity.growth(change).told(number);
    let calls = |change: &Change| {
        let calls = change.calls();
        let digits = units::count(u64::try_from(calls.unsigned_abs()).unwrap_or(u64::MAX));
        signed(calls as f64, digits)
    };
    let what = quantity.title();
    let mut columns = vec![
        Column::new(
            &title(&format!("{what} before")),
            0,
            cells(&|c| cost(&c.before)),
        ),
        Column::new(
            &title(&format!("{what} after")),
            0,
            cells(&|c| cost(&c.after)),
        ),
        Column::new(&title("change"), 0, cells(&grown)),
        Column::new("%", 1, cells(&|c| quantity.growth(c).percent())),
    ];
    if !counts {
        columns.push(Column::new("change of calls", 2, cells(&calls)));
    }
    let names: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
    let columns = fitted(columns, &names, options.width);
    text_table(&columns, "method", &names, options.width, out)
}

/// Writes changes as JSON, version 1: see `docs/profile.md`.
///
/// # Errors
///
/// Those of `out`.
pub fn write_json(
    changes: &[Change],
    [before, after]: [&Profile; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    let whole = |ns: f64| ns.round() as u64;
    let cost = |cost: &Cost| {
        json!({
            "calls": cost.calls,
            "self_ns": cost.self_ns.map(whole),
            "total_ns": cost.total_ns.map(whole),
            "timed_calls": cost.timed_calls,
            "mean_ns": cost.mean_ns.map(whole),
            "self_error_ns": cost.self_ns.map(|_| whole(cost.self_error_ns)),
            "total_error_ns": cost.total_ns.map(|_| whole(cost.total_error_ns)),
            "total_is_bound": cost.total_is_bound,
        })
    };
    let method = |change: &Change| {
        json!({
            "class": &*change.method.class,
            "method": &*change.method.name,
            "descriptor": &*change.method.descriptor,
            "loader": &*change.method.loader,
            "before": cost(&change.before),
            "after": cost(&change.after),
        })
    };
    let file = json!({
        "version": 1,
        "before": before.header,
        "after": after.header,
        "measure": "time",
        "methods": changes.iter().map(method).collect::<Vec<_>>(),
    });
    writeln!(out, "{file}")
}

fn signed(value: f64, digits: String) -> String {
    match value {
        0.0 => digits,
        ..0.0 => format!("-{digits}"),
        _ => format!("+{digits}"),
    }
}
