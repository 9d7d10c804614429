//! `loadhook hprof FILE`: reads, checks and shows files of HPROF, text or binary.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use loadhook_hprof::HeapSummary;
use loadhook_hprof::contents::{Contents, Format, Heap, MonitorDump, ReadContents, Section, Trace};
use loadhook_hprof::text::{Cost, CostKind, Frame, Line, OLD_HEADER, OldCall, Site};
use loadhook_text::date::utc;
use loadhook_text::java::shorten;
use loadhook_text::terminal::columns;
use loadhook_text::units::noun;
use loadhook_text::width::{clipped, folded, joined, width};
use loadhook_text::{bytes, count, printable};

use crate::input::open;
use crate::output::say;
use crate::report;

/// Maximum number of rows of a table, if `--top` is not given.
const TOP: usize = 20;

/// Maximum number of warnings that are printed.
const WARNINGS: usize = 10;

/// Arguments of `loadhook hprof FILE`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// A file of HPROF, text (java.hprof.txt) or binary; a binary one may be gzipped
    #[arg(value_name = "FILE", required = true)]
    file: Option<PathBuf>,

    /// Maximum number of rows of a table
    #[arg(long, value_name = "N", default_value_t = TOP)]
    top: usize,

    /// Show the frames of each row's trace below it
    #[arg(long)]
    traces: bool,
}

/// Runs the command. If the file has a fault, shows the contents before the fault, and then fails.
pub(super) fn run(args: &ShowArgs) -> Result<()> {
    let path = args.file.as_deref().context("give a file of HPROF")?;
    let name = printable(&path.display().to_string()).into_owned();
    let file = open(path, "a file of HPROF").with_context(|| name.clone())?;
    let ReadContents { contents, error } = Contents::read(file);
    let mut shown = Shown {
        contents: &contents,
        args,
        width: columns(io::stdout(), report::COLUMNS),
        out: BufWriter::new(io::stdout().lock()),
    };
    if error.is_none() || has_something(&contents) {
        shown.all()?;
        shown.out.flush()?;
    }
    let more = contents.warnings.len().saturating_sub(WARNINGS);
    for warning in contents.warnings.iter().take(WARNINGS) {
        say!("warning: {name}: {warning}");
    }
    if more > 0 {
        let warnings = noun(more as u64, "warning", "warnings");
        say!("warning: {name}: {more} more {warnings}");
    }
    match error {
        Some(error) => Err(error).context(name),
        None => Ok(()),
    }
}

/// Returns whether any table, thread or trace of a faulty file could be read.
fn has_something(contents: &Contents) -> bool {
    !(contents.sections.is_empty() && contents.threads.is_empty() && contents.traces.is_empty())
}

/// Prints the contents of a file.
struct Shown<'c, W> {
    contents: &'c Contents,
    args: &'c ShowArgs,
    /// Number of columns of the output.
    width: usize,
    out: W,
}

/// The smallest number of columns to which a name is cut.
const NARROWEST_NAME: usize = 12;

/// The indentation of frames below a row.
const INDENT: &str = "        ";

/// Cuts a name at the end of a line that begins with `before`, so that the line has `width` columns.
fn with_name(before: &str, name: &str, width_of_line: usize) -> String {
    let room = width_of_line.saturating_sub(width(before));
    let name = printable(name);
    format!("{before}{}", shorten(&name, room.max(NARROWEST_NAME)))
}

fn cost_row(row: &Cost, width: usize) -> String {
    let nameless = Cost {
        name: String::new(),
        ..row.clone()
    };
    with_name(&nameless.to_string(), &row.name, width)
}

fn site_row(row: &Site, width: usize) -> String {
    let nameless = Site {
        class: String::new(),
        ..row.clone()
    };
    with_name(&nameless.to_string(), &row.class, width)
}

/// If there is no room for the name of the file, only the line follows the method.
fn frame_line(frame: &Frame, width: usize) -> String {
    let whole = frame.to_string();
    let line = with_name(INDENT, whole.trim_start(), width);
    if line.ends_with('…') && frame.line > 0 {
        let place = format!("{}.{}:{}", frame.class, frame.method, frame.line);
        return with_name(INDENT, &place, width);
    }
    line
}

