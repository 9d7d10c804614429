//! `loadhook run`: a program under the agent, and the table at its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use loadhook_profile::format::{Format, Options, pprof};
use loadhook_rewrite::Filter;

use crate::launch::{self, Launch};
use crate::output::{say, write_beside};
use crate::report;

/// How calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Timing {
    /// Every call counted, short ones timed at random
    Adaptive,
    /// Every call counted and timed
    Exact,
    /// Every call counted, none timed
    Count,
}

/// What time calls are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Clock {
    /// Time on the clock
    Wall,
    /// Processor time of the thread
    Cpu,
}

/// Arguments of `loadhook run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Instrument only what these patterns name, as com.example.** or
    /// com.example.Service::handle* (default: all that is not the JDK's)
    #[arg(long, value_name = "PATTERNS")]
    include: Vec<String>,

    /// Leave out what these patterns name
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<String>,

    /// Patterns to include, one a line
    #[arg(long, value_name = "FILE")]
    include_file: Vec<PathBuf>,

    /// Instrument trivial methods too: at most 24 instructions, no call, no
    /// loop
    #[arg(long)]
    all: bool,

    /// How calls are timed
    #[arg(long, value_enum, default_value = "adaptive")]
    timing: Timing,

    /// What time calls are charged
    #[arg(long, value_enum, default_value = "wall")]
    clock: Clock,

    /// Most nodes of the call tree
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    max_nodes: u32,

    /// The profile to write; %p is the process id
    #[arg(short, long, value_name = "FILE", default_value = "loadhook-%p.pb.gz")]
    output: PathBuf,

    /// Write a page with flame graph, table and tree too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the profile so often too, as 10s: a killed JVM leaves the last one
    #[arg(long, value_name = "TIME")]
    snapshot_every: Option<String>,

    /// List the methods that were left alone
    #[arg(long)]
    explain: bool,

    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    /// The command to run: java and its arguments, or a script that starts it
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl RunArgs {
    /// The agent's options. `manifest` is where each process names its
    /// profile.
    fn agent_options(&self, manifest: &Path) -> Result<String> {
        let mut items = Vec::new();
        let mut add = |key: &str, value: &str| -> Result<()> {
            if value.contains(',') {
                bail!("{key}: the agent's options cannot hold a comma: {value}");
            }
            items.push(format!("{key}={value}"));
            Ok(())
        };
        // Read here only for their faults: they are shown before the JVM starts.
        let mut filter = Filter::new();
        for list in &self.include {
            filter.include(list).context("--include")?;
            list.split(',').try_for_each(|p| add("include", p))?;
        }
        for list in &self.exclude {
            filter.exclude(list).context("--exclude")?;
            list.split(',').try_for_each(|p| add("exclude", p))?;
        }
        for file in &self.include_file {
            fs::metadata(file).with_context(|| file.display().to_string())?;
            add("include-file", utf8(&std::path::absolute(file)?)?)?;
        }
        let word = |value: Option<clap::builder::PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        add("timing", &word(self.timing.to_possible_value()))?;
        add("clock", &word(self.clock.to_possible_value()))?;
        add("max-nodes", &self.max_nodes.to_string())?;
        add("all", &self.all.to_string())?;
        add("explain", &self.explain.to_string())?;
        if let Some(time) = &self.snapshot_every {
            add("snapshot-every", time)?;
        }
        add("quiet", "true")?;
        add("manifest", utf8(manifest)?)?;
        add("file", utf8(&std::path::absolute(&self.output)?)?)?;
        Ok(items.join(","))
    }
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{}: not a name in UTF-8", path.display()))
}

/// Runs the command; its exit code is ours.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let manifest = scratch.path().join("profiles");
    let launch = Launch {
        command: &args.command,
        agent: &launch::agent_path()?,
        options: &args.agent_options(&manifest)?,
    };
    let status = launch.run()?;
    let profiles: Vec<PathBuf> = fs::read_to_string(&manifest)
        .unwrap_or_default()
        .lines()
        .map(PathBuf::from)
        .collect();
    if let Err(error) = show(args, &profiles) {
        say!("loadhook: {error:#}");
    }
    Ok(ExitCode::from(status))
}

fn show(args: &RunArgs, profiles: &[PathBuf]) -> Result<()> {
    let file = match profiles {
        [] => bail!("no profile was written: no JVM was started, or it was killed"),
        [file] => file,
        several => {
            say!("loadhook: {} processes wrote a profile:", several.len());
            for file in several {
                say!("  {}", report::shown(file));
            }
            say!(
                "together: loadhook report --merge {}",
                report::shown(&several[0])
            );
            return Ok(());
        }
    };
    let profile = report::read(file)?;
    let options = Options {
        top: Some(args.top),
        width: report::width(),
        ..Options::default()
    };
    let mut table = Vec::new();
    Format::Table.write(&profile, &options, &mut table)?;
    say!("{}", String::from_utf8_lossy(&table).trim_end());
    if args.explain {
        for note in &profile.header.notes {
            say!("left alone: {note}");
        }
    }
    match &args.html {
        Some(html) => {
            let mut page = Vec::new();
            Format::Html.write(&profile, &Options::default(), &mut page)?;
            write_beside(html, &page)?;
            say!("profile: {}, page: {}", report::shown(file), html.display());
        }
        None => say!(
            "profile: {} (a picture: loadhook report {0} --format html > profile.html)",
            report::shown(file)
        ),
    }
    // Read back so that what was promised is there.
    pprof::read(&fs::read(file)?[..]).map(drop)?;
    Ok(())
}
