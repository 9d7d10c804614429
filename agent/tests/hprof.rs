//! Tests of HPROF's options, from the command line to the file: each table, on a program whose numbers are known.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use loadhook_hprof::contents::{Contents, Heap, ReadContents, Section};
use loadhook_hprof::text::{Cost, CostKind, Site};
use loadhook_hprof::{ErrorKind, LoadClass, Visitor, read};
use loadhook_testkit::hprof_walk::walk;
use loadhook_testkit::jdk::Jdk;

use tempfile::TempDir;

mod support;
use support::{agent, compiled, finish};

/// The command that runs `Hprof` for some milliseconds with these options.
fn command(feature: u32, folder: &Path, options: &str, millis: u32) -> Result<Command> {
    let mut java = command_of("Hprof", feature, folder, options)?;
    java.arg(millis.to_string());
    Ok(java)
}

/// The command that runs a program with these options.
fn command_of(program: &str, feature: u32, folder: &Path, options: &str) -> Result<Command> {
    let mut java = Jdk::find(feature)?.java();
    java.current_dir(folder);
    for variable in [
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_HPROF_OPTIONS",
    ] {
        java.env_remove(variable);
    }
    java.arg(format!("-agentpath:{}=hprof:{options}", agent()?.display()));
    java.arg("-cp").arg(compiled(program)?).arg(program);
    Ok(java)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the program to its end and reads the file.
fn run(feature: u32, options: &str, millis: u32) -> Result<(Contents, Output)> {
    let (file, output) = run_to_file(feature, options, millis)?;
    Ok((contents(&file)?, output))
}

/// Reads a file that has neither a fault nor a contradiction.
fn contents(file: &[u8]) -> Result<Contents> {
    let ReadContents { contents, error } = Contents::read(file);
    ensure!(error.is_none(), "{error:?}");
    ensure!(contents.warnings.is_empty(), "{:?}", contents.warnings);
    Ok(contents)
}

/// Runs `Hprof` to its end, and returns the bytes of the file.
fn run_to_file(feature: u32, options: &str, millis: u32) -> Result<(Vec<u8>, Output)> {
    let folder = tempfile::tempdir()?;
    run_in(
        &folder,
        command(feature, folder.path(), options, millis)?,
        options,
    )
}

/// Runs a program to its end, and returns the bytes of the file.
fn run_in(folder: &TempDir, mut command: Command, options: &str) -> Result<(Vec<u8>, Output)> {
    let output = finish(&mut command)?;
    ensure!(
        output.status.success() && text(&output.stdout) == "done\n",
        "{output:?}"
    );
    let is_binary = options.contains("format=b");
    let name = if is_binary {
        "java.hprof"
    } else {
        "java.hprof.txt"
    };
    let file = std::fs::read(folder.path().join(name))?;
    if is_binary {
        ensure!(walk(&file)[&0x2c] == 1, "the file has no end");
    }
    // Neither the temporary file nor the heap dump is left.
    ensure!(std::fs::read_dir(folder.path())?.count() == 1);
    Ok((file, output))
}

fn costs(contents: &Contents, of: CostKind) -> Result<(i64, &[Cost])> {
    for section in &contents.sections {
        if let Section::Costs { begin, rows } = section
            && begin.kind == of
        {
            return Ok((begin.total, rows));
        }
    }
    bail!("no {}: {contents:?}", of.title())
}

fn sites(contents: &Contents) -> Result<&[Site]> {
    let mut sections = contents.sections.iter();
    let rows = sections.find_map(|section| match section {
        Section::Sites { rows, .. } => Some(&rows[..]),
        _ => None,
    });
    rows.context("no SITES")
}

fn samples_have_the_stack_that_ran(feature: u32) -> Result<()> {
    let (contents, output) = run(feature, "cpu=samples,depth=2,cutoff=0,thread=y", 800)?;
    let (total, rows) = costs(&contents, CostKind::Samples)?;
    ensure!(
        rows.iter().map(|row| row.count).sum::<i64>() == total,
        "{rows:?}"
    );
    let first = rows.first().context("no samples")?;
    ensure!(first.name == "Hprof.burn", "{first:?}");
    let trace = &contents.traces[&first.trace];
    ensure!(trace.frames.len() == 2, "{trace:?}");
    let thread = trace.thread.context("traces are told apart by thread")?;
    ensure!(contents.threads[&thread].name == "burns", "{thread}");
    ensure!(
        contents
            .traces
            .values()
            .all(|trace| trace.frames.len() <= 2)
    );
    ensure!(
        text(&output.stderr).contains("profile written to java.hprof.txt"),
        "{output:?}"
    );
    Ok(())
}

fn times_have_exact_calls(feature: u32) -> Result<()> {
    let (contents, _) = run(feature, "cpu=times,cutoff=0,verbose=n", 50)?;
    let (_, rows) = costs(&contents, CostKind::Times)?;
    let calls = |name: &str| {
        let rows = rows.iter().filter(|row| row.name == name);
        rows.map(|row| row.count).sum::<i64>()
    };
    let names = [
        "Hprof.step",
        "Hprof.loop",
        "Hprof.fail",
        "Hprof.burn",
        "Hprof.main",
    ];
    ensure!(
        names.map(calls) == [1000, 1, 300, 1, 1],
        "{:?}",
        names.map(calls)
    );
    // HPROF took the classes of the JDK, too.
    ensure!(calls("java.lang.Thread.join") > 0);
    ensure!(
        contents
            .traces
            .values()
            .all(|trace| trace.frames.len() <= 4 && trace.thread.is_none())
    );
    let step = rows
        .iter()
        .find(|row| row.name == "Hprof.step")
        .context("no step")?;
    let frames = contents.traces[&step.trace].frames.iter();
    let methods: Vec<&str> = frames.map(|frame| frame.method.as_str()).collect();
    ensure!(methods == ["step", "loop", "main"], "{methods:?}");
    Ok(())
}

fn sites_have_all_objects(feature: u32) -> Result<()> {
    let (contents, _) = run(feature, "heap=sites,depth=1,cutoff=0", 1)?;
    let rows = sites(&contents)?;
    let of = |class: &str| {
        rows.iter()
            .filter(|row| row.class == class)
            .collect::<Vec<_>>()
    };
    let [item] = of("Hprof$Item")[..] else {
        bail!("{rows:?}");
    };
    ensure!(
        (item.live.objects, item.allocated.objects) == (Some(1000), Some(1000)),
        "{item:?}"
    );
    ensure!(item.allocated.bytes == Some(16_000), "{item:?}");
    let [place] = &contents.traces[&item.trace].frames[..] else {
        bail!("{:?}", contents.traces[&item.trace]);
    };
    ensure!(
        (place.method.as_str(), place.line) == ("keep", 38),
        "{place:?}"
    );
    let gone: u64 = of("Hprof$Gone")
        .iter()
        .filter_map(|row| row.allocated.objects)
        .sum();
    ensure!(gone == 3000, "{gone}");
    Ok(())
}

/// The binary format has the numbers of the text.
fn binary_files_have_the_same_tables(feature: u32) -> Result<()> {
    let options = "cpu=times,heap=sites,depth=2,cutoff=0,format=b";
    let (contents, _) = run(feature, options, 1)?;
    let (_, rows) = costs(&contents, CostKind::Times)?;
    let step: Vec<_> = rows.iter().filter(|row| row.name == "Hprof.step").collect();
    ensure!(matches!(step[..], [row] if row.count == 1000), "{step:?}");
    let item = sites(&contents)?
        .iter()
        .find(|row| row.class == "Hprof$Item");
    let item = item.context("no items")?;
    ensure!(item.live.objects == Some(1000), "{item:?}");
    let frames = &contents.traces[&item.trace].frames;
    ensure!(
        frames[0].to_string() == "\tHprof.keep(Hprof.java:38)",
        "{frames:?}"
    );
    let has_summary = |section: &Section| matches!(section, Section::Summary(_));
    ensure!(contents.sections.iter().any(has_summary));
    let (contents, _) = run(feature, "cpu=samples,format=b,thread=y", 300)?;
    let (_, rows) = costs(&contents, CostKind::Samples)?;
    let first = rows.first().context("no samples")?;
    let thread = contents.traces[&first.trace].thread;
    let thread = thread.context("traces are told apart by thread")?;
    ensure!(
        (first.name.as_str(), contents.threads[&thread].name.as_str()) == ("Hprof.burn", "burns"),
        "{first:?}"
    );
    Ok(())
}

/// Counts the objects of `Hprof$Item`.
#[derive(Default)]
struct Items {
    names: HashMap<u64, Vec<u8>>,
    class: u64,
    count: u64,
}

impl Visitor for Items {
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.names.insert(id, text.to_vec());
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        // A site names the class, too, by an identifier that no object has.
        if self.names[&class.name] == b"Hprof$Item" {
            self.class = class.class;
        }
        Ok(())
    }
    fn instance(&mut self, _: u64, class: u64, _: &[u8]) -> Result<(), ErrorKind> {
        self.count += u64::from(class == self.class);
        Ok(())
    }
}

