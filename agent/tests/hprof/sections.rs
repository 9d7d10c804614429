//! Every section of one program, whose numbers are known, under each collector.

use anyhow::{Context, Result, ensure};
use loadhook_hprof::contents::{Contents, Section};
use loadhook_hprof::text::CostKind;

use super::monitors::contended;
use super::{command_of, contents, costs, run_in, sites, text};
use crate::on_each_jdk;

/// Returns the options of the JVM for each collector. A JDK without one of them makes the test fail with the JVM's
/// message, which names the collector.
fn collectors(feature: u32) -> [&'static str; 4] {
    let zgc = if feature == 11 {
        "-XX:+UnlockExperimentalVMOptions -XX:+UseZGC"
    } else {
        "-XX:+UseZGC"
    };
    [
        "-XX:+UseSerialGC",
        "-XX:+UseParallelGC",
        "-XX:+UseG1GC",
        zgc,
    ]
}

/// Options with which JDK 11 reports all objects of the program: buffers that all objects fit into. It reports none of a
/// thread between an object outside the thread's buffer and the next buffer, and of 3,000 objects up to all were
/// missing. Without buffers, it does not report those that code makes in the heap of the serial and the parallel
/// collector.
const BUFFERS_OF_JDK_11: &str = "-XX:TLABSize=256k -XX:-ResizeTLAB -XX:TLABRefillWasteFraction=1";

/// All sections have the numbers of the program, under each collector. CPU TIME does not depend on the collector, and
/// takes the most time, so one run has it.
fn sections_have_the_numbers_of_the_program(feature: u32) -> Result<()> {
    for (at, collector) in collectors(feature).into_iter().enumerate() {
        let has_times = at == feature as usize % 4;
        let times = if has_times { "cpu=times," } else { "" };
        let options = format!("{times}heap=all,monitor=y,depth=2,cutoff=0");
        let folder = tempfile::tempdir()?;
        let mut command = command_of("HprofSections", feature, folder.path(), &options)?;
        let buffers = if feature == 11 { BUFFERS_OF_JDK_11 } else { "" };
        let java_options = format!("-Xmx256m {collector} {buffers}");
        command.env("JAVA_TOOL_OPTIONS", java_options);
        let (file, output) = run_in(&folder, command, &options)?;
        let run = || format!("JDK {feature}, {collector}: {}", text(&output.stderr));
        let whole = contents(&file).with_context(run)?;
        check(&whole, &text(&file)).with_context(run)?;
        if has_times {
            check_times(&whole).with_context(run)?;
        }
    }
    Ok(())
}

on_each_jdk!(sections_have_the_numbers_of_the_program);

/// Checks the table that depends on probes.
fn check_times(contents: &Contents) -> Result<()> {
    let (_, rows) = costs(contents, CostKind::Times)?;
    let calls = |name: &str| {
        let rows = rows.iter().filter(|row| row.name == name);
        rows.map(|row| row.count).sum::<i64>()
    };
    let names = [
        "Hprof.step",
        "Hprof.loop",
        "Hprof.fail",
        "HprofMonitors.enter",
        "HprofSections.sleep",
    ];
    let calls = names.map(calls);
    ensure!(calls == [1000, 1, 300, 3, 1], "{calls:?}");
    Ok(())
}

/// Checks the sections that do not depend on classes that have probes.
fn check(contents: &Contents, file: &str) -> Result<()> {
    let objects = |class: &str| {
        let rows = sites(contents)?.iter().filter(|row| row.class == class);
        let sum = rows.fold([0, 0], |[live, all], row| {
            let [own, made] = [row.live, row.allocated].map(|of| of.objects.unwrap_or(0));
            [live + own, all + made]
        });
        anyhow::Ok(sum)
    };
    ensure!(objects("Hprof$Item")? == [1000, 1000]);
    let gone = objects("Hprof$Gone")?;
    ensure!(gone[0] <= 3000 && gone[1] == 3000, "{gone:?}");
    let lines = |start: &str, part: &str| {
        let lines = file.lines().filter(|line| line.starts_with(start));
        lines.filter(|line| line.contains(part)).count()
    };
    ensure!(lines("OBJ ", ", class=Hprof$Item@") == 1000);
    ensure!(contended(contents, CostKind::Monitors, "HprofMonitors$Gate", "enter")? == 3);
    let main = contents.threads.iter().find(|(_, it)| it.name == "main");
    let (main, _) = main.context("the main thread is missing")?;
    let in_main = format!(", thread {main}");
    for (start, part, count) in [
        (
            "WAIT: MONITOR LHprofMonitors$Bell;, timeout=20",
            &*in_main,
            1,
        ),
        (
            "WAITED: MONITOR LHprofMonitors$Bell;, time_waited=",
            &in_main,
            1,
        ),
        ("SLEEP: timeout=7", &in_main, 5),
    ] {
        let found = lines(start, part);
        ensure!(found == count, "{start}: {found}");
    }
    let dump = contents.sections.iter().find_map(|section| match section {
        Section::Monitors(dump) => Some(dump),
        _ => None,
    });
    let dump = dump.context("no MONITOR DUMP")?;
    let name = |serial: &u32| &*contents.threads[serial].name;
    let mut taken: Vec<_> = dump
        .monitors
        .iter()
        .filter(|monitor| monitor.class.starts_with("LHprof"))
        .map(|monitor| {
            let owner = monitor
                .owner
                .map(|owner| (name(&owner.thread), owner.entries));
            let waits: Vec<&str> = monitor.to_enter.iter().map(name).collect();
            (&*monitor.class, owner, waits, monitor.to_be_notified.len())
        })
        .collect();
    taken.sort_unstable();
    let [left, right] = ["takes-left", "takes-right"];
    ensure!(
        taken
            == [
                ("LHprofMonitors$Left;", Some((left, 1)), vec![right], 0),
                ("LHprofMonitors$Right;", Some((right, 1)), vec![left], 0),
            ],
        "{taken:?}"
    );
    Ok(())
}
