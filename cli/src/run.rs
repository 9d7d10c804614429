//! `loadhook run`: a program under the agent, and the table at its end.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use loadhook_settings::{
    ALLOCATION_MODES, AllocationMode, Filter, INTERVAL, interval, list, pattern_lines,
};

use crate::launch::{self, Ended, Launch, utf8};
use crate::outcome;
use crate::output::{check_writable, is_same, say};

/// How calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Timing {
    /// Count every call; time short hot calls on a random sample, all others exactly
    Adaptive,
    /// Count and time every call
    Exact,
    /// Count every call, time none
    Count,
    /// Do not count calls (only with --alloc)
    None,
}

/// Clock used to time calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Clock {
    /// Elapsed time, waiting included
    Wall,
    /// Processor time of the thread
    Cpu,
}

/// Arguments of `loadhook run`.
#[derive(Debug, Args)]
#[command(override_usage = "loadhook run [OPTIONS] [--] <COMMAND>...")]
pub(crate) struct RunArgs {
    /// Instrument only the classes and methods that match, for example
    /// com.example.** or com.example.Service::handle* (default: every class
    /// that is not the JDK's)
    #[arg(long, value_name = "PATTERNS")]
    pub(crate) include: Vec<String>,

    /// Do not instrument the classes and methods that match
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<String>,

    /// Read patterns to include from a file, one a line; # begins a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) include_file: Vec<PathBuf>,

    /// Also instrument trivial methods: at most 24 instructions, no call, no
    /// loop
    #[arg(long)]
    pub(crate) all: bool,

    /// How calls are timed (default: adaptive; none if --alloc is given)
    #[arg(long, value_enum)]
    timing: Option<Timing>,

    /// Clock used to time calls
    #[arg(long, value_enum, default_value = "wall")]
    clock: Clock,

    /// Record allocations, by place and type: exact, sampled[=BYTES],
    /// live[=BYTES] or live=exact
    ///
    /// exact counts every allocation of the instrumented classes. sampled
    /// samples the allocations of all classes, one in BYTES bytes on average
    /// (default 512k). live does the same and finds out which sampled objects
    /// are still alive. live=exact records every allocation of all classes, and
    /// which objects are still alive; allocations that the JIT compiler removes
    /// are not seen. Calls are then not timed, unless --timing is given.
    #[arg(long, value_name = "MODE", value_parser = alloc)]
    pub(crate) alloc: Option<String>,

    /// Also record the calls that led to each allocation (only with --alloc
    /// exact)
    #[arg(long, requires = "alloc")]
    alloc_context: bool,

    /// Maximum number of call-tree nodes (default: 1000000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    max_nodes: Option<u32>,

    /// Write the profile to this file; %p in its name is the process id
    ///
    /// If the command is not java itself, it may start several JVMs. A name
    /// without %p then holds the profiles of all JVMs together, and each JVM
    /// also writes its own file beside it, x-PID.pb.gz. Missing folders are made.
    #[arg(short, long, value_name = "FILE", default_value = "loadhook-%p.pb.gz")]
    output: PathBuf,

    /// Also write an HTML page with flame graph, method table and call tree
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Also write the profile at this interval, for example 500ms, 10s or 5m
    /// (at least 100ms); if the JVM is killed, the last one remains
    #[arg(long, value_name = "TIME", value_parser = time)]
    snapshot_every: Option<Duration>,

    /// Show which classes have methods that were not instrumented, and why;
    /// loadhook report --explain -o FILE lists the methods
    #[arg(long)]
    pub(crate) explain: bool,

    /// Maximum number of rows of the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// The command to run: java and its arguments, or a script that starts it
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A time between snapshots.
fn time(text: &str) -> Result<Duration, String> {
    interval(text).ok_or_else(|| format!("expected {INTERVAL}"))
}

fn alloc(text: &str) -> Result<String, String> {
    match AllocationMode::read(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("expected {ALLOCATION_MODES}")),
    }
}