fn heap(contents: &Contents) -> Result<&Heap> {
    let mut sections = contents.sections.iter();
    let heap = sections.find_map(|section| match section {
        Section::Heap(heap) => Some(heap),
        _ => None,
    });
    heap.context("no heap dump")
}

/// The dump of the heap follows the tables, in both formats.
fn heaps_have_all_objects(feature: u32) -> Result<()> {
    let (file, _) = run_to_file(feature, "heap=all,format=b", 1)?;
    let whole = contents(&file)?;
    sites(&whole)?;
    ensure!(heap(&whole)?.objects > 1000);
    let mut items = Items::default();
    read(&file[..], &mut items)?;
    ensure!(items.count == 1000, "{}", items.count);
    let (file, _) = run_to_file(feature, "heap=dump,verbose=n", 1)?;
    let whole = contents(&file)?;
    ensure!(heap(&whole)?.arrays > 100 && heap(&whole)?.roots > 10);
    let main = whole
        .threads
        .values()
        .find(|thread| thread.name == "DestroyJavaVM");
    ensure!(main.is_some(), "{:?}", whole.threads);
    let text = text(&file);
    let items = text
        .lines()
        .filter(|line| line.contains("class=Hprof$Item@"));
    // An object without fields has 16 bytes under compressed class pointers.
    let sizes = items
        .map(|line| line.contains(" (sz=16, "))
        .collect::<Vec<_>>();
    ensure!(sizes == [true; 1000], "{}", sizes.len());
    ensure!(text.contains("elem type=Hprof$Item[]@") && text.contains("\tstatic items\t"));
    ensure!(!text.contains("SITES"));
    Ok(())
}

