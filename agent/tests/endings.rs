//! Programs and threads that end inside methods. Every call must be counted once.

use anyhow::{Result, ensure};

mod support;
use support::{Finished, Program, TIMINGS, edges, from_anywhere};

on_each_jdk!(programs daemons threads);
on_jdks!(stopped: on_11 11, on_17 17);

fn run(feature: u32, timing: &str, ending: &str) -> Result<Finished> {
    Program::new(feature, "Endings")
        .options(&format!("timing={timing}"))
        .args(&[ending])
        .run()
}

const UNDER_WAY: &str = "
    - > main 1
    main > ends 3
    ends > below 2
    ends > leaf 3
";

fn programs(feature: u32) -> Result<()> {
    for timing in TIMINGS {
        let exit = format!("{UNDER_WAY}- > hook 1\n hook > leaf 1");
        run(feature, timing, "exit")?
            .printed("", 3)?
            .calls("Endings", &exit)?
            .sound(1)?;
        run(feature, timing, "halt")?
            .printed("", 4)?
            .calls("Endings", UNDER_WAY)?
            .sound(1)?;
        let exception = run(feature, timing, "exception")?;
        ensure!(exception.output.status.code() == Some(1));
        // Both `finally` blocks have run when the program ends.
        let calls = format!("{UNDER_WAY}below > leaf 2");
        exception.calls("Endings", &calls)?.sound(1)?;
    }
    Ok(())
}

fn daemons(feature: u32) -> Result<()> {
    for timing in TIMINGS {
        let run = run(feature, timing, "daemons")?;
        // The number of calls of the busy thread is not known.
        let found = edges(&run.profile, "Endings");
        let spins = ["spins > spin", &from_anywhere("spin")]
            .into_iter()
            .find_map(|edge| found.get(edge).copied())
            .unwrap_or_default();
        run.printed("", 0)?.sound(1)?.calls(
            "Endings",
            &format!(
                "- > main 1
                main > daemons 1
                - > lambda$daemons$0 1
                lambda$daemons$0 > spins 1
                spins > spin {spins}
                - > lambda$daemons$1 3
                lambda$daemons$1 > waits 3
                waits > leaf 3000
                waits > parks 3"
            ),
        )?;
        ensure!(spins > 0, "{}: the busy thread made no calls", run.name);
    }
    Ok(())
}

/// The JVM calls the handler of uncaught exceptions, so the handler has no caller in the profile.
fn threads(feature: u32) -> Result<()> {
    for timing in TIMINGS {
        run(feature, timing, "threads")?
            .printed("", 0)?
            .calls(
                "Endings",
                "- > main 1
                main > uncaught 1
                - > lambda$uncaught$2 100
                lambda$uncaught$2 > fails 400
                fails > leaf 400
                - > lambda$uncaught$3 100
                lambda$uncaught$3 > leaf 100",
            )?
            .sound(100)?;
    }
    Ok(())
}

fn stopped(feature: u32) -> Result<()> {
    for timing in TIMINGS {
        run(feature, timing, "stopped")?
            .printed("", 0)?
            .calls(
                "Endings",
                "- > main 1
                main > stopped 1
                - > lambda$stopped$4 100
                lambda$stopped$4 > survives 100
                survives > sleeps 100
                survives > leaf 200",
            )?
            .sound(100)?;
    }
    Ok(())
}