/// Cuts both names of a row, the longer one first.
fn call_row(row: &OldCall, width_of_line: usize) -> String {
    let [callee, caller] = [&row.callee, &row.caller].map(|name| printable(name).into_owned());
    let numbers = row.count.to_string().len() + row.ms.to_string().len() + 3;
    let room = width_of_line
        .saturating_sub(numbers)
        .max(2 * NARROWEST_NAME);
    let half = room / 2;
    let [of_callee, of_caller] = [width(&callee), width(&caller)];
    let of_callee = of_callee.min(half.max(room.saturating_sub(of_caller)));
    let shown = OldCall {
        callee: shorten(&callee, of_callee),
        caller: shorten(&caller, room - of_callee),
        ..row.clone()
    };
    shown.to_string()
}

impl<W: Write> Shown<'_, W> {
    fn all(&mut self) -> io::Result<()> {
        self.head()?;
        for section in &self.contents.sections {
            writeln!(self.out)?;
            match section {
                Section::Sites { begin, rows } => {
                    let (order, date) = (&begin.order, &begin.date);
                    self.title(&format!("SITES · ordered by {order}"), date)?;
                    let titles = Line::SitesBegin(begin.clone()).to_string();
                    let width = self.width;
                    self.table(titles, rows, |row| (site_row(row, width), row.trace))?;
                }
                Section::Costs { begin, rows } => {
                    let unit = match begin.kind {
                        CostKind::Samples => "samples",
                        CostKind::Times | CostKind::Monitors | CostKind::Parks => "ms",
                    };
                    let title = format!("{} · total {} {unit}", begin.kind.title(), begin.total);
                    self.title(&title, &begin.date)?;
                    let titles = Line::CostsBegin(begin.clone()).to_string();
                    let width = self.width;
                    self.table(titles, rows, |row| (cost_row(row, width), row.trace))?;
                }
                Section::Monitors(dump) => self.monitors(dump)?,
                Section::Old(rows) => {
                    let calls = rows
                        .iter()
                        .fold(0, |sum: u64, row| sum.saturating_add(row.count));
                    self.title(&format!("CALLS · total {}", count(calls)), "")?;
                    let titles = format!("\n{OLD_HEADER}");
                    let width = self.width;
                    self.table(titles, rows, |row| (call_row(row, width), 0))?;
                }
                Section::Heap(heap) => self.heap(heap)?,
                Section::Summary(summary) => self.summary(summary)?,
            }
        }
        Ok(())
    }

    fn head(&mut self) -> io::Result<()> {
        let contents = self.contents;
        match &contents.format {
            Format::Old => {
                return writeln!(self.out, "HPROF list of callees and callers (cpu=old)");
            }
            Format::Text { date } => {
                let date = printable(date.trim_end());
                writeln!(self.out, "HPROF text · created {date}")?;
            }
            Format::Binary { id_size, time_ms } => {
                let date = utc(*time_ms);
                writeln!(
                    self.out,
                    "HPROF binary · created {date} · ids of {id_size} bytes"
                )?;
            }
        }
        let ended = contents.threads.values().filter(|thread| thread.has_ended);
        let [threads, ended] = [contents.threads.len(), ended.count()].map(|n| count(n as u64));
        let traces = count(contents.traces.len() as u64);
        let mut facts = vec![
            format!("threads: {threads}, ended: {ended}"),
            format!("traces: {traces}"),
        ];
        if contents.monitor_events > 0 {
            let events = count(contents.monitor_events);
            facts.push(format!("events of monitors: {events}"));
        }
        self.facts(&facts)
    }

    fn title(&mut self, title: &str, date: &str) -> io::Result<()> {
        write!(self.out, "{}", printable(title))?;
        if !date.is_empty() {
            write!(self.out, " · {}", printable(date.trim_end()))?;
        }
        writeln!(self.out)
    }

    /// Prints the titles of a table's columns, then the table's first rows. The titles are all lines of `begin` but
    /// the first. `line` returns the line of a row, and its trace.
    fn table<R>(
        &mut self,
        begin: String,
        rows: &[R],
        line: impl Fn(&R) -> (String, u32),
    ) -> io::Result<()> {
        for titles in begin.lines().skip(1) {
            writeln!(self.out, "{titles}")?;
        }
        let more = rows.len().saturating_sub(self.args.top);
        for (row, trace) in rows.iter().take(self.args.top).map(line) {
            writeln!(self.out, "{row}")?;
            if self.args.traces {
                self.frames(trace)?;
            }
        }
        if more > 0 {
            writeln!(
                self.out,
                "… {} more {}; --top N shows more",
                count(more as u64),
                noun(more as u64, "row", "rows")
            )?;
        }
        Ok(())
    }

    fn frames(&mut self, trace: u32) -> io::Result<()> {
        let no_trace = Trace::default();
        let trace = self.contents.traces.get(&trace).unwrap_or(&no_trace);
        if let Some(thread) = trace.thread {
            let thread = format!("{INDENT}in {}", self.thread(thread));
            writeln!(self.out, "{}", clipped(&thread, self.width))?;
        }
        for frame in &trace.frames {
            writeln!(self.out, "{}", frame_line(frame, self.width))?;
        }
        Ok(())
    }

    /// Prints a line that may be wider than the output.
    fn folded(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", folded(line, self.width))
    }

    /// Prints facts with ` · ` between them.
    fn facts(&mut self, facts: &[String]) -> io::Result<()> {
        writeln!(self.out, "{}", joined(facts, self.width))
    }

    /// Returns the name of the thread with a serial number.
    fn thread(&self, serial: u32) -> String {
        match self.contents.threads.get(&serial) {
            Some(thread) => printable(&thread.name).into_owned(),
            None if serial == 0 => "an unknown thread".to_owned(),
            None => format!("thread {serial}"),
        }
    }

    /// Returns the name of a thread, cut so that it fits into a line of a folded text.
    fn short_thread(&self, serial: u32) -> String {
        let room = self.width.saturating_sub(8);
        clipped(&self.thread(serial), room.max(NARROWEST_NAME))
    }

    fn threads(&self, serials: &[u32]) -> String {
        let names = serials.iter().map(|thread| self.short_thread(*thread));
        names.collect::<Vec<_>>().join(", ")
    }

    fn monitors(&mut self, dump: &MonitorDump) -> io::Result<()> {
        let [threads, monitors] =
            [dump.threads.len(), dump.monitors.len()].map(|n| count(n as u64));
        writeln!(
            self.out,
            "MONITOR DUMP · threads: {threads} · monitors: {monitors}"
        )?;
        for circle in dump.deadlocks() {
            self.folded(&format!("deadlock: {}", self.threads(&circle)))?;
        }
        for state in dump.threads.iter().take(self.args.top) {
            let (name, status) = (self.thread(state.thread), printable(&state.status));
            let rest = format!(": {status}, trace {}", state.trace);
            let room = self.width.saturating_sub(2 + width(&rest));
            let name = clipped(&name, room.max(NARROWEST_NAME));
            writeln!(self.out, "  {name}{rest}")?;
            if self.args.traces {
                self.frames(state.trace)?;
            }
        }
        for monitor in dump.monitors.iter().take(self.args.top) {
            let mut line = with_name("  ", &monitor.class, self.width);
            match monitor.owner {
                Some(owner) => {
                    let (name, entries) = (self.short_thread(owner.thread), owner.entries);
                    let times = noun(u64::from(entries.unsigned_abs()), "time", "times");
                    line += &format!(" owned by {name}, entered {entries} {times}");
                }
                None => line += " not owned",
            }
            for (what, serials) in [
                ("waiting to enter", &monitor.to_enter),
                ("waiting to be notified", &monitor.to_be_notified),
            ] {
                if !serials.is_empty() {
                    line += &format!("; {what}: {}", self.threads(serials));
                }
            }
            self.folded(&line)?;
        }
        let more = dump.threads.len().max(dump.monitors.len());
        if more > self.args.top {
            writeln!(
                self.out,
                "… further threads or monitors are left out; --top N shows more"
            )?;
        }
        Ok(())
    }

    fn heap(&mut self, heap: &Heap) -> io::Result<()> {
        let [classes, objects] = [heap.classes, heap.objects].map(count);
        let [arrays, roots] = [heap.arrays, heap.roots].map(count);
        self.facts(&[
            "HEAP DUMP".to_owned(),
            format!("classes: {classes}"),
            format!("objects: {objects}"),
            format!("arrays: {arrays}"),
            format!("roots: {roots}"),
        ])?;
        if matches!(self.contents.format, Format::Binary { .. }) {
            writeln!(self.out, "for the objects, run loadhook heap FILE")?;
        }
        Ok(())
    }

    fn summary(&mut self, summary: &HeapSummary) -> io::Result<()> {
        let (live, allocated) = (summary.live, summary.allocated);
        let amount =
            |what, size, objects| format!("{what} {} in {} objects", bytes(size), count(objects));
        self.facts(&[
            "HEAP SUMMARY".to_owned(),
            amount("live", live.0.into(), live.1.into()),
            amount("allocated", allocated.0, allocated.1),
        ])
    }
}