/// The contended enters of a class at a method: their number and milliseconds.
fn contended(contents: &Contents, class: &str, method: &str) -> Result<i64> {
    let (total, rows) = costs(contents, CostKind::Monitors)?;
    let mut rows = rows.iter().filter(|row| row.name == class);
    let (Some(row), None) = (rows.next(), rows.next()) else {
        bail!("{contents:?}");
    };
    let frame = contents.traces[&row.trace].frames.first();
    let frame = frame.context("the trace is empty")?;
    ensure!(
        frame.method == method && frame.line > 0 && total > 0,
        "{frame:?}, {total}"
    );
    Ok(row.count)
}

fn monitors_have_their_threads(feature: u32) -> Result<()> {
    let run = |options: &str| -> Result<Vec<u8>> {
        let folder = tempfile::tempdir()?;
        let command = command_of("HprofMonitors", feature, folder.path(), options)?;
        Ok(run_in(&folder, command, options)?.0)
    };
    let file = run("monitor=y,cutoff=0")?;
    let whole = contents(&file)?;
    ensure!(contended(&whole, "HprofMonitors$Gate", "enter")? == 3);
    ensure!(whole.monitor_events >= 2, "{}", whole.monitor_events);
    let dump = whole.sections.iter().find_map(|section| match section {
        Section::Monitors(dump) => Some(dump),
        _ => None,
    });
    let dump = dump.context("no MONITOR DUMP")?;
    let name = |serial: &u32| whole.threads[serial].name.as_str();
    let circles = dump.deadlocks();
    let [circle] = &circles[..] else {
        bail!("{circles:?}");
    };
    let mut names: Vec<&str> = circle.iter().map(name).collect();
    names.sort_unstable();
    ensure!(names == ["takes-left", "takes-right"], "{names:?}");
    let left = dump
        .monitors
        .iter()
        .find(|monitor| monitor.class == "LHprofMonitors$Left;");
    let owner = left.and_then(|monitor| monitor.owner).context("no owner")?;
    ensure!((name(&owner.thread), owner.entries) == ("takes-left", 1));
    let is_blocked = |thread: u32| {
        let mut states = dump.threads.iter();
        states.any(|state| state.thread == thread && state.status == "MW")
    };
    ensure!(circle.iter().all(|thread| is_blocked(*thread)), "{dump:?}");
    for thread in whole.threads.values() {
        let name = &thread.name;
        ensure!(
            !name.starts_with("takes-") || !thread.has_ended,
            "{thread:?}"
        );
        ensure!(
            !name.starts_with("waits-") || thread.has_ended,
            "{thread:?}"
        );
    }
    let text = text(&file);
    for part in [
        "\nDeadlock: each of these threads waits for the next one: takes-",
        "\nWAIT: MONITOR LHprofMonitors$Bell;, timeout=20, thread ",
        "\nWAITED: MONITOR LHprofMonitors$Bell;, time_waited=",
    ] {
        ensure!(text.contains(part), "{part}");
    }
    let file = run("monitor=y,cutoff=0,format=b,thread=y")?;
    let whole = contents(&file)?;
    let (_, rows) = costs(&whole, CostKind::Monitors)?;
    let gates = rows.iter().filter(|row| row.name == "HprofMonitors$Gate");
    let thread = |trace: u32| {
        whole.traces[&trace]
            .thread
            .map(|thread| &whole.threads[&thread])
    };
    let mut names: Vec<&str> = gates
        .filter_map(|row| Some(thread(row.trace)?.name.as_str()))
        .collect();
    names.sort_unstable();
    ensure!(names == ["waits-0", "waits-1", "waits-2"], "{names:?}");
    Ok(())
}

