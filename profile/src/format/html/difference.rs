//! The page of differences: the graph of what is now, coloured by what it was before.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::lanes::{Lane, overlay};
use super::page::fill_profile_page;
use super::profile::{header, methods, threads};
use crate::analysis::allocation_tree::as_calls;
use crate::analysis::measure::Measure;
use crate::analysis::method_matching::{Key, Matching};
use crate::analysis::method_names::names;
use crate::analysis::options::Options;
use crate::analysis::view::View;
use crate::analysis::{MergeError, merge};
use crate::model::{Method, Profile, Timing};
use loadhook_text::printable;

/// The page that shows how `after` differs from `before`, for [`Options::measure`]. Of several runs
/// a side it shows the mean; methods match as in [`merge`](crate::merge()), threads by name and kind.
///
/// # Errors
///
/// Profiles that cannot be compared, or those of one side that cannot be added up.
pub fn difference_page(
    before: &[Profile],
    after: &[Profile],
    options: &Options<'_>,
) -> Result<Page, MergeError> {
    let runs = [before.len(), after.len()];
    let [before, after] = [merge(before)?, merge(after)?];
    let [a, b] = [&before.header, &after.header];
    if a.clock != b.clock {
        return Err(MergeError::Clocks);
    }
    if (a.timing == Timing::Count) != (b.timing == Timing::Count) {
        return Err(MergeError::Timings);
    }
    let measure = options.measure.unwrap_or(Measure::of(&after));
    if let (false, Some(a), Some(b)) = (
        measure == Measure::Time,
        &before.allocations,
        &after.allocations,
    ) && !a.seen.is_alike(b.seen)
    {
        return Err(MergeError::Allocations);
    }
    let weighed = |profile: Profile| match measure {
        Measure::Time => profile,
        Measure::Allocated | Measure::Live => as_calls(&profile, measure),
    };
    let pair = [before, after].map(weighed);
    Ok(Page(data([&pair[0], &pair[1]], runs, measure, options)))
}

/// A page that is ready to be written.
#[derive(Debug)]
pub struct Page(Value);

impl Page {
    /// Writes the page.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        fill_profile_page(&json!([self.0]), out)
    }
}

fn data(pair: [&Profile; 2], runs: [usize; 2], measure: Measure, options: &Options<'_>) -> Value {
    let options = &Options {
        measure: Some(measure),
        ..*options
    };
    let (all, numbers) = common(pair);
    let [before, after] = pair;
    let view = View::new(after, options);
    let mut sides = [Lane::all(&View::new(before, options)), Lane::all(&view)];
    for ((lanes, runs), numbers) in sides.iter_mut().zip(runs).zip(&numbers) {
        for lane in lanes {
            lane.share(runs.max(1), numbers);
        }
    }
    let lanes = overlay(&sides[0], &sides[1]);
    let (threads, left_out) = threads(&lanes, view.counts_only(), true, options.top);
    let names: Vec<String> = names(&all)
        .iter()
        .map(|name| printable(name).into_owned())
        .collect();
    json!({
        "header": header(after),
        "difference": { "before": header(before), "runs": runs },
        "counts": view.counts_only(),
        "measure": measure.as_str(),
        "sort": options.sort.as_str(),
        "whole": (view.whole / runs[1].max(1) as f64).round(),
        "leftOut": left_out,
        "unsized": Vec::<String>::new(),
        "methods": methods(&all, &names),
        "threads": threads,
        "threadsText": view.threads(),
    })
}

/// The methods of both sides, each once, with file and line as they are now; and for each
/// side the numbers that its own methods have among them.
fn common(pair: [&Profile; 2]) -> (Vec<Method>, [Vec<u32>; 2]) {
    let matching = Matching::of(pair.into_iter());
    let mut all = Vec::new();
    let mut places: HashMap<Key<'_>, u32> = HashMap::new();
    let [before, after] = pair;
    let [now, earlier] = [after, before].map(|profile| {
        let number = |method| {
            *places.entry(matching.key(method)).or_insert_with(|| {
                all.push(method.clone());
                all.len() as u32 - 1
            })
        };
        profile.methods.iter().map(number).collect()
    });
    (all, [earlier, now])
}
