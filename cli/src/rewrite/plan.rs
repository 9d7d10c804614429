//! Makes the plan of a rewriting from the arguments.

use std::path::{Path, PathBuf};

use anyhow::Result;
use loadhook_instrument::CallProbes;
use loadhook_offline::{Plan, Tracker};
use loadhook_settings::Filter;

use super::args::{ProbeFamily, RewriteArgs, TrackerOption};
use super::inputs::{Input, Kind, real};
use super::usage_error::usage_error;

/// Makes the plan, and checks that the arguments are compatible with each other and with the
/// inputs.
pub(super) fn plan(args: &RewriteArgs, inputs: &[Input]) -> Result<Plan> {
    let filter = filter(args)?;
    let tracker = tracker(args, inputs)?;
    if let Some(TrackerOption::Jar(path)) = &args.tracker {
        check_jar(path, inputs)?;
    }
    let has = |family| args.probes.contains(&family);
    let has_object_probes = has(ProbeFamily::Alloc) || has(ProbeFamily::Object);
    if has_object_probes && tracker != Tracker::None {
        let line = "--probes alloc and object need your own tracker; add --tracker none";
        return usage_error(line.to_owned());
    }
    if has(ProbeFamily::Timing) && has(ProbeFamily::Count) {
        let line = "--probes timing counts calls, too; leave out timing or count";
        return usage_error(line.to_owned());
    }
    let mut plan = Plan::new(filter);
    plan.selection.calls = if has(ProbeFamily::Timing) {
        Some(CallProbes::Timing)
    } else if has(ProbeFamily::Count) {
        Some(CallProbes::Count)
    } else {
        None
    };
    plan.selection.allocations = has(ProbeFamily::Alloc);
    plan.selection.objects = has(ProbeFamily::Object);
    plan.selection.all = args.all;
    plan.tracker = tracker;
    plan.strip_signatures = args.strip_signatures;
    plan.skip_instrumented = args.skip_instrumented;
    plan.strict = args.strict;
    plan.most_entry = args.max_entry << 20;
    plan.most_total = args.max_total.map(|most| most << 20);
    Ok(plan)
}

/// Returns the filter of `--include` and `--exclude`.
fn filter(args: &RewriteArgs) -> Result<Filter> {
    let mut filter = Filter::new();
    for list in &args.include {
        let added = filter.include(list);
        added.or_else(|error| usage_error(format!("--include: {error}")))?;
    }
    for list in &args.exclude {
        let added = filter.exclude(list);
        added.or_else(|error| usage_error(format!("--exclude: {error}")))?;
    }
    Ok(filter)
}

/// Returns the location of the tracker. Only archives and folders can contain a tracker, or use
/// one in a jar.
fn tracker(args: &RewriteArgs, inputs: &[Input]) -> Result<Tracker> {
    let is_class = |input: &&Input| matches!(input.kind, Kind::Class);
    match (&args.tracker, inputs.iter().find(is_class)) {
        (Some(TrackerOption::None), _) => Ok(Tracker::None),
        (None, Some(_)) if inputs.iter().all(|input| is_class(&input)) => Ok(Tracker::None),
        (_, Some(class)) => usage_error(format!(
            "{}: a single class file cannot contain a tracker; rewrite its folder, or add --tracker none",
            class.from.display()
        )),
        (Some(TrackerOption::Jar(_)), None) => Ok(Tracker::Jar),
        (None | Some(TrackerOption::Embed), None) => Ok(Tracker::Embed),
    }
}

/// Checks that the tracker's jar would not replace an input or output.
fn check_jar(path: &Path, inputs: &[Input]) -> Result<()> {
    let is_same = |other: &PathBuf| real(other).ok() == real(path).ok();
    let replaced = inputs
        .iter()
        .find(|input| is_same(&input.to) || is_same(&input.from));
    let Some(input) = replaced else {
        return Ok(());
    };
    usage_error(format!(
        "{}: the tracker jar would replace {}; choose another path in --tracker jar:PATH",
        path.display(),
        input.from.display()
    ))
}