/// At its end the JVM has stopped the threads of a concurrent collector, which then collects nothing more.
#[test]
fn concurrent_collectors_do_not_hold_the_end_up() -> Result<()> {
    for feature in [17, 25] {
        let folder = tempfile::tempdir()?;
        let options = "heap=all,monitor=y,format=b";
        let mut command = command(feature, folder.path(), options, 1)?;
        command.env("JAVA_TOOL_OPTIONS", "-XX:+UseZGC");
        let (file, _) = run_in(&folder, command, options)?;
        ensure!(heap(&contents(&file)?)?.objects > 1000);
    }
    Ok(())
}

on_jdks!(monitors_have_their_threads: on_17 17, on_25 25);

/// An event of a monitor calls no class loader of the program, which may wait for another monitor. On JDK 21, because no
/// thread of that JDK waits for a monitor before `main`.
#[test]
fn events_of_monitors_load_no_classes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let command = command_of("HprofLoader", 21, folder.path(), "monitor=y,cutoff=0")?;
    let (file, _) = run_in(&folder, command, "monitor=y,cutoff=0")?;
    ensure!(contended(&contents(&file)?, "java.lang.Object", "run")? == 1);
    Ok(())
}

/// The list of JDK 1.1 has each pair of callee and caller.
#[test]
fn old_lists_have_callees_and_callers() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let command = command(17, folder.path(), "cpu=old", 1)?;
    let (file, _) = run_in(&folder, command, "cpu=old")?;
    let list = text(&file);
    ensure!(list.starts_with("count callee caller time\n"));
    for row in [
        "\n1000 Hprof.step(I)I Hprof.loop()V ",
        "\n300 Hprof.fail()V Hprof.caught()V ",
        "\n1 Hprof.main([Ljava/lang/String;)V <unknown caller> ",
    ] {
        ensure!(list.contains(row), "{row}");
    }
    Ok(())
}

/// Without a dump at the exit there is no file.
#[test]
fn nothing_is_written_at_the_exit_if_so_wanted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = command(17, folder.path(), "heap=all,doe=n", 1)?;
    let output = finish(&mut command)?;
    ensure!(
        output.status.success() && text(&output.stdout) == "done\n",
        "{output:?}"
    );
    ensure!(std::fs::read_dir(folder.path())?.count() == 0);
    Ok(())
}

