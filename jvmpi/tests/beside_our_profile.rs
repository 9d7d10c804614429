//! A profiler for JVMPI that makes the tables of the first HPROF (`agents/tables.c`) and our own agent with the options
//! of HPROF give the same tables of one program (`java/JudgedTables.java`). Counts are compared between two runs, each
//! with one of the profilers. Times are compared in one run with both, because the speed of a busy machine differs from
//! run to run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use loadhook_hprof::contents::{Contents, ReadContents, Section, Trace};
use loadhook_hprof::text::CostKind;
use loadhook_hprof::{ErrorKind, LoadClass, Visitor};
use loadhook_testkit::paths;

#[allow(dead_code, reason = "each test file uses its part")]
mod support;
use support::{Run, agent_option};

on_17_and_25!(counts_are_equal times_are_equal samples_and_waits_are_equal sleeps_are_equal);

/// The numbers of a table's rows, by the class of the objects and by the trace, of which one is empty in some tables.
type Rows = BTreeMap<(String, String), Vec<i64>>;

/// The methods that do the work, in the proportions 6 : 3 : 1.
const WORK: [&str; 3] = ["often", "sometimes", "seldom"];

/// Returns the part of a trace that both profilers know in the same way: the innermost methods up to the last one that
/// is the program's.
fn of_program(trace: &str) -> String {
    let frames: Vec<&str> = trace.split(' ').collect();
    let last = frames.iter().rposition(|it| it.starts_with("Judged"));
    frames[..last.map_or(0, |last| last + 1)].join(" ")
}

/// Returns the rows of a table of the old profiler. Equal rows are added.
fn theirs(stderr: &str, table: &str) -> Result<Rows> {
    let mut rows = Rows::new();
    for line in stderr.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let ["row", name, class, trace, numbers @ ..] = &parts[..] else {
            continue;
        };
        if *name == table {
            let numbers: Result<Vec<i64>, _> = numbers.iter().map(|it| it.parse()).collect();
            add(&mut rows, class, of_program(trace), &numbers?);
        }
    }
    ensure!(!rows.is_empty(), "no table {table}: {stderr}");
    Ok(rows)
}

fn add(rows: &mut Rows, class: &str, trace: String, numbers: &[i64]) {
    let row = rows.entry((class.to_owned(), trace)).or_default();
    row.resize(numbers.len(), 0);
    for (sum, number) in row.iter_mut().zip(numbers) {
        *sum += number;
    }
}

/// Returns the contents of our agent's file, which has neither a fault nor a contradiction.
fn contents(file: &[u8]) -> Result<Contents> {
    let ReadContents { contents, error } = Contents::read(file);
    ensure!(error.is_none(), "{error:?}");
    ensure!(contents.warnings.is_empty(), "{:?}", contents.warnings);
    Ok(contents)
}

/// Returns the name of a class as the old profiler prints it: `int[]` for `[I`.
fn class_name(name: &str) -> String {
    let name = name.replace('/', ".");
    let Some(element) = name.strip_prefix('[') else {
        return name;
    };
    let element = match element {
        "Z" => "boolean",
        "C" => "char",
        "F" => "float",
        "D" => "double",
        "B" => "byte",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        _ => element.trim_start_matches('L').trim_end_matches(';'),
    };
    format!("{element}[]")
}

/// Returns a trace as the old profiler prints it.
fn trace_text(trace: &Trace, has_lines: bool) -> String {
    let frames = trace.frames.iter().map(|frame| {
        let line = if has_lines { frame.line.max(0) } else { 0 };
        format!("{}.{}:{line}", frame.class, frame.method)
    });
    frames.collect::<Vec<_>>().join(" ")
}

/// Returns the rows of a table of costs in our agent's file: a count, and microseconds, which samples do not have.
fn costs(contents: &Contents, kind: CostKind) -> Result<Rows> {
    let mut sections = contents.sections.iter();
    let found = sections.find_map(|section| match section {
        Section::Costs { begin, rows } if begin.kind == kind => Some((begin.total, rows)),
        _ => None,
    });
    let (total, rows) = found.with_context(|| format!("no {}", kind.title()))?;
    let mut table = Rows::new();
    for row in rows {
        let trace = &contents.traces[&row.trace];
        let class = if kind == CostKind::Monitors {
            class_name(&row.name)
        } else {
            String::new()
        };
        let trace = of_program(&trace_text(trace, kind != CostKind::Times));
        let micros = row.own / 100.0 * total as f64 * 1000.0;
        add(&mut table, &class, trace, &[row.count, micros as i64]);
    }
    Ok(table)
}

