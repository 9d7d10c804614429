//! Tests that every thread has its own path, whatever the program does to its threads.

mod support;

use anyhow::{Result, ensure};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use support::{ADAPTIVE, COUNT, EXACT, Program, expectations};

#[test]
fn up_to_64_threads_that_lie() -> Result<()> {
    let program = Program::new("Threads64")?;
    let exact = Program::exact("Threads64")?;
    let programs = [
        (&program, ADAPTIVE),
        (&program, EXACT),
        (&exact, EXACT),
        (&program, COUNT),
    ];
    for jdk in [17, 25] {
        for (program, timing) in programs {
            let profile = program.run(jdk, &["-Ddurations=true"], timing, 1_000_000)?;
            let counted = [
                ("", "Odd.run", 127),
                ("Odd.run", "Threads64.work", 127),
                ("Threads64.work", "Threads64.outer", 127_000),
                ("Threads64.outer", "Threads64.inner", 190_500),
                ("Threads64.main", "Odd.<init>", 127),
            ];
            for (caller, method, calls) in counted {
                let found = profile.calls(caller, method);
                ensure!(found == calls, "{jdk} {timing}: {caller} {method} {found}");
                let ranges = profile.durations.get(method);
                let measured = ranges.map_or(0, |ranges| ranges.values().sum());
                // The probes of `Exact` do not count durations.
                match timing {
                    EXACT if !std::ptr::eq(program, &exact) => {
                        ensure!(measured == calls, "{jdk}: {method} {measured} measured")
                    }
                    EXACT => {}
                    COUNT => ensure!(measured == 0, "{jdk}: {method} {measured} measured"),
                    _ => ensure!(measured > 0 && measured <= calls, "{method} {measured}"),
                }
            }
            let mut names: Vec<(i64, &str)> = profile
                .threads
                .iter()
                .map(|thread| (thread.kind, thread.name.as_str()))
                .collect();
            names.sort_unstable();
            ensure!(
                names == [(0, "main"), (2, "same-renamed"), (2, "worker-#-#-renamed")],
                "{names:?}"
            );
            profile.check_times()?;
        }
    }
    Ok(())
}

/// Number of virtual threads that run one after the other. Ten million would take a minute.
const SEQUENCE: u32 = 1_000_000;

#[test]
fn virtual_threads() -> Result<()> {
    let program = Program::new("Virtual")?;
    let plain = Program::compiled("java/Virtual.java")?;
    // The heap that a parked thread's stack takes depends on which of its frames are compiled. So
    // the program is interpreted.
    let interpreted = ["-Xmx1g", "-Xint", "-Dsequence=1"];
    let mut java = Jdk::find(25)?.java();
    java.args(interpreted)
        .arg("-cp")
        .arg(plain.path())
        .arg("Virtual");
    let plain = expectations(&process::output(&mut java)?);
    let live = program.run(25, &interpreted, ADAPTIVE, 1_000_000)?.expected["live"];
    let sequence = format!("-Dsequence={SEQUENCE}");
    let profile = program.run(25, &["-Xmx1g", &sequence], ADAPTIVE, 1_000_000)?;
    let counted = [
        ("", "Virtual.one", 100_000),
        ("Virtual.one", "Virtual.two", 100_000),
        ("Virtual.two", "Virtual.three", 200_000),
        ("", "Virtual.brief", i64::from(SEQUENCE)),
        ("Virtual.brief", "Virtual.leaf", i64::from(SEQUENCE)),
    ];
    for (caller, method, calls) in counted {
        let found = profile.calls(caller, method);
        ensure!(found == calls, "{caller} {method} {found}");
    }
    let added = live.saturating_sub(plain["live"]) / 100_000;
    println!("{added} bytes more for each of 100,000 live virtual threads");
    ensure!(
        added <= 1024,
        "at most 1024 bytes for each live virtual thread expected, {added} found"
    );
    let (before, after) = (profile.expected["before"], profile.expected["after"]);
    ensure!(
        after < before + 2_000_000,
        "memory should grow by less than 2 MB, but was {before} bytes and is {after}"
    );
    Ok(())
}

/// The ends of these threads are not reported. If a path finds no room, the calls of its thread are
/// lost, and counted as lost. Later threads find room again.
#[test]
fn virtual_threads_find_the_room_of_those_before() -> Result<()> {
    let program = Program::new("Wave")?;
    let jvm = ["-Xmx96m", "-XX:+UseSerialGC"];
    let profile = program.run(25, &jvm, COUNT, 1_000_000)?;
    let [waits, later] = ["Wave.waits", "Wave.later"].map(|method| profile.calls("", method));
    ensure!(
        (1_000..30_000).contains(&waits),
        "room for at least 1,000 but not all of 30,000 threads expected, for {waits} found"
    );
    ensure!(
        (99_000..=100_000).contains(&later),
        "room for at least 99,000 of 100,000 later threads expected, for {later} found"
    );
    Ok(())
}
