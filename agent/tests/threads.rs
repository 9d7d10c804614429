//! Many platform and virtual threads. Every call is counted once, below the methods of its own
//! thread.

use anyhow::{Result, ensure};

mod support;
use support::{Program, TIMINGS};

on_each_jdk!(platform);
on_jdks!(virtual_threads: on_21 21, on_25 25);

/// Expected calls: 150 threads work in `many`, three are impostors, `renamed` works 100 times,
/// `erased` 20 times; `parent`, its child and `main` work once each.
const PLATFORM: &str = "
    - > main 1
    main > many 8
    main > together 11
    - > lambda$many$0 150
    lambda$many$0 > work 150
    main > Impostor.<init> 3
    - > Impostor.run 3
    Impostor.run > work 3
    - > renamed 2
    renamed > work 100
    - > lambda$main$3 1
    lambda$main$3 > parent 1
    parent > work 1
    - > work 1
    - > lambda$main$4 1
    - > lambda$main$5 1
    lambda$main$4 > erased 1
    lambda$main$5 > erased 1
    erased > work 20
    main > pool 1
    - > lambda$pool$1 1000
    lambda$pool$1 > leaf 1000
    lambda$pool$1 > Enough.<init> 10
    - > lambda$main$2 10
    lambda$main$2 > leaf 10
    main > work 1
    work > step 1380000
    step > Enough.<init> 690000
    step > leaf 690000
    work > leaf 690000
";

fn platform(feature: u32) -> Result<()> {
    for timing in TIMINGS {
        let run = Program::new(feature, "Threads")
            .options(&format!("timing={timing}"))
            .jvm(&["--add-opens=java.base/java.lang=ALL-UNNAMED"])
            .run()?;
        run.printed("", 0)?.calls("Threads", PLATFORM)?.sound(150)?;
        let names = |name: &str| {
            let threads = &run.profile.threads;
            threads.iter().filter(|t| *t.name == *name).count()
        };
        for name in ["numbered-#", "same", "impostor", "name x", "erased"] {
            ensure!(names(name) == 1, "{}: {name}", run.name);
        }
    }
    Ok(())
}

/// Expected calls of 100,000 virtual threads, 20,000 of which are alive at once. Each waits for the
/// others, and then in one of four ways.
const VIRTUAL: &str = "
    - > main 1
    - > <clinit> 1
    main > batch 5
    - > lambda$batch$0 100000
    lambda$batch$0 > task 100000
    task > leaf 200000
    task > waits 100000
    waits > leaf 200000
    task > blocks 100000
    blocks > sleeps 25000
    blocks > locks 25000
    blocks > gives 25000
    blocks > takes 25000
    sleeps > leaf 25000
    locks > leaf 25000
    gives > leaf 25000
    takes > leaf 25000
    blocks > leaf 100000
    blocks > Enough.<init> 100000
";

fn virtual_threads(feature: u32) -> Result<()> {
    for timing in TIMINGS {
        let run = Program::new(feature, "VirtualThreads")
            .options(&format!("timing={timing}"))
            .run()?;
        run.printed("", 0)?
            .calls("VirtualThreads", VIRTUAL)?
            .sound(100_000)?;
    }
    // The CPU time of a virtual thread would be that of its carrier, so it is not measured.
    let run = Program::new(feature, "VirtualThreads")
        .options("timing=exact,clock=cpu")
        .run()?;
    let run = run.printed("", 0)?.calls("VirtualThreads", VIRTUAL)?;
    // Virtual threads are kept apart from platform threads of the same name, which have CPU times.
    for thread in &run.profile.threads {
        let timed = thread.nodes.iter().any(|node| node.timed > 0);
        let is_virtual = thread.name.ends_with("(virtual)");
        ensure!(timed != is_virtual, "{}", thread.name);
    }
    let note = "virtual threads have no CPU clock, so their calls are counted but not timed";
    ensure!(
        run.profile.header.notes == [note],
        "{:?}",
        run.profile.header.notes
    );
    Ok(())
}
