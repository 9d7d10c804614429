//! Two profiles side by side.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::format::units::{self, Unit};
use crate::format::{Options, Sort};
use crate::model::{Method, Timing};
use crate::names::{names, shorten};
use crate::view::{Row, View};
use crate::{MergeError, Profile};

/// A method before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The method; file and line as in the later profile that has it.
    pub method: Method,
    /// Its name on screen.
    pub name: String,
    /// In the first profile; zeros if it was not called.
    pub before: Cost,
    /// In the second profile; zeros if it was not called.
    pub after: Cost,
}

/// What a method cost in one profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Exact.
    pub calls: u64,
    /// Nanoseconds.
    pub self_ns: f64,
    /// Nanoseconds.
    pub total_ns: f64,
    /// Standard error of `self_ns`.
    pub self_error_ns: f64,
}

impl Change {
    /// What self time grew by, in nanoseconds; negative where it shrank.
    pub fn self_ns(&self) -> f64 {
        self.after.self_ns - self.before.self_ns
    }

    /// What calls grew by; negative where they shrank.
    pub fn calls(&self) -> i128 {
        i128::from(self.after.calls) - i128::from(self.before.calls)
    }

    /// Whether the self times differ by no more than twice the standard error of
    /// their difference.
    pub fn is_noise(&self) -> bool {
        let [a, b] = [self.before.self_error_ns, self.after.self_error_ns];
        self.self_ns().abs() <= 2.0 * a.hypot(b)
    }
}

/// Compares two profiles method by method, by [`Method::key`]. The largest
/// change of self time comes first; of calls, where nothing was timed. Options
/// choose threads, focus and number; `sort` does not apply.
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
    let mut places: HashMap<(&str, &str, &str, &str), usize> = HashMap::new();
    // The later profile first, for its files and lines.
    for (profile, later) in [(after, true), (before, false)] {
        for row in View::new(profile, options).rows(Sort::SelfTime) {
            let method = &profile.methods[row.method as usize];
            let place = *places.entry(method.key()).or_insert_with(|| {
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
        change.name = name;
    }
    changes.sort_by(|a, b| {
        let times = b.self_ns().abs().total_cmp(&a.self_ns().abs());
        let calls = || b.calls().abs().cmp(&a.calls().abs());
        times.then_with(calls).then_with(|| a.name.cmp(&b.name))
    });
    changes.truncate(options.top.unwrap_or(usize::MAX));
    Ok(changes)
}

fn cost(row: &Row) -> Cost {
    Cost {
        calls: row.calls,
        self_ns: row.self_ns,
        total_ns: row.total_ns,
        self_error_ns: row.self_error_ns(),
    }
}

/// Writes changes as a table; `~` marks those within sampling error.
///
/// # Errors
///
/// Those of `out`.
pub fn write(changes: &[Change], width: usize, out: &mut dyn Write) -> io::Result<()> {
    let largest = changes
        .iter()
        .flat_map(|c| [c.before.self_ns, c.after.self_ns]);
    let unit = Unit::for_largest(largest.fold(0.0, f64::max));
    let [before, after] = ["before", "after"].map(|when| format!("self {when}, {}", unit.name));
    let (growth, calls) = (format!("change, {}", unit.name), "change of calls");
    writeln!(
        out,
        "{before:>16} {after:>16} {growth:>13} {:>8} {calls:>16}  method",
        "%"
    )?;
    let left = width.saturating_sub(75).max(30);
    for change in changes {
        let [before, after] = [change.before.self_ns, change.after.self_ns];
        let mark = if change.is_noise() && before != after {
            "~"
        } else {
            ""
        };
        let growth = format!(
            "{mark}{}",
            signed(change.self_ns(), unit.number(change.self_ns().abs()))
        );
        let percent = match 100.0 * change.self_ns() / before {
            percent if percent.is_finite() => format!("{percent:+.1}"),
            _ if after > 0.0 => "new".to_owned(),
            _ => String::new(),
        };
        let [before, after] = [before, after].map(|ns| unit.number(ns));
        let calls = change.calls();
        let digits = units::count(u64::try_from(calls.unsigned_abs()).unwrap_or(u64::MAX));
        let calls = signed(calls as f64, digits);
        let name = shorten(&change.name, left);
        writeln!(
            out,
            "{before:>16} {after:>16} {growth:>13} {percent:>8} {calls:>16}  {name}"
        )?;
    }
    Ok(())
}

fn signed(value: f64, digits: String) -> String {
    match value {
        0.0 => digits,
        ..0.0 => format!("-{digits}"),
        _ => format!("+{digits}"),
    }
}