impl RunArgs {
    /// The agent's options: it writes `file` and notes in `manifest` that it
    /// did.
    fn agent_options<'s>(
        &'s self,
        files: &[IncludeFile],
        file: &Path,
        manifest: &Path,
    ) -> Result<String> {
        let mut items = Vec::new();
        let mut add = |key: &str, value: &str| {
            items.push(format!("{key}={value}"));
        };
        // One that ends in a backslash would hold the comma behind it.
        let again = |pattern: &str| list::escaped(&list::unescaped(pattern));
        // Each with its key: the agent takes what has an equals sign for an
        // option else.
        // Where no class is changed, none would match.
        let is_wanted = self.changes_classes();
        let patterns = |lists: &'s [String]| {
            let lists = lists.iter().filter(move |_| is_wanted);
            lists.flat_map(|list| list::items(list))
        };
        for pattern in patterns(&self.include) {
            add("include", &again(pattern));
        }
        for pattern in patterns(&self.exclude) {
            add("exclude", &again(pattern));
        }
        for file in files.iter().filter(|_| is_wanted) {
            match file {
                // The JVM may be started elsewhere.
                IncludeFile::Named(file) => add("include-file", &list::escaped(utf8(file)?)),
                IncludeFile::Read(patterns) => {
                    for pattern in patterns {
                        add("include", &again(pattern));
                    }
                }
            }
        }
        // The JVM repeats what it finds in JAVA_TOOL_OPTIONS: no more than
        // differs from the agent's defaults.
        match self.timing {
            None => {}
            Some(Timing::Adaptive) if self.alloc.is_none() => {}
            Some(Timing::Adaptive) => add("timing", "adaptive"),
            Some(Timing::Exact) => add("timing", "exact"),
            Some(Timing::Count) => add("timing", "count"),
            Some(Timing::None) => add("timing", "none"),
        }
        if let Some(mode) = &self.alloc {
            add("alloc", mode);
        }
        match self.clock {
            Clock::Wall => {}
            Clock::Cpu => add("clock", "cpu"),
        }
        if let Some(nodes) = self.max_nodes {
            add("max-nodes", &nodes.to_string());
        }
        if let Some(time) = &self.snapshot_every {
            add("snapshot-every", &format!("{}ms", time.as_millis()));
        }
        for (key, is_set) in [
            ("all", self.all),
            ("alloc-context", self.alloc_context),
            ("explain", self.explain),
            ("quiet", true),
        ] {
            if is_set {
                add(key, "true");
            }
        }
        add("manifest", &list::escaped(utf8(manifest)?));
        add("file", &list::escaped(utf8(file)?));
        Ok(items.join(","))
    }

    /// Whether classes are changed.
    fn changes_classes(&self) -> bool {
        let is_timed = !matches!(self.timing, None | Some(Timing::None));
        is_timed || self.alloc_mode().is_none_or(AllocationMode::needs_probes)
    }

    fn alloc_mode(&self) -> Option<AllocationMode> {
        self.alloc.as_deref().and_then(AllocationMode::read)
    }

    /// Says what the options turn off, and which of them have no effect.
    fn warn(&self) {
        if self.alloc.is_some() && self.timing.is_none() {
            say!("loadhook: --alloc turns call timing off; for both, add --timing adaptive");
        }
        let given = [
            ("--include", !self.include.is_empty()),
            ("--include-file", !self.include_file.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--all", self.all),
            ("--explain", self.explain),
        ];
        if let Some(mode) = self.alloc.as_deref().filter(|_| !self.changes_classes()) {
            for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                say!(
                    "loadhook: {option} has no effect: --alloc {mode} covers all classes; to choose which calls are timed, add --timing"
                );
            }
        }
        let times_none = match self.timing {
            None => self.alloc.is_some(),
            Some(timing) => matches!(timing, Timing::Count | Timing::None),
        };
        if self.clock == Clock::Cpu && times_none {
            say!(
                "loadhook: --clock has no effect: calls are not timed; add --timing adaptive or exact"
            );
        }
    }

    /// Finds the patterns' faults before the JVM starts, and what it is told of
    /// their files.
    fn check_patterns(&self) -> Result<Vec<IncludeFile>> {
        let mut filter = Filter::new();
        for list in &self.include {
            filter.include(list).context("--include")?;
        }
        for list in &self.exclude {
            filter.exclude(list).context("--exclude")?;
        }
        let read = |file: &PathBuf| IncludeFile::read(file, &mut filter);
        self.include_file.iter().map(read).collect()
    }
}