/// Returns the rows of our agent's table of allocations.
fn sites(contents: &Contents) -> Result<Rows> {
    let mut sections = contents.sections.iter();
    let rows = sections.find_map(|section| match section {
        Section::Sites { rows, .. } => Some(rows),
        _ => None,
    });
    let mut table = Rows::new();
    for row in rows.context("no SITES")? {
        let numbers = [
            row.allocated.objects,
            row.allocated.bytes,
            row.live.objects,
            row.live.bytes,
        ];
        let numbers = numbers.map(|it| it.unwrap_or(0) as i64);
        let trace = of_program(&trace_text(&contents.traces[&row.trace], true));
        add(&mut table, &class_name(&row.class), trace, &numbers);
    }
    Ok(table)
}

/// The objects of our agent's heap dump, by class.
#[derive(Default)]
struct Dumped {
    names: BTreeMap<u64, String>,
    classes: BTreeMap<u64, u64>,
    objects: Rows,
}

impl Dumped {
    fn count(&mut self, class: u64) {
        let name = self.classes.get(&class).and_then(|it| self.names.get(it));
        let name = class_name(name.map_or("?", |name| name));
        add(&mut self.objects, &name, String::new(), &[1]);
    }
}

impl Visitor for Dumped {
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        let text = String::from_utf8_lossy(text).into_owned();
        self.names.insert(id, text);
        Ok(())
    }

    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.classes.insert(class.class, class.name);
        Ok(())
    }

    fn instance(&mut self, _: u64, class: u64, _: &[u8]) -> Result<(), ErrorKind> {
        self.count(class);
        Ok(())
    }

    fn object_array(&mut self, _: u64, class: u64, _: u32) -> Result<(), ErrorKind> {
        self.count(class);
        Ok(())
    }
}

/// Keeps the rows that `is_kept` takes by class and trace, and the first `numbers` of their numbers.
fn kept(rows: Rows, numbers: usize, is_kept: impl Fn(&str, &str) -> bool) -> Rows {
    let rows = rows.into_iter();
    let kept = rows.filter(|((class, trace), _)| is_kept(class, trace));
    kept.map(|(row, mut all)| {
        all.truncate(numbers);
        (row, all)
    })
    .collect()
}

/// Checks that two tables have the same rows.
fn same(table: &str, theirs: &Rows, ours: &Rows) -> Result<()> {
    ensure!(!ours.is_empty(), "{table}: no rows");
    for row in theirs.keys().chain(ours.keys()) {
        let (theirs, ours) = (theirs.get(row), ours.get(row));
        ensure!(
            theirs == ours,
            "{table}: {row:?} is {theirs:?} for the old profiler and {ours:?} for ours"
        );
    }
    Ok(())
}

/// Returns the option that loads our agent with these options of HPROF.
fn our_option(options: &str, file: &Path) -> Result<String> {
    Ok(format!(
        "-agentpath:{}=hprof:{options},cutoff=0,verbose=n,file={}",
        paths::agent_library()?.display(),
        file.display()
    ))
}

/// Runs the program under the old profiler and our agent, of which one may be missing. Returns the old profiler's
/// output and the bytes of our agent's file.
fn run(feature: u32, slices: &str, theirs: &str, ours: &str) -> Result<(String, Vec<u8>)> {
    let judge = if theirs.is_empty() { "" } else { "tables" };
    let run = Run::new(feature, judge, theirs).program("JudgedTables", &[slices]);
    let file = run.folder.path().join("ours");
    let agent = our_option(ours, &file)?;
    let run = if ours.is_empty() {
        run
    } else {
        run.jvm(&[&agent])
    };
    let output = run.judged(usize::from(!theirs.is_empty()))?;
    let file = if ours.is_empty() {
        Vec::new()
    } else {
        fs::read(file)?
    };
    Ok((String::from_utf8_lossy(&output.stderr).into_owned(), file))
}

