//! The command: reads the profiles, checks the arguments, writes the report.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use loadhook_profile::analysis::diff;
use loadhook_profile::format::diff as diff_format;
use loadhook_profile::format::{
    Explain, Format, Options, Sort, difference_page, write_latencies, write_waiting,
};
use loadhook_profile::{Measure, Method, Profile};
use loadhook_text::terminal::columns;

use super::args::ReportArgs;
use super::focus::Focus;
use super::read::read;
use super::threads::ThreadFilter;
use crate::output::{PRIVATE, can_grey, write_beside};

/// The width of a table that is not written to a terminal.
pub(crate) const COLUMNS: usize = 100;

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    let focus = Focus::parse(&args.focus)?;
    if args.diff {
        args.first_side()?;
        if !matches!(args.format, Format::Table | Format::Json | Format::Html) {
            bail!("--diff works only with --format table, json or html");
        }
    } else if args.all_files().count() > 1 && !args.merge {
        bail!("several profiles: add --merge to sum them, or --diff to compare them");
    }
    args.refuse_options_behind_dashes()?;
    args.refuse_options_without_effect()?;
    args.refuse_to_replace_profiles()?;
    let profiles: Vec<Profile> = args.all_files().map(|f| read(f)).collect::<Result<_>>()?;
    let is_focused = |method: &Method| focus.matches(method);
    let threads = args.thread.as_deref().map(ThreadFilter::new);
    let is_chosen = |name: &str| threads.as_ref().is_none_or(|filter| filter.matches(name));
    let measure = args.measure(&profiles)?;
    args.refuse_orders_without_values(measure, &profiles)?;
    args.refuse_waiting_without_samples(&profiles)?;
    args.refuse_latencies_without_durations(&profiles)?;
    if let Some(threads) = &threads {
        threads.check(&profiles)?;
    }
    let options = Options {
        measure,
        sort: match &args.sort {
            Some(word) => word.sort,
            None if args.diff && args.sorts_by_calls(measure) => Sort::Calls,
            None => Sort::default(),
        },
        top: args.top,
        focus: (!args.focus.is_empty()).then_some(&is_focused as &dyn Fn(&Method) -> bool),
        thread: args
            .thread
            .is_some()
            .then_some(&is_chosen as &dyn Fn(&str) -> bool),
        width: columns(io::stdout(), COLUMNS),
        explain: match (args.explain, &args.output) {
            (false, _) => Explain::No,
            (true, None) => Explain::Classes,
            (true, Some(_)) => Explain::Methods,
        },
        grey: args.output.is_none() && can_grey(io::stdout()),
        ..Options::default()
    };
    args.warn(&profiles, &options);
    if args.diff {
        args.warn_of_unfinished_programs(&profiles);
    }
    let report = write(args, &profiles, &options)?;
    match &args.output {
        Some(file) => write_beside(file, &report, PRIVATE),
        None => {
            let mut out = io::stdout().lock();
            let written = out.write_all(&report).and_then(|()| out.flush());
            written.context("cannot write to standard output")
        }
    }
}

/// Makes the whole report before anything is written, so that nothing is written if this fails.
fn write(args: &ReportArgs, profiles: &[Profile], options: &Options<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if args.diff {
        let sides = profiles.split_at(args.first_side()?);
        compare(sides.into(), args.format, options, &mut bytes)?;
        return Ok(bytes);
    }
    let merged;
    let profile = match profiles {
        [profile] => profile,
        several => {
            merged = loadhook_profile::merge(several)?;
            &merged
        }
    };
    let written = if args.waiting {
        write_waiting(profile, options, &mut bytes)
    } else if args.latencies {
        write_latencies(profile, options, &mut bytes)
    } else {
        args.format.write(profile, options, &mut bytes)
    };
    // Writing to a vector cannot fail, so an error means that the format refused
    // the profile.
    written.with_context(|| format!("--format {}", args.format.as_str()))?;
    Ok(bytes)
}

/// Writes the differences of the second side from the first.
fn compare(
    sides: [&[Profile]; 2],
    format: Format,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if format == Format::Html {
        let [before, after] = sides;
        let page = difference_page(before, after, options)?;
        return Ok(page.write(out)?);
    }
    if options.measure == Some(Measure::Time) {
        let compared = diff::methods::compare(sides, options)?;
        match format {
            Format::Json => diff_format::methods::write_json(&compared, options, out)?,
            _ => diff_format::methods::write(&compared, options, out)?,
        }
    } else {
        let compared = diff::allocations::compare(sides, options)?;
        match format {
            Format::Json => diff_format::allocations::write_json(&compared, options, out)?,
            _ => diff_format::allocations::write(&compared, options, out)?,
        }
    }
    Ok(())
}