/// `SIGQUIT` writes a file with the numbers so far, beside the one at the end.
#[test]
fn a_signal_writes_a_file_of_its_own() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = command(17, folder.path(), "heap=all,doe=n,depth=1,cutoff=0", 1)?;
    command.arg("java.hprof.1.txt");
    let output = finish(&mut command)?;
    ensure!(output.status.success(), "{output:?}");
    let said = text(&output.stderr);
    ensure!(
        said.contains("profile written to java.hprof.1.txt"),
        "{said}"
    );
    let file = std::fs::read(folder.path().join("java.hprof.1.txt"))?;
    let whole = contents(&file)?;
    let item = sites(&whole)?.iter().find(|row| row.class == "Hprof$Item");
    ensure!(
        item.is_some_and(|row| row.live.objects == Some(1000)),
        "{item:?}"
    );
    ensure!(heap(&whole)?.objects > 1000);
    ensure!(std::fs::read_dir(folder.path())?.count() == 1);
    Ok(())
}

/// With `force=n` the files of signals replace none, either.
#[test]
fn a_file_that_a_signal_asks_for_replaces_none() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let before = folder.path().join("java.hprof.1.txt");
    std::fs::write(&before, "before")?;
    let mut command = command(17, folder.path(), "heap=sites,doe=n,force=n", 1)?;
    command.arg("java.hprof.2.txt");
    let output = finish(&mut command)?;
    ensure!(output.status.success(), "{output:?}");
    ensure!(std::fs::read(before)? == b"before");
    Ok(())
}

/// The JVM may end while a dump that a signal asked for is under way: the file at the end is complete, and no other file
/// is left but complete ones. A dump under ZGC would wait for ever if it asked for a collection then.
#[test]
fn the_end_needs_no_dump_under_way() -> Result<()> {
    for collector in ["-XX:+UseZGC", "-XX:+UseG1GC"] {
        let folder = tempfile::tempdir()?;
        let mut command = command(17, folder.path(), "heap=all,format=b", 1)?;
        command.env("JAVA_TOOL_OPTIONS", collector).arg(".");
        let output = finish(&mut command)?;
        ensure!(output.status.success(), "{output:?}");
        let said = text(&output.stderr);
        ensure!(
            said.contains("profile written to java.hprof\n") && !said.contains("no heap dump"),
            "{said}"
        );
        for entry in std::fs::read_dir(folder.path())? {
            let file = entry?.path();
            ensure!(heap(&contents(&std::fs::read(&file)?)?)?.objects > 1000);
            ensure!(
                ["java.hprof", "java.hprof.1"].contains(&&*text(
                    file.file_name().context("no name")?.as_encoded_bytes()
                )),
                "{file:?}"
            );
        }
    }
    Ok(())
}

on_jdks!(heaps_have_all_objects: on_17 17, on_25 25);
on_jdks!(binary_files_have_the_same_tables: on_17 17, on_25 25);

on_jdks!(
    samples_have_the_stack_that_ran times_have_exact_calls sites_have_all_objects:
    on_11 11, on_25 25
);

/// HPROF's help and its refusals end the JVM before `main`. The environment adds options.
#[test]
fn options_are_those_of_hprof() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let outcome = |options: &str, environment: Option<&str>| -> Result<(bool, String, String)> {
        let mut command = command(17, folder.path(), options, 1)?;
        if let Some(more) = environment {
            command.env("_JAVA_HPROF_OPTIONS", more);
        }
        let output = finish(&mut command)?;
        Ok((
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        ))
    };
    let (is_success, out, _) = outcome("help", None)?;
    ensure!(
        is_success && out.contains("cpu=samples|times") && !out.contains("done"),
        "{out}"
    );
    for (options, environment, message) in [
        (
            "cpu=samples",
            Some("net=localhost:1"),
            "hprof: net= is not supported yet",
        ),
        (
            "cpu=old",
            Some("format=b"),
            "hprof: format=b cannot be combined with cpu=old",
        ),
    ] {
        let (is_success, out, said) = outcome(options, environment)?;
        ensure!(
            !is_success && !out.contains("done") && said.contains(message),
            "{said}"
        );
    }
    let (is_success, _, said) = outcome("heap=sites,msa=y", Some("file=other.txt,verbose=n"))?;
    ensure!(
        is_success && said.contains("hprof: msa= has no effect"),
        "{said}"
    );
    ensure!(
        folder.path().join("other.txt").exists() && !said.contains("written"),
        "{said}"
    );
    Ok(())
}