/// The old profiler and our agent, each in a JVM of its own, count the same.
fn counts_are_equal(feature: u32) -> Result<()> {
    const SLICES: &str = "40";
    let (old, _) = run(feature, SLICES, "sites+dump+times+monitors", "")?;
    let (_, file) = run(feature, SLICES, "", "cpu=times,heap=all,monitor=y,format=b")?;
    let ours = contents(&file)?;

    // The JVM makes the others while it links a class, in whichever thread uses the class first.
    let is_made = |class: &str, trace: &str| {
        let by_jvm = ["java.lang.String", "java.lang.Class", "byte[]"].contains(&class);
        // How often this method asks for a thread's state depends on the speed of the machine.
        let is_waiting = trace.contains("JudgedTables.awaitBlocked:");
        trace.contains("Judged") && !by_jvm && !is_waiting
            || class == "byte[]" && trace.starts_with("JudgedTables.arrays:")
    };
    let (old_rows, rows) = (theirs(&old, "sites")?, sites(&ours)?);
    same(
        "SITES",
        &kept(old_rows, 4, is_made),
        &kept(rows, 4, is_made),
    )?;

    let is_ours = |class: &str, _: &str| class.starts_with("Judged");
    let mut dumped = Dumped::default();
    loadhook_hprof::read(&file[..], &mut dumped).map_err(|error| anyhow::anyhow!("{error}"))?;
    let (old_rows, rows) = (theirs(&old, "dump")?, dumped.objects);
    same(
        "HEAP DUMP",
        &kept(old_rows, 1, is_ours),
        &kept(rows, 1, is_ours),
    )?;

    let is_called = |_: &str, trace: &str| trace.starts_with("Judged");
    let (old_rows, rows) = (theirs(&old, "times")?, costs(&ours, CostKind::Times)?);
    same(
        "CPU TIME",
        &kept(old_rows, 1, is_called),
        &kept(rows, 1, is_called),
    )?;

    let (old_rows, rows) = (theirs(&old, "monitors")?, costs(&ours, CostKind::Monitors)?);
    same(
        "MONITOR TIME",
        &kept(old_rows, 1, is_called),
        &kept(rows, 1, is_called),
    )
}

/// The largest difference of two times, as a part of the larger one. Beside each other, each profiler also measures
/// what the other one does in a call or wait: some 10 µs, where each call takes a millisecond and each wait ten.
const TIME_BOUND: f64 = 0.05;

/// The old profiler and our agent, in one JVM, measure the same calls.
fn times_are_equal(feature: u32) -> Result<()> {
    let (old, file) = run(feature, "200", "times", "cpu=times,format=b")?;
    let old = theirs(&old, "times")?;
    let ours = costs(&contents(&file)?, CostKind::Times)?;
    for method in WORK {
        let trace = format!("JudgedTables.{method}:0 JudgedTables$Worker.run:0");
        let [calls, nanos] = numbers(&old, "", &trace)?;
        let [own_calls, own_micros] = numbers(&ours, "", &trace)?;
        ensure!(
            calls == own_calls,
            "{method}: {calls} calls, {own_calls} calls"
        );
        close(method, nanos / 1000, own_micros)?;
    }
    Ok(())
}

fn numbers(rows: &Rows, class: &str, trace: &str) -> Result<[i64; 2]> {
    let row = rows.get(&(class.to_owned(), trace.to_owned()));
    let row = row.with_context(|| format!("no {class} at {trace}: {rows:#?}"))?;
    Ok([row[0], row[1]])
}

/// Checks that two times in microseconds are equal within [`TIME_BOUND`].
fn close(name: &str, theirs: i64, ours: i64) -> Result<()> {
    let bound = theirs.max(ours) as f64 * TIME_BOUND;
    ensure!(
        ours > 0 && (theirs - ours).abs() as f64 <= bound,
        "{name}: {theirs} µs for the old profiler and {ours} µs for ours"
    );
    Ok(())
}

/// Number of times that samples and times are drawn before the test fails.
const DRAWS: usize = 3;

/// The old profiler and our agent, in one JVM, find the same methods at work and measure the same waits for monitors.
///
/// Chance alone makes a comparison of samples fail once in 100,000 times, so one of the six of a run of this file once
/// in 16,000. One pause of a thread between the clocks of the two profilers makes the times of waits differ. Only these
/// two figures are drawn again: complaints and counts must be right in each run.
fn samples_and_waits_are_equal(feature: u32) -> Result<()> {
    let not_drawn = || Err(anyhow::anyhow!("not drawn"));
    let (mut times, mut samples): (Result<()>, Result<()>) = (not_drawn(), not_drawn());
    for _ in 0..DRAWS {
        let options = "cpu=samples,interval=4,monitor=y";
        let (old, file) = run(feature, "2000", "samples+monitors", options)?;
        let text = String::from_utf8_lossy(&file);
        let ours = contents(&file)?;
        let (old_rows, rows) = (theirs(&old, "monitors")?, costs(&ours, CostKind::Monitors)?);
        counts_of_waits_are_equal(&old, &text, &old_rows, &rows)?;
        if times.is_err() {
            times = times_of_waits_are_equal(&old_rows, &rows);
        }
        let (old_rows, rows) = (theirs(&old, "samples")?, costs(&ours, CostKind::Samples)?);
        if samples.is_err() {
            samples = samples_are_equal(&old_rows, &rows);
        }
        if times.is_ok() && samples.is_ok() {
            break;
        }
    }
    times.and(samples)
}

