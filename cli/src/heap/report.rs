//! `loadhook heap FILE`: what a heap dump holds.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use loadhook_heap::{Error, Header, Histogram};
use loadhook_text::date::utc;
use loadhook_text::{bytes, count, printable};
use serde_json::json;

use super::place::Made;
use super::source::Source;
use super::{diff, duplicates, json, kept, page, table, threads};
use crate::output::{PRIVATE, check_writable, columns, is_one_file, say, write_beside};

/// Columns of a table that goes to no terminal.
pub(super) const COLUMNS: usize = 80;

/// Rows of a table where it is not said how many.
const TOP: usize = 20;

/// What is shown of a heap dump.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Maximum number of rows; with --threads also of frames per thread and of
    /// variables per frame, with --path of objects
    #[arg(long, value_name = "N", default_value_t = TOP)]
    pub(super) top: usize,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,

    /// Order of the classes: by the bytes of their objects, or by retained size
    #[arg(long, value_enum, default_value_t = By::Bytes)]
    by: By,

    /// Show the objects with the largest retained size, instead of classes
    #[arg(long, conflicts_with_all = ["by", "path"])]
    pub(super) biggest: bool,

    /// Show the path from an object to its nearest GC root. ID is the object's
    /// identifier, for example 0x7f00; CLASS stands for the first reachable object
    /// of that class, and 'class NAME' for the class itself
    #[arg(long, value_name = "ID|CLASS", conflicts_with = "by")]
    pub(super) path: Option<String>,

    /// Show strings and arrays that occur more than once, by wasted bytes
    #[arg(long, conflicts_with_all = ["by", "biggest", "path"])]
    duplicates: bool,

    /// Show threads with their stacks, and the objects that local variables refer to
    #[arg(long, conflicts_with_all = ["by", "biggest", "path", "duplicates"])]
    threads: bool,

    /// Show what changed from FILE to the dump LATER, class by class
    #[arg(long, value_name = "LATER",
        conflicts_with_all = ["by", "biggest", "path", "duplicates", "threads"])]
    pub(super) diff: Option<PathBuf>,

    /// Also show the profiler's own objects, which are left out of the dump of a
    /// profiled program. With a process id: also dump unreachable objects; without
    /// this the JVM first collects garbage
    #[arg(long, help_heading = "Options")]
    pub(super) all: bool,

    /// Show the readable part of a dump that is cut off
    #[arg(long)]
    partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Bytes,
    Retained,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Table,
    Json,
    /// One page with all views, for a browser
    Html,
}

impl ReportArgs {
    /// Whether one dump's histogram is not what is asked for.
    fn has_view(&self) -> bool {
        self.by != By::Bytes
            || self.biggest
            || self.path.is_some()
            || self.duplicates
            || self.threads
    }

    /// Whether anything is asked for that only dumps have.
    pub(super) fn is_given(&self) -> bool {
        self.has_view()
            || self.diff.is_some()
            || self.format != Format::Table
            || self.top != TOP
            || self.partial
    }

    /// Refuses what would be without effect, or replace a dump.
    fn fit(&self, file: &Path, output: Option<&Path>) -> Result<()> {
        if self.format == Format::Html && (self.has_view() || self.top != TOP) {
            bail!(
                "--format html shows all views of a dump; the only other options it takes are --diff, --all, --partial and -o"
            );
        }
        let mut dumps = [Some(file), self.diff.as_deref()].into_iter().flatten();
        match output.filter(|output| dumps.any(|dump| is_one_file(dump, output))) {
            Some(output) => bail!(
                "{}: the output would replace the dump; give -o another name",
                shown(output)
            ),
            None => Ok(()),
        }
    }
}

/// Runs the command.
pub(crate) fn run(file: &Path, args: &ReportArgs, output: Option<&Path>) -> Result<()> {
    args.fit(file, output)?;
    let Some(output) = output else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        write(file, args, &mut out)?;
        return Ok(out.flush()?);
    };
    let folder = output.parent().filter(|path| !path.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // What a report that fails has made goes with it.
    let _made = Made::missing(folder).with_context(|| shown(output))?;
    fs::create_dir_all(folder).with_context(|| shown(output))?;
    check_writable(output)?;
    let mut bytes = Vec::new();
    write(file, args, &mut bytes)?;
    write_beside(output, &bytes, PRIVATE)
}

fn write(file: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    if args.format == Format::Html {
        return page::write(file, args, out);
    }
    if args.biggest || args.path.is_some() || args.by == By::Retained {
        return kept::run(file, args, out);
    }
    if args.duplicates {
        return duplicates::run(file, args, out);
    }
    if args.threads {
        return threads::run(file, args, out);
    }
    if let Some(later) = &args.diff {
        let both = [histogram(file, args)?, histogram(later, args)?];
        let names = [shown(file), shown(later)];
        return Ok(diff::write(names, both.each_ref(), args, out)?);
    }
    let histogram = histogram(file, args)?;
    if args.format == Format::Json {
        let classes = histogram.classes.iter().map(class_json);
        let view = json::rows("classes", classes, args.top);
        return Ok(json::write(&histogram, view, out)?);
    }
    head(&histogram, out)?;
    Ok(histogram_table(&histogram, args.top, out)?)
}

