//! The page of differences: the graph of the present profile, coloured by how it differs from the
//! earlier one.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use serde_json::{Value, json};

use super::lanes::{Lane, overlay};
use super::page::fill_profile_page;
use super::profile::{header, methods, names_nothing, sampling_facts, threads};
use crate::analysis::measure::Measure;
use crate::analysis::method_matching::{Key, Matching};
use crate::analysis::method_names::names;
use crate::analysis::options::Options;
use crate::analysis::view::View;
use crate::analysis::{MergeError, merge};
use crate::model::{Method, Profile, Timing};
use loadhook_text::printable;

/// Returns the page that shows how `after` differs from `before`, for [`Options::measure`]. The page shows the mean
/// of the runs of each side. Methods match as in [`merge`](crate::merge()), threads by name and kind.
///
/// # Errors
///
/// Fails if the profiles cannot be compared, or if the profiles of one side cannot be added up.
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
    if (a.timing == Timing::Sampled) != (b.timing == Timing::Sampled) {
        return Err(MergeError::Samples);
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
    let options = &Options {
        measure: Some(measure),
        ..*options
    };
    let views = [&before, &after].map(|profile| View::new(profile, options));
    Ok(Page(data(&views, runs, options)))
}

/// A page that is complete and can be written.
#[derive(Debug)]
pub struct Page(Value);

impl Page {
    /// Writes the page.
    ///
    /// # Errors
    ///
    /// Fails if writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        fill_profile_page(&json!([self.0]), out)
    }
}

fn data(views: &[View<'_>; 2], runs: [usize; 2], options: &Options<'_>) -> Value {
    let (all, numbers) = common(views);
    let [before, after] = views;
    let mut sides = [before, after].map(|view| Lane::all(view, names_nothing(options)));
    for ((lanes, runs), numbers) in sides.iter_mut().zip(runs).zip(&numbers) {
        for lane in lanes {
            lane.share(runs.max(1), numbers);
        }
    }
    let lanes = overlay(&sides[0], &sides[1]);
    let (threads, left_out) = threads(&lanes, after.counts_only(), true, options.top);
    let names: Vec<String> = names(&all)
        .iter()
        .map(|name| printable(name).into_owned())
        .collect();
    json!({
        "header": header(after),
        "difference": { "before": header(before), "runs": runs },
        "counts": after.counts_only(),
        "sampled": after.is_sampled(),
        "samplingFacts": sampling_facts(after),
        // A page of differences has no counted calls. The table of `--diff` has them.
        "methodCalls": Vec::<(u32, u64, Option<u64>, Option<u64>)>::new(),
        "partlyCounted": partly_counted(views, &numbers),
        "measure": after.measure.as_str(),
        "sort": options.sort.as_str(),
        "whole": (after.whole / runs[1].max(1) as f64).round(),
        "leftOut": left_out,
        "unsized": Vec::<String>::new(),
        "methods": methods(&all, &names),
        "threads": threads,
        "threadsText": after.threads(),
        "sums": [Vec::<String>::new(), Vec::<String>::new()],
    })
}

/// Returns the methods whose calls are not all in the trees, because they lost probes on a side. `numbers` are the
/// methods of each side as numbers in the page.
fn partly_counted(views: &[View<'_>; 2], numbers: &[Vec<u32>; 2]) -> BTreeSet<u32> {
    let sides = views.iter().zip(numbers);
    let of_side = |(view, numbers): (&View<'_>, &Vec<u32>)| -> Vec<u32> {
        let lost = view.counted_since.keys().chain(view.counted_until.keys());
        lost.map(|method| numbers[*method as usize]).collect()
    };
    // A page of samples has no calls.
    let sides = sides.filter(|(view, _)| !view.is_sampled());
    sides.flat_map(of_side).collect()
}

/// Returns the methods of both sides, each once, with their present file and line. Also returns,
/// for each side, the index in this list of each of its methods.
fn common<'v>(views: &'v [View<'_>; 2]) -> (Vec<Method>, [Vec<u32>; 2]) {
    let matching = Matching::of(views.iter().map(|view| &*view.methods));
    let mut all = Vec::new();
    let mut places: HashMap<Key<'_>, u32> = HashMap::new();
    let [before, after] = views;
    let [now, earlier] = [after, before].map(|view| {
        let number = |method: &'v Method| {
            *places.entry(matching.key(method)).or_insert_with(|| {
                all.push(method.clone());
                all.len() as u32 - 1
            })
        };
        view.methods.iter().map(number).collect()
    });
    (all, [earlier, now])
}