/// A file of patterns that was found good.
enum IncludeFile {
    /// The agent reads it again.
    Named(PathBuf),
    /// The patterns of one that can be read once only, as a pipe.
    Read(Vec<String>),
}

impl IncludeFile {
    fn read(file: &Path, filter: &mut Filter) -> Result<IncludeFile> {
        let name = file.display();
        let text = fs::read_to_string(file).with_context(|| name.to_string())?;
        let found = filter
            .include_lines(&text)
            .map_err(|(line, error)| anyhow::Error::new(error).context(format!("{name}:{line}")))?;
        if found == 0 {
            bail!("{name}: the file holds no pattern");
        }
        if fs::metadata(file).is_ok_and(|file| file.is_file()) {
            return Ok(IncludeFile::Named(std::path::absolute(file)?));
        }
        let patterns = pattern_lines(&text).flat_map(|(_, line)| list::items(line));
        Ok(IncludeFile::Read(patterns.map(str::to_owned).collect()))
    }
}

/// Where the profiles of a command go.
struct Target {
    /// What the agent is told.
    file: PathBuf,
    /// Where all are to be found together, if the user named one file for a
    /// command that may start several JVMs.
    whole: Option<PathBuf>,
}

impl Target {
    fn new(output: &Path, is_java: bool) -> Result<Target> {
        let file = std::path::absolute(output)?;
        utf8(&file)?;
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name
            .with_context(|| format!("--output: {}: not the name of a file", output.display()))?;
        // In folders it stands for itself.
        if is_java || name.contains("%p") {
            return Ok(Target { file, whole: None });
        }
        // Not at a leading dot, which is no extension's.
        let dot = name.char_indices().skip(1).find(|(_, char)| *char == '.');
        let (stem, extension) = name.split_at(dot.map_or(name.len(), |(at, _)| at));
        Ok(Target {
            file: file.with_file_name(format!("{stem}-%p{extension}")),
            whole: Some(file),
        })
    }
}

/// Runs the command; its exit code is ours.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    if args.alloc.is_none() && args.timing == Some(Timing::None) {
        bail!("--timing none measures nothing without --alloc");
    }
    if args.alloc_context && args.alloc_mode() != Some(AllocationMode::Exact) {
        bail!("--alloc-context needs --alloc exact");
    }
    let include_files = args.check_patterns()?;
    let agent = launch::agent_path()?;
    let target = Target::new(&args.output, launch::is_java(&args.command))?;
    check_writable(&target.file).context("--output")?;
    for path in target.whole.iter().chain(&args.html) {
        check_writable(path)?;
    }
    if let Some(html) = &args.html
        && is_same(html, target.whole.as_ref().unwrap_or(&target.file))
    {
        bail!(
            "{}: the profile and the page cannot be the same file; give -o or --html another name",
            html.display()
        );
    }
    args.warn();
    let scratch = tempfile::tempdir()
        .context("cannot make a temporary folder (set TMPDIR to a folder with room)")?;
    let manifest = scratch.path().join("profiles");
    let launch = Launch {
        command: &args.command,
        agent: &agent,
        options: &args.agent_options(&include_files, &target.file, &manifest)?,
    };
    let status = match launch.run()? {
        Ended::With(status) => status,
        Ended::NotStarted(status) | Ended::Elsewhere(status) => return Ok(ExitCode::from(status)),
    };
    let noted = noted(&manifest);
    outcome::show(args, &noted.agents, target.whole.as_deref());
    outcome::name_others(&noted.trackers);
    Ok(ExitCode::from(status))
}

/// Profiles of a command.
#[derive(Default)]
struct Noted {
    /// Those of agents.
    agents: Vec<PathBuf>,
    /// Those that rewritten archives have written beside them: of the same
    /// calls, so that nobody adds them up.
    trackers: Vec<PathBuf>,
}

/// The profiles that agents have noted, each once.
fn noted(manifest: &Path) -> Noted {
    let written = fs::read(manifest).unwrap_or_default();
    let mut noted = Noted::default();
    for name in written.split(|byte| *byte == 0).filter(|n| !n.is_empty()) {
        let (profiles, name) = match name.strip_prefix(b"+") {
            Some(name) => (&mut noted.trackers, name),
            None => (&mut noted.agents, name),
        };
        let profile = PathBuf::from(OsStr::from_bytes(name));
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    noted
}
