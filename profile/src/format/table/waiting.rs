//! The table of places where threads waited.

use std::io::{self, Write};

use super::columns::{Column, fitted, text_table};
use super::methods::{nothing, program};
use crate::analysis::options::Options;
use crate::analysis::view::View;
use crate::analysis::waiting_places::{WaitingPlace, waiting_places};
use crate::model::Profile;
use loadhook_text::java::shorten;
use loadhook_text::units;
use loadhook_text::width::joined;

/// Width of the innermost method, in columns.
const INNERMOST: usize = 24;

/// Writes the places where threads waited and the reasons, from a profile of samples: see `docs/user/times.md`.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn write_waiting(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::of_calls(profile, options);
    program(profile, options, out)?;
    let places = waiting_places(&view);
    let whole: f64 = places.iter().map(|place| place.ns).sum();
    if places.is_empty() {
        return writeln!(out, "{}", no_waiting(&view, options));
    }
    let facts = [
        format!("{} of waiting in {}", units::time(whole), view.threads()),
        format!("{} on a processor", units::time(view.whole)),
        format!(
            "{} elapsed",
            units::time(profile.header.watched_ns() as f64)
        ),
    ];
    writeln!(out, "{}\n", joined(&facts, options.width))?;
    let shown = &places[..places.len().min(options.top.unwrap_or(usize::MAX))];
    let cells = |cell: &dyn Fn(&WaitingPlace) -> String| shown.iter().map(cell).collect();
    let innermost = |place: &WaitingPlace| {
        if place.innermost == place.method {
            String::new()
        } else {
            shorten(&without_package(&view, place.innermost), INNERMOST)
        }
    };
    let columns = vec![
        Column::new("waiting", 0, cells(&|place| units::time(place.ns))),
        Column::new(
            "%",
            2,
            cells(&|place| format!("{:.1} %", 100.0 * place.ns / whole)),
        ),
        Column::new("for", 0, cells(&|place| place.reason.to_owned())),
        Column::new("in", 1, cells(&innermost)),
    ];
    let names: Vec<String> = shown.iter().map(|place| view.shown(place.method)).collect();
    let columns = fitted(columns, &names, options.width);
    text_table(&columns, "method", &names, options.width, out)?;
    let left = places.len() - shown.len();
    if left > 0 {
        let places = units::counted(left as u64, "more place", "more places");
        writeln!(out, "      {places}")?;
    }
    Ok(())
}

/// Returns the name of a method without the package of its class.
fn without_package(view: &View<'_>, method: u32) -> String {
    let name = &view.names[method as usize];
    let class = &view.methods[method as usize].class;
    let package = class.rfind('.').map_or(0, |dot| dot + 1);
    name.get(package..).unwrap_or(name).to_owned()
}

/// Returns the line in place of a table that would have no row.
fn no_waiting(view: &View<'_>, options: &Options<'_>) -> &'static str {
    let sampling = view.profile.sampling;
    if sampling.is_some_and(|sampling| sampling.wall_interval_ns == 0) {
        "Waiting was not sampled; run again with --clock wall"
    } else if view.trees.is_empty() {
        nothing(view, options)
    } else {
        "No waiting thread was sampled"
    }
}
