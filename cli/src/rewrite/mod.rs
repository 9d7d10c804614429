//! `loadhook rewrite`: instruments classes on disk.

mod chooser;
mod jobs;
mod summary;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use loadhook_rewrite::{Filter, Options, Outcome, Rewriter};
use rayon::prelude::*;

use self::chooser::Chooser;
use self::jobs::{Job, jobs};
use self::summary::Summary;
use crate::output::{USUAL, write_beside};

/// Files read, rewritten and written together: reading and writing use all
/// cores, rewriting, which is faster than both, keeps the order of ids.
const BATCH: usize = 256;

/// What to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProbeFamily {
    /// Method entry, exit and handlers
    Timing,
    /// Every `new` and array creation, by site
    Alloc,
    /// Every new object and array, passed itself
    Object,
}

/// Where the tracker comes from that the probes call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tracker {
    /// You put a class `loadhook.Tracker` on the class path
    None,
}

/// Arguments of `loadhook rewrite`.
#[derive(Debug, Args)]
pub(crate) struct RewriteArgs {
    /// A class file, or a folder of them
    input: PathBuf,

    /// Where to write: a file, or a folder for a folder
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Instrument only what these patterns name, as com.example.** or
    /// com.example.Service::handle*
    #[arg(long, value_name = "PATTERNS")]
    include: Vec<String>,

    /// Leave out what these patterns name
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<String>,

    /// What to insert
    #[arg(long, value_enum, value_delimiter = ',', default_value = "timing")]
    probes: Vec<ProbeFamily>,

    /// Where the tracker comes from
    #[arg(long, value_enum, default_value = "none")]
    tracker: Tracker,

    /// Instrument trivial methods too: at most 24 instructions, no call, no
    /// loop
    #[arg(long)]
    all: bool,

    /// Print the summary as JSON on standard output, with the methods and
    /// sites that the ids stand for
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(args: &RewriteArgs) -> Result<()> {
    let mut filter = Filter::new();
    for list in &args.include {
        filter.include(list).context("--include")?;
    }
    for list in &args.exclude {
        filter.exclude(list).context("--exclude")?;
    }
    let jobs = jobs(&args.input, &args.output)?;
    let mut chooser = Chooser {
        filter,
        probes: args.probes.clone(),
        all: args.all,
        trivial: 0,
        methods: Vec::new(),
        sites: Vec::new(),
        remember: args.json,
        next_method: 0,
        next_site: 0,
        staged_methods: Vec::new(),
        staged_sites: Vec::new(),
    };
    let mut rewriter = Rewriter::new(Options::default());
    let mut summary = Summary::default();
    for batch in jobs.chunks(BATCH) {
        let read: Vec<_> = batch
            .par_iter()
            .map(|job| fs::read(&job.from).with_context(|| job.from.display().to_string()))
            .collect::<Result<_>>()?;
        let rewritten: Vec<Vec<u8>> = batch
            .iter()
            .zip(read)
            .map(|(job, bytes)| job.rewrite(bytes, &mut rewriter, &mut chooser, &mut summary))
            .collect::<Result<_>>()?;
        batch
            .par_iter()
            .zip(&rewritten)
            .try_for_each(|(job, bytes)| write_beside(&job.to, bytes, USUAL))?;
    }
    if args.json {
        writeln!(std::io::stdout(), "{:#}", summary.json(&chooser))?;
    }
    if !args.quiet {
        summary.print(&chooser, args);
    }
    Ok(())
}

impl Job {
    /// The bytes to write for `bytes`.
    fn rewrite(
        &self,
        bytes: Vec<u8>,
        rewriter: &mut Rewriter,
        chooser: &mut Chooser,
        summary: &mut Summary,
    ) -> Result<Vec<u8>> {
        let is_class = self.from.extension().is_some_and(|e| e == "class");
        if !is_class && !self.alone {
            summary.other_files += 1;
            return Ok(bytes);
        }
        summary.classes += 1;
        let outcome = rewriter.rewrite(&bytes, chooser, |len| Some(vec![0; len]));
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) if self.alone => bail!("{}: {error}", self.name),
            Err(error) => {
                summary.unreadable.push(format!("{}: {error}", self.name));
                return Ok(bytes);
            }
        };
        let left_alone = &rewriter.report().left_alone;
        chooser.commit(|method| !left_alone.iter().any(|left| left.method == method));
        summary.count(&self.name, &bytes, rewriter);
        Ok(match outcome {
            Outcome::Unchanged => bytes,
            Outcome::Rewritten(rewritten) => {
                summary.rewritten += 1;
                rewritten
            }
        })
    }
}
