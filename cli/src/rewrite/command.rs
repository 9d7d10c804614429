//! The command itself: rewrites the inputs, moves the outputs to their paths, and prints the
//! summary.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use loadhook_offline::{Detail, Error, Offline, Progress};
use loadhook_text::JsonWriter;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::args::{RewriteArgs, TrackerOption};
use super::inputs::{Input, Kind, inputs};
use super::java::Java;
use super::plan::plan;
use super::staged::Staged;
use super::usage_error::UsageError;
use super::verify::{self, Verified};
use super::{progress, summary};
use crate::input;
use crate::output::{USUAL, check_writable, say, write_beside};

/// Runs the command.
pub(crate) fn run(args: &RewriteArgs) -> Result<ExitCode> {
    match rewrite(args) {
        Err(error) if error.is::<UsageError>() => {
            say!("error: {error:#}");
            Ok(ExitCode::from(2))
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::Interrupted)) => {
            say!("interrupted; files not finished yet are unchanged");
            Ok(ExitCode::from(130))
        }
        other => other.map(|()| ExitCode::SUCCESS),
    }
}

fn rewrite(args: &RewriteArgs) -> Result<()> {
    let inputs = inputs(&args.inputs, &args.output, args.quiet)?;
    let plan = plan(args, &inputs)?;
    let tracker_jar = tracker_jar(args)?;
    if let Some(jobs) = args.jobs {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(jobs));
        pool.build_global().context("--jobs")?;
    }
    let progress = Progress::default();
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, progress.stop.clone())
            .context("cannot handle signals")?;
    }
    let started = Instant::now();
    let detail = Detail {
        ids: args.json,
        names: args.json || args.verbose,
    };
    let mut offline = Offline::new(&plan, detail, &progress);
    let total = inputs.iter().map(Input::bytes).sum();
    let mut staged: Vec<Staged<'_>> = Vec::new();
    progress::shown(args.quiet, &progress, total, || -> Result<()> {
        for input in &inputs {
            match rewrite_input(args, &mut offline, input)? {
                Some(output) if args.verify => staged.push(output),
                Some(output) => output.put(args.quiet, &progress)?,
                None => {}
            }
        }
        Ok(())
    })?;
    let took = started.elapsed();
    let mut verified = None;
    if args.verify {
        let results = verify::verify(&staged, &plan, args.quiet, &progress, Java::find())?;
        verified = Some(results);
        for output in staged {
            output.put(args.quiet, &progress)?;
        }
    }
    if let Some((path, jar)) = tracker_jar {
        write_beside(path, &jar, USUAL)?;
    }
    let unmatched = offline.unmatched();
    let tally = offline.tally();
    if args.json {
        let mut json = summary::json(tally, &unmatched);
        if let Some(verified) = &verified {
            json["verified"] = verified.json();
        }
        writeln!(JsonWriter(std::io::stdout()), "{json:#}")
            .context("cannot write to standard output")?;
    }
    if !args.quiet {
        summary::print(args, &plan, tally, &unmatched, took);
        verified.iter().for_each(Verified::print);
    }
    Ok(())
}

/// Makes the tracker's jar, and checks early that it can be written at the end.
fn tracker_jar(args: &RewriteArgs) -> Result<Option<(&Path, Vec<u8>)>> {
    let (Some(TrackerOption::Jar(path)), false) = (&args.tracker, args.dry_run) else {
        return Ok(None);
    };
    check_writable(path)?;
    Ok(Some((path, loadhook_offline::tracker_jar()?)))
}

/// Rewrites an input. Returns the output if it still has to be moved to its path.
fn rewrite_input<'i>(
    args: &RewriteArgs,
    offline: &mut Offline<'_>,
    input: &'i Input,
) -> Result<Option<Staged<'i>>> {
    let (from, to) = (&input.from, (!args.dry_run).then_some(&*input.to));
    let name = from.display().to_string();
    if let Kind::Folder(files) = &input.kind {
        let new = offline.folder(from, files, to);
        let new = new.map_err(|error| placed(error, name))?;
        return Ok(new.map(|new| Staged::folder(input, new)));
    }
    let staged = args.verify.then(|| Staged::file(input)).transpose()?;
    let to = staged.as_ref().map_or(to, |staged| Some(&staged.at));
    match input.kind {
        Kind::Class => rewrite_class(offline, &name, from, to)?,
        _ => {
            let done = offline.archive_file(&name, from, to);
            done.map_err(|error| placed(error, name))?;
        }
    }
    Ok(staged)
}

fn rewrite_class(
    offline: &mut Offline<'_>,
    name: &str,
    from: &Path,
    to: Option<&Path>,
) -> Result<()> {
    let bytes = fs::read(from).map_err(|error| input::unreadable(from, error));
    let bytes = bytes.with_context(|| name.to_owned())?;
    let rewritten = offline
        .class(name, &bytes)
        .with_context(|| name.to_owned())?;
    match to {
        Some(to) => write_beside(to, &rewritten.unwrap_or(bytes), USUAL),
        None => Ok(()),
    }
}

/// Puts the input's name before an error that does not name it.
fn placed(error: Error, name: String) -> anyhow::Error {
    match error {
        // These errors name the input themselves.
        Error::Signed(_)
        | Error::Instrumented(_)
        | Error::TooMuch { .. }
        | Error::Unreadable(_)
        | Error::Interrupted => error.into(),
        other => anyhow::Error::new(other).context(name),
    }
}