/// Compares the numbers of waits to enter monitors, and of calls of `Object.wait`.
fn counts_of_waits_are_equal(old: &str, text: &str, entered: &Rows, own: &Rows) -> Result<()> {
    for (class, trace) in entered.keys() {
        let [waits, _] = numbers(entered, class, trace)?;
        let [own_waits, _] = numbers(own, class, trace)?;
        ensure!(
            waits == own_waits,
            "{class}: {waits} waits, {own_waits} waits"
        );
    }
    ensure!(entered.len() == 2, "{entered:?}");
    for ((class, _), waits) in theirs(old, "waits")? {
        let line = format!("WAIT: MONITOR L{class};,");
        let own_waits = text.lines().filter(|it| it.starts_with(&line)).count();
        ensure!(
            waits == [own_waits as i64],
            "{class}: {waits:?} calls of wait, {own_waits}"
        );
    }
    Ok(())
}

/// Compares the times of waits to enter monitors.
fn times_of_waits_are_equal(entered: &Rows, own: &Rows) -> Result<()> {
    for (class, trace) in entered.keys() {
        let [_, nanos] = numbers(entered, class, trace)?;
        let [_, own_micros] = numbers(own, class, trace)?;
        close(class, nanos / 1000, own_micros)?;
    }
    Ok(())
}

/// The layer and our agent, in whichever order the JVM loads them, see the same sleeps.
fn sleeps_are_equal(feature: u32) -> Result<()> {
    /// The sleeps of `Judged`'s thread `waiter`.
    const SLEEPS: usize = 3;
    for is_ours_first in [true, false] {
        let run = Run::new(feature, "", "");
        let file = run.folder.path().join("ours");
        let (ours, judge) = (
            our_option("monitor=y", &file)?,
            agent_option("monitors", "")?,
        );
        let options = if is_ours_first {
            [ours.as_str(), judge.as_str()]
        } else {
            [judge.as_str(), ours.as_str()]
        };
        let run = run.jvm(&options);
        let output = run.judged(1)?;
        let (old, file) = (String::from_utf8_lossy(&output.stderr), fs::read(file)?);
        let text = String::from_utf8_lossy(&file);
        let lines = text.lines();
        let sleeps = lines.filter(|line| line.starts_with("SLEEP: timeout=2, thread "));
        ensure!(
            old.contains(&format!("total sleeps {SLEEPS}\n")) && sleeps.count() == SLEEPS,
            "ours first: {is_ours_first}\n{old}\n{text}"
        );
    }
    Ok(())
}

/// Compares the shares of the methods that do the work. The difference of two shares from `n` and `m` samples has the
/// standard error `√(p (1 - p) (1/n + 1/m))`; 4.4 times this are exceeded once in 100,000 times.
fn samples_are_equal(old: &Rows, ours: &Rows) -> Result<()> {
    let of = |rows: &Rows| -> [f64; 3] {
        WORK.map(|method| {
            let start = format!("JudgedTables.{method}:");
            let rows = rows
                .iter()
                .filter(|((_, trace), _)| trace.starts_with(&start));
            rows.map(|(_, numbers)| numbers[0] as f64).sum()
        })
    };
    let (old, ours) = (of(old), of(ours));
    let (all, own_all) = (old.iter().sum::<f64>(), ours.iter().sum::<f64>());
    ensure!(
        all > 100.0 && own_all > 100.0,
        "too few samples: {old:?} {ours:?}"
    );
    for (samples, own_samples) in old.into_iter().zip(ours) {
        let share = (samples + own_samples) / (all + own_all);
        let error = (share * (1.0 - share) * (1.0 / all + 1.0 / own_all)).sqrt();
        let difference = samples / all - own_samples / own_all;
        ensure!(difference.abs() <= 4.4 * error, "{old:?} {ours:?}");
    }
    Ok(())
}
