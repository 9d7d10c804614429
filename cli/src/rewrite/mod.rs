//! `loadhook rewrite`: instruments classes on disk.

mod inputs;
mod java;
mod progress;
mod staged;
mod summary;
mod verify;

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use loadhook_offline::{Detail, Error, Offline, Plan, Progress};
use loadhook_settings::Filter;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::inputs::{Input, Kind};
use self::java::Java;
use self::staged::Staged;
use self::verify::Verified;
use crate::output::{USUAL, check_writable, say, write_beside};

/// A family of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProbeFamily {
    /// At method entry, exit and exception handlers
    Timing,
    /// At every `new` and array creation, with the number of the site
    Alloc,
    /// At every new object and array, which is passed to the probe
    Object,
}

/// Place of the tracker, the class that probes call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tracker {
    Embed,
    Jar(PathBuf),
    None,
}

impl FromStr for Tracker {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "embed" => Ok(Tracker::Embed),
            "none" => Ok(Tracker::None),
            other => match other.strip_prefix("jar:") {
                Some(path) if !path.is_empty() => Ok(Tracker::Jar(path.into())),
                _ => Err("expected embed, jar:PATH or none".to_owned()),
            },
        }
    }
}

/// Arguments of `loadhook rewrite`.
#[derive(Debug, Args)]
pub(crate) struct RewriteArgs {
    /// Class files, folders and archives (.jar, .war, .ear, .zip) to instrument
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Write to this file or, for a folder or several inputs, to this folder. It
    /// may be the input itself. Missing folders are made
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Instrument only the classes and methods that match, for example
    /// com.example.** or com.example.Service::handle*
    #[arg(long, value_name = "PATTERNS")]
    include: Vec<String>,

    /// Do not instrument the classes and methods that match
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<String>,

    /// Probes to insert
    #[arg(long, value_enum, value_delimiter = ',', default_value = "timing")]
    probes: Vec<ProbeFamily>,

    /// Where to put the tracker, the class that probes call: `embed` puts it into
    /// each archive and folder, `jar:PATH` into a jar of its own; with `none` you
    /// put your own class loadhook.Tracker on the class path [default: embed; none
    /// for a class file]
    #[arg(long, value_name = "WHERE")]
    tracker: Option<Tracker>,

    /// Also instrument trivial methods: at most 24 instructions, no call, no
    /// loop
    #[arg(long)]
    all: bool,

    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Remove the signatures of signed archives; instrumenting makes them invalid
    #[arg(long)]
    strip_signatures: bool,

    /// Do not change classes that are already instrumented
    #[arg(long)]
    skip_instrumented: bool,

    /// Fail if a class or nested archive cannot be read, instead of copying it
    /// unchanged
    #[arg(long)]
    strict: bool,

    /// Maximum size of a class, and of a nested archive when unpacked, in MiB;
    /// larger ones are copied unchanged
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=2048))]
    max_entry: u64,

    /// Maximum unpacked size of an archive, nested archives included, in MiB; more
    /// is an error [default: 100 times its size, at least 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    max_total: Option<u64>,

    /// Check the output before it replaces anything: read it again, and let the
    /// verifier of JDK 24 or later, if one is found, check each class
    #[arg(long, conflicts_with = "dry_run")]
    verify: bool,

    /// Do everything except write files
    #[arg(long)]
    dry_run: bool,

    /// Print a summary as JSON on standard output, with the method and site of
    /// each id
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Name every method that was not instrumented, except trivial ones
    #[arg(short, long)]
    verbose: bool,
}

/// A wrong argument, or one that cannot be combined with another.
#[derive(Debug)]
struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

fn wrong<T>(line: String) -> Result<T> {
    Err(Wrong(line).into())
}

/// Runs the command.
pub(crate) fn run(args: &RewriteArgs) -> Result<ExitCode> {
    match rewrite(args) {
        Err(error) if error.is::<Wrong>() => {
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
    let inputs = inputs::inputs(&args.inputs, &args.output, args.quiet)?;
    let plan = args.plan(&inputs)?;
    let tracker_jar = args.tracker_jar()?;
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
            match args.rewrite(&mut offline, input)? {
                Some(output) if args.verify => staged.push(output),
                Some(output) => output.put(args.quiet, &progress)?,
                None => {}
            }
        }
        Ok(())
    })?;
    let took = started.elapsed();
    let verified = match args.verify {
        true => {
            let verified = verify::verify(&staged, &plan, args.quiet, &progress, Java::find())?;
            for output in staged {
                output.put(args.quiet, &progress)?;
            }
            Some(verified)
        }
        false => None,
    };
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
        writeln!(std::io::stdout(), "{json:#}")?;
    }
    if !args.quiet {
        summary::print(args, &plan, tally, &unmatched, took);
        verified.iter().for_each(Verified::print);
    }
    Ok(())
}

