//! The processor time of threads. It distinguishes threads that only waited from threads that
//! worked.

use anyhow::{Context, Result, ensure};
use loadhook_profile::ThreadTree;
use loadhook_profile::format::{Format, Options};

mod support;
use support::{Finished, Program};

on_each_jdk!(idle_threads no_time_without_a_wall_clock);

fn thread<'r>(run: &'r Finished, name: &str) -> Result<&'r ThreadTree> {
    let mut threads = run.profile.threads.iter();
    let found = threads.find(|thread| *thread.name == *name);
    found.with_context(|| format!("{}: no thread {name}", run.name))
}

/// Two threads wait for work. One of them still waits when the program ends, the other has ended
/// before.
fn idle_threads(feature: u32) -> Result<()> {
    for timing in ["adaptive", "exact"] {
        let run = Program::new(feature, "Waiting")
            .options(&format!("timing={timing}"))
            .run()?;
        run.printed("", 0)?;
        for name in ["idle", "ended-#"] {
            let cpu = thread(&run, name)?.cpu_ns;
            ensure!(
                cpu.is_some_and(|ns| ns < 10_000_000),
                "{}: {name}: {cpu:?}",
                run.name
            );
        }
        // The thread works for a second, but other programs may have had the processor for most of it.
        let cpu = thread(&run, "worker")?.cpu_ns;
        ensure!(
            cpu.is_some_and(|ns| (50_000_000..2_000_000_000).contains(&ns)),
            "{}: {cpu:?}",
            run.name
        );
        let mut table = Vec::new();
        Format::Table.write(&run.profile, &Options::default(), &mut table)?;
        let table = String::from_utf8(table)?;
        let line = table.lines().find(|line| line.contains(" only waited ("));
        let line = line.with_context(|| format!("{}: {table}", run.name))?;
        ensure!(line.contains("idle") && line.contains("ended-#"), "{line}");
        let waits = |line: &str| line.ends_with("Waiting.take");
        ensure!(!table.lines().any(waits), "{}: {table}", run.name);
        ensure!(table.contains("Waiting.work\n"), "{}: {table}", run.name);
    }
    Ok(())
}

/// Processor times are not read if no elapsed times are measured with which they could be compared.
fn no_time_without_a_wall_clock(feature: u32) -> Result<()> {
    for options in ["timing=count", "clock=cpu"] {
        let run = Program::new(feature, "Waiting").options(options).run()?;
        let threads = &run.profile.threads;
        let known = threads.iter().any(|thread| thread.cpu_ns.is_some());
        ensure!(!known && threads.len() >= 3, "{}: {threads:?}", run.name);
    }
    Ok(())
}
