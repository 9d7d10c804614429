//! The arguments of `loadhook rewrite`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

/// A family of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProbeFamily {
    /// At method entry, exit and exception handlers
    Timing,
    /// At method entry only, to count calls: much cheaper
    Count,
    /// At every `new` and array creation; the probe gets the number of the site
    Alloc,
    /// At every `new` and array creation; the probe gets the new object or array
    Object,
}

/// The value of `--tracker`: the location of the tracker, which is the class that probes call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TrackerOption {
    Embed,
    Jar(PathBuf),
    None,
}

impl FromStr for TrackerOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "embed" => Ok(TrackerOption::Embed),
            "none" => Ok(TrackerOption::None),
            other => match other.strip_prefix("jar:") {
                Some(path) if !path.is_empty() => Ok(TrackerOption::Jar(path.into())),
                _ => Err("expected embed, jar:PATH or none".to_owned()),
            },
        }
    }
}

/// Arguments of `loadhook rewrite`.
#[derive(Debug, Args)]
pub(crate) struct RewriteArgs {
    /// Class files, folders and archives (.jar, .war, .ear, .rar, .zip) to instrument
    #[arg(required = true, value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,

    /// Write to this file or, for a folder or several inputs, to this folder. It may be the input
    /// itself. Missing folders are created
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: PathBuf,

    /// Instrument only the classes and methods that match, for example
    /// com.example.** or com.example.Service::handle*
    #[arg(long, value_name = "PATTERNS")]
    pub(super) include: Vec<String>,

    /// Do not instrument the classes and methods that match
    #[arg(long, value_name = "PATTERNS")]
    pub(super) exclude: Vec<String>,

    /// Probes to insert
    #[arg(long, value_enum, value_delimiter = ',', default_value = "timing")]
    pub(super) probes: Vec<ProbeFamily>,

    /// Where to put the tracker, the class that probes call: `embed` puts it into
    /// each archive and folder, `jar:PATH` into a jar of its own; with `none` you
    /// put your own class loadhook.Tracker on the class path [default: embed; none
    /// for a class file]
    #[arg(long, value_name = "WHERE")]
    pub(super) tracker: Option<TrackerOption>,

    /// Also instrument trivial methods: at most 24 instructions, no call, no
    /// loop. Probes that only count go into trivial methods anyway
    #[arg(long)]
    pub(super) all: bool,

    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) jobs: Option<u16>,

    /// Remove the signatures of signed archives; instrumenting makes them invalid
    #[arg(long)]
    pub(super) strip_signatures: bool,

    /// Do not change classes that are already instrumented
    #[arg(long)]
    pub(super) skip_instrumented: bool,

    /// Fail if a class or nested archive cannot be read, instead of copying it
    /// unchanged
    #[arg(long)]
    pub(super) strict: bool,

    /// Maximum size of a class, and of a nested archive when unpacked, in MiB;
    /// larger ones are copied unchanged
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=2048))]
    pub(super) max_entry: u64,

    /// Maximum unpacked size of an archive, nested archives included, in MiB; more
    /// is an error [default: 100 times its size, at least 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub(super) max_total: Option<u64>,

    /// Check the output before it replaces anything: read it again, and let the
    /// verifier of JDK 24 or later, if one is found, check each class
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) verify: bool,

    /// Do everything except write files
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Print a summary as JSON on standard output. It lists the instrumented methods and allocation
    /// sites, each with the number that its probes pass
    #[arg(long)]
    pub(super) json: bool,

    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(super) quiet: bool,

    /// Name every method that was not instrumented, except trivial ones
    #[arg(short, long)]
    pub(super) verbose: bool,
}