impl RewriteArgs {
    fn plan(&self, inputs: &[Input]) -> Result<Plan> {
        let mut filter = Filter::new();
        for list in &self.include {
            let added = filter.include(list);
            added.or_else(|error| wrong(format!("--include: {error}")))?;
        }
        for list in &self.exclude {
            let added = filter.exclude(list);
            added.or_else(|error| wrong(format!("--exclude: {error}")))?;
        }
        let has = |family| self.probes.contains(&family);
        let single = inputs
            .iter()
            .find(|input| matches!(input.kind, Kind::Class));
        let tracker = match (&self.tracker, single) {
            (Some(Tracker::None), Some(_)) => loadhook_offline::Tracker::None,
            (None, Some(_)) if inputs.iter().all(|input| matches!(input.kind, Kind::Class)) => {
                loadhook_offline::Tracker::None
            }
            (_, Some(class)) => {
                return wrong(format!(
                    "{}: a single class file cannot hold a tracker; rewrite its folder, or add --tracker none",
                    class.from.display()
                ));
            }
            (Some(Tracker::None), None) => loadhook_offline::Tracker::None,
            (Some(Tracker::Jar(_)), None) => loadhook_offline::Tracker::Jar,
            (None | Some(Tracker::Embed), None) => loadhook_offline::Tracker::Embed,
        };
        if let Some(Tracker::Jar(path)) = &self.tracker {
            let is_same = |other: &PathBuf| inputs::real(other).ok() == inputs::real(path).ok();
            if let Some(input) = inputs.iter().find(|i| is_same(&i.to) || is_same(&i.from)) {
                return wrong(format!(
                    "{}: the tracker jar would replace {}; give jar: another path",
                    path.display(),
                    input.from.display()
                ));
            }
        }
        let of_objects = has(ProbeFamily::Alloc) || has(ProbeFamily::Object);
        if of_objects && tracker != loadhook_offline::Tracker::None {
            let line = "--probes alloc and object need your own tracker; add --tracker none";
            return wrong(line.to_owned());
        }
        let mut plan = Plan::new(filter);
        plan.selection.timing = has(ProbeFamily::Timing);
        plan.selection.allocations = has(ProbeFamily::Alloc);
        plan.selection.objects = has(ProbeFamily::Object);
        plan.selection.all = self.all;
        plan.tracker = tracker;
        plan.strip_signatures = self.strip_signatures;
        plan.skip_instrumented = self.skip_instrumented;
        plan.strict = self.strict;
        plan.most_entry = self.max_entry << 20;
        plan.most_total = self.max_total.map(|most| most << 20);
        Ok(plan)
    }

    /// Makes the tracker's jar, and checks early that it can be written at the end.
    fn tracker_jar(&self) -> Result<Option<(&Path, Vec<u8>)>> {
        let (Some(Tracker::Jar(path)), false) = (&self.tracker, self.dry_run) else {
            return Ok(None);
        };
        check_writable(path)?;
        Ok(Some((path, loadhook_offline::tracker_jar()?)))
    }

    /// Rewrites an input. Returns the output if it still has to be put in its place.
    fn rewrite<'i>(
        &self,
        offline: &mut Offline<'_>,
        input: &'i Input,
    ) -> Result<Option<Staged<'i>>> {
        let (from, to) = (&input.from, (!self.dry_run).then_some(&*input.to));
        let name = from.display().to_string();
        if let Kind::Folder(files) = &input.kind {
            let new = offline.folder(from, files, to);
            let new = new.map_err(|error| placed(error, name))?;
            return Ok(new.map(|new| Staged::folder(input, new)));
        }
        let staged = self.verify.then(|| Staged::file(input)).transpose()?;
        let to = staged.as_ref().map_or(to, |staged| Some(&staged.at));
        match input.kind {
            Kind::Class => self.rewrite_class(offline, &name, from, to)?,
            _ => {
                let done = offline.archive_file(&name, from, to);
                done.map_err(|error| placed(error, name))?;
            }
        }
        Ok(staged)
    }

    fn rewrite_class(
        &self,
        offline: &mut Offline<'_>,
        name: &str,
        from: &Path,
        to: Option<&Path>,
    ) -> Result<()> {
        let bytes = fs::read(from).with_context(|| name.to_owned())?;
        let rewritten = offline
            .class(name, &bytes)
            .with_context(|| name.to_owned())?;
        match to {
            Some(to) => write_beside(to, &rewritten.unwrap_or(bytes), USUAL),
            None => Ok(()),
        }
    }
}

fn placed(error: Error, name: String) -> anyhow::Error {
    match error {
        // These name what they are about.
        Error::Signed(_)
        | Error::Instrumented(_)
        | Error::TooMuch { .. }
        | Error::Unreadable(_)
        | Error::Interrupted => error.into(),
        other => anyhow::Error::new(other).context(name),
    }
}