/// A file as it is named in messages.
pub(super) fn shown(file: &Path) -> String {
    printable(&file.display().to_string()).into_owned()
}

pub(super) fn open(file: &Path) -> Result<File> {
    let name = || shown(file);
    let opened = File::open(file).with_context(name)?;
    if opened.metadata().with_context(name)?.is_dir() {
        bail!("{}: a folder; give a heap dump file", name());
    }
    Ok(opened)
}

pub(super) fn histogram(file: &Path, args: &ReportArgs) -> Result<Histogram> {
    let source = Source::open(file)?;
    let count = match args.all {
        true => loadhook_heap::histogram,
        false => loadhook_heap::histogram_without_tracker,
    };
    let (histogram, outcome) = count(&source.file);
    if !args.partial {
        source.is_unchanged()?;
    }
    let is_whole = outcome.is_ok();
    whole(file, args, outcome, &histogram)?;
    if histogram.left_out.instances == 0 || !is_whole {
        return Ok(histogram);
    }
    if !source.is_file() {
        say!(
            "warning: {}: not a file: what only the profiler keeps is counted as the program's, \
             but for objects of its classes; of a file it is left out too",
            shown(file)
        );
        return Ok(histogram);
    }
    // The tracker's classes are there: the graph tells what only they keep.
    let graph = kept::read(&source, args);
    let (graph, _) = graph.context("--all needs no graph of the objects")?;
    Ok(graph.histogram)
}

/// What is said of a packed file with more in it, as gzip does.
pub(super) const FOLLOWED: &str = "the bytes that follow the gzip data are ignored";

/// Whether to go on with what was read: all, or what is there of a dump that
/// is cut off.
pub(super) fn whole(
    file: &Path,
    args: &ReportArgs,
    outcome: Result<(), Error>,
    histogram: &Histogram,
) -> Result<()> {
    let name = shown(file);
    if histogram.is_followed {
        say!("warning: {name}: {FOLLOWED}");
    }
    let Err(error) = outcome else {
        return Ok(());
    };
    if !error.is_truncated() {
        return Err(error).context(name);
    }
    if !args.partial {
        bail!(
            "{name}: {error}; to show the {} objects of {} before that, add --partial",
            count(histogram.instances()),
            bytes(histogram.bytes())
        );
    }
    say!("warning: {name}: {error}; only the part before that is shown");
    Ok(())
}

pub(super) fn head(histogram: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    let Header { id_size, time_ms } = histogram.header;
    writeln!(
        out,
        "{} objects · {} · dumped {} · ids of {id_size} bytes\n",
        count(histogram.instances()),
        bytes(histogram.bytes()),
        utc(time_ms),
    )?;
    match left_out(histogram) {
        Some(left_out) => writeln!(out, "{left_out}\n"),
        None => Ok(()),
    }
}

/// The line that tells which objects of the profiler are not shown.
pub(super) fn left_out(histogram: &Histogram) -> Option<String> {
    let left_out = histogram.left_out;
    (left_out.instances > 0).then(|| {
        format!(
            "The profiler's own objects, {} of {}, are left out; --all shows them",
            bytes(left_out.bytes),
            bytes(left_out.bytes.saturating_add(histogram.bytes())),
        )
    })
}

fn histogram_table(histogram: &Histogram, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let all = histogram.bytes();
    let titles = ["#", "bytes %", "bytes", "instances", "class"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for (rank, class) in histogram.classes.iter().take(top).enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            percent(class.bytes, all),
            bytes(class.bytes),
            count(class.instances),
            class.name.to_string(),
        ]);
    }
    table::write(&rows, columns(io::stdout(), COLUMNS), out)?;
    rest(histogram.classes.len(), top, "classes", out)
}

pub(super) fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / all.max(1) as f64)
}

/// Says how many rows were left out.
pub(super) fn rest(all: usize, top: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(top) {
        0 => Ok(()),
        more => writeln!(
            out,
            "{} more {what} (--top N shows more)",
            count(more as u64)
        ),
    }
}

pub(super) fn class_json(class: &loadhook_heap::Count) -> serde_json::Value {
    json!({
        "class": &*class.name,
        "id": id(class.class_id),
        "instances": class.instances,
        "bytes": class.bytes,
    })
}

/// An object as it is named on screen and on the command line.
pub(super) fn id(id: u64) -> String {
    format!("{id:#x}")
}
