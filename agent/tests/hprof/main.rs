//! Tests of HPROF's options, from the command line to the file: each table, on a program whose numbers are known.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use loadhook_hprof::contents::{Contents, ReadContents, Section};
use loadhook_hprof::text::{Cost, CostKind, Site};
use loadhook_testkit::hprof_walk::walk;
use loadhook_testkit::jdk::Jdk;
use tempfile::TempDir;

#[path = "../support/mod.rs"]
mod support;
use support::{agent, compiled, finish};

mod faults;
mod files;
mod monitors;
mod sections;
mod sites;

/// Returns the command that runs `Hprof` for some milliseconds with these options.
fn command(feature: u32, folder: &Path, options: &str, millis: u32) -> Result<Command> {
    let mut java = command_of("Hprof", feature, folder, options)?;
    java.arg(millis.to_string());
    Ok(java)
}

/// Returns the command that runs a program with these options.
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
    java.arg("-cp").arg(compiled()?).arg(program);
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
    let lines = trace.frames.iter().map(|frame| frame.line);
    let lines: Vec<i32> = lines.collect();
    // The loop is compiled while it runs; its caller stays in the interpreter.
    ensure!(
        matches!(lines[..], [51..=57, 65])
            && trace.frames[0].source.as_deref() == Some("Hprof.java"),
        "{trace:?}"
    );
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
    // HPROF recorded the classes of the JDK, too.
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
    let frames = contents.traces[&step.trace].frames.iter();
    let lines: Vec<i32> = frames.map(|frame| frame.line).collect();
    // The first lines of these methods.
    ensure!(lines == [12, 16, 61], "{lines:?}");
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
    let rows = sites(&contents)?;
    // The tracker makes arrays for the calls that it counts.
    let names = rows
        .iter()
        .map(|row| contents.traces[&row.trace].frames.iter());
    let is_trackers = |class: &str| class.contains("$Loadhook");
    ensure!(!names.flatten().any(|frame| is_trackers(&frame.class)));
    ensure!(!rows.iter().any(|row| is_trackers(&row.class)));
    let item = rows.iter().find(|row| row.class == "Hprof$Item");
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
    let whole = contents(&file)?;
    let [Section::Old(rows)] = &whole.sections[..] else {
        bail!("{whole:?}");
    };
    let step = rows.iter().find(|row| row.callee == "Hprof.step(I)I");
    ensure!(step.is_some_and(|row| row.count == 1000), "{step:?}");
    Ok(())
}

on_jdks!(binary_files_have_the_same_tables: on_17 17, on_25 25);

on_jdks!(
    samples_have_the_stack_that_ran times_have_exact_calls sites_have_all_objects:
    on_11 11, on_25 25
);

/// A library with the name under which a JVM looks for HPROF takes HPROF's options as they are. For `-Xrun` it must not
/// have JVMPI's entry point, because a JVM makes a library with this function no agent.
fn a_library_named_as_hprof_takes_its_options(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("libhprof.so");
    let mut bytes = std::fs::read(agent()?)?;
    let entry = b"\0JVM_OnLoad\0";
    let at = bytes.windows(entry.len()).position(|part| part == entry);
    let at = at.context("the agent has no JVM_OnLoad")?;
    bytes[at + 1..][..10].copy_from_slice(b"JVM_0nLoad");
    std::fs::write(&library, bytes)?;
    let by_path = format!("-agentpath:{}", library.display());
    for (agent, environment, file) in [
        (format!("{by_path}=cpu=samples"), "", "java.hprof.txt"),
        (by_path, "heap=dump,format=b", "java.hprof"),
        (
            "-agentlib:hprof=heap=sites,file=a.txt".to_owned(),
            "",
            "a.txt",
        ),
        ("-agentlib:hprof=hprof:file=b.txt".to_owned(), "", "b.txt"),
        ("-Xrunhprof:monitor=y,file=c.txt".to_owned(), "", "c.txt"),
    ] {
        let mut java = Jdk::find(feature)?.java();
        java.current_dir(folder.path());
        java.env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS");
        java.env("_JAVA_HPROF_OPTIONS", environment);
        java.env("LD_LIBRARY_PATH", folder.path());
        java.arg(&agent)
            .arg("-cp")
            .arg(compiled()?)
            .args(["Hprof", "1"]);
        let output = finish(&mut java)?;
        let said = text(&output.stderr);
        ensure!(
            output.status.success() && said.contains(&format!("profile written to {file}\n")),
            "{agent}: {said}"
        );
    }
    Ok(())
}

on_jdks!(a_library_named_as_hprof_takes_its_options: on_17 17, on_25 25);

/// HPROF's help and its refusals end the JVM before `main`. An environment variable adds options.
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
            Some("net=localhost"),
            "hprof: net=localhost: expected HOST:PORT",
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
