//! Programs with little free heap. They continue, or end, as they do without the agent.

use anyhow::{Context, Result, ensure};

mod support;
use support::{Finished, Program, finish, read};

on_each_jdk!(nearly_full exhausted full_inside dying kept);
on_jdks!(many_virtual_threads: on_21 21, on_25 25);

const EXIT: &str = "-XX:+ExitOnOutOfMemoryError";

/// The number of calls: thirteen on each of the 32,818 paths; one each of `main`, `fill`, `work`
/// and the initialiser; 2,001 of `deep`; and one for each of the 50 threads.
const CALLS: u64 = 13 * 32_818 + 4 + 2001 + 50;

/// Returns the number of calls with a node in the tree, and of calls without a node.
fn counts(run: &Finished) -> (u64, u64) {
    let profile = &run.profile;
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let counted = nodes
        .filter(|node| &*profile.methods[node.method as usize].class != "(tree full)")
        .map(|node| node.calls);
    (counted.sum(), profile.header.overflowed_calls)
}

/// The program holds nine tenths of the heap, and the tree would need the rest. The JVM ends at the first
/// `OutOfMemoryError`, even one that is caught, so the test fails if the agent causes one. Calls without a node are
/// counted.
fn nearly_full(feature: u32) -> Result<()> {
    for gc in ["-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseParallelGC"] {
        let program = Program::new(feature, "Memory")
            .jvm(&["-Xmx48m", EXIT, gc])
            .args(&["nearly"]);
        let plain = program.plain()?;
        ensure!(
            plain.status.success(),
            "the program fails without the agent: {plain:?}"
        );
        let run = program.run()?;
        run.printed("2000\n", 0)?;
        let (counted, overflowed) = counts(&run);
        ensure!(
            counted + overflowed == CALLS && overflowed > 0,
            "{}: {counted} calls with and {overflowed} without a node, {CALLS} expected in all",
            run.name
        );
        let run = program.options("timing=sampled").run()?;
        run.printed("2000\n", 0)?;
        let (counted, overflowed) = (run.profile.calls(), run.profile.header.overflowed_calls);
        ensure!(
            (counted, overflowed) == (CALLS, 0),
            "{}: {counted} calls with and {overflowed} without a node, {CALLS} expected in all",
            run.name
        );
    }
    Ok(())
}

/// Many virtual threads are alive at once, and then the program fills its heap. The paths of all
/// threads would leave too little room.
fn many_virtual_threads(feature: u32) -> Result<()> {
    let program = Program::new(feature, "ManyVirtual")
        .options("timing=count,include=ManyVirtual::waits,include=ManyVirtual::leaf")
        .jvm(&["-Xmx128m", "-XX:+UseSerialGC"])
        .args(&["40000", "18"]);
    let plain = program.plain()?;
    ensure!(
        plain.status.success(),
        "the program fails without the agent: {plain:?}"
    );
    let run = program.run()?;
    let (counted, overflowed) = counts(run.printed("18\n", 0)?);
    ensure!(
        counted + overflowed == 3 * 40_000 && overflowed > 0,
        "{}: 120,000 calls expected, {counted} counted and {overflowed} overflowed",
        run.name
    );
    Ok(())
}

/// If there was too little heap for a snapshot, a message says so.
fn full_inside(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.pb.gz");
    let program = Program::new(feature, "FullInside")
        .jvm(&["-Xmx48m", "--add-opens=java.base/java.lang=ALL-UNNAMED"]);
    let output = finish(&mut program.command(&file)?)?;
    ensure!(
        output.status.success()
            && output.stdout == b"works\n"
            && output.stderr
                == b"loadhook: no profile: the heap is full; give the JVM more heap (-Xmx)\n",
        "JDK {feature}: {output:?}"
    );
    Ok(())
}

/// The heap is full twice. The test does not check whether a profile could be written at the end.
fn exhausted(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (jvm, code) in [(EXIT, 3), ("-XX:-ExitOnOutOfMemoryError", 0)] {
        for gc in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
            let program = Program::new(feature, "Memory")
                .jvm(&["-Xmx48m", jvm, gc])
                .args(&["exhaust"]);
            let plain = program.plain()?;
            ensure!(
                plain.status.code() == Some(code),
                "exit code {code} expected without the agent: {plain:?}"
            );
            let file = folder.path().join("profile.pb.gz");
            let output = finish(&mut program.command(&file)?)?;
            ensure!(
                output.status == plain.status && output.stdout == plain.stdout,
                "JDK {feature} {jvm} {gc}: {plain:?} expected: {output:?}"
            );
        }
    }
    Ok(())
}

/// The program ends with its heap full, so that even the thread that ends the JVM has no room. A
/// profile is most useful in this case. (JDK 11's ZGC, an experiment, keeps tens of megabytes back
/// and reports them as free.)
fn dying(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.pb.gz");
    let mut runs = vec![
        ["-XX:+UseSerialGC", "-Xmx64m", "50000"],
        ["-XX:+UseParallelGC", "-Xmx64m", "50000"],
        ["-XX:+UseG1GC", "-Xmx64m", "50000"],
        ["-XX:+UseG1GC", "-Xmx256m", "300000"],
    ];
    if feature > 11 {
        runs.push(["-XX:+UseZGC", "-Xmx256m", "50000"]);
        // With ZGC, objects of this size share pages of 32 MB.
        runs.push(["-XX:+UseZGC", "-Xmx1g", "300000"]);
    }
    for [collector, heap, first] in runs {
        for options in [
            "timing=count",
            "timing=sampled",
            "alloc=exact",
            "alloc=sampled",
            "alloc=live",
        ] {
            let program = Program::new(feature, "Leaking")
                .options(options)
                .jvm(&[heap, collector])
                .args(&[first]);
            let output = finish(&mut program.command(&file)?)?;
            let what = || format!("JDK {feature}, {collector} {heap}, {options}: {output:?}");
            ensure!(output.status.code() == Some(1), "{}", what());
            let profile = read(&file).with_context(what)?;
            std::fs::remove_file(&file)?;
            let Some(allocations) = &profile.allocations else {
                ensure!(profile.calls() > 500, "{}", what());
                continue;
            };
            // The profile must have nearly all of the heap: all that fits beside the tracker.
            let most = allocations.sites.iter().map(|site| {
                let amount = if allocations.live {
                    site.live
                } else {
                    site.allocated
                };
                (amount.bytes, &site.type_name)
            });
            let most = most.max_by(|a, b| a.0.unwrap_or(0.0).total_cmp(&b.0.unwrap_or(0.0)));
            let (bytes, type_name) = most.with_context(what)?;
            ensure!(
                &**type_name == "byte[]" && bytes.unwrap_or(0.0) > 3e7,
                "{bytes:?} {type_name} {}",
                what()
            );
        }
    }
    Ok(())
}

/// The reserve for the end of the program is a small part of the heap. A small heap has no reserve.
fn kept(feature: u32) -> Result<()> {
    let [serial, z] = ["-XX:+UseSerialGC", "-XX:+UseZGC"];
    let mut runs = vec![
        (serial, "-Xmx16m", "0"),
        (serial, "-Xmx48m", "0"),
        (serial, "-Xmx64m", "1048552"),
        (serial, "-Xmx8g", "4194280"),
    ];
    if feature > 11 {
        runs.extend([
            (z, "-Xmx24m", "0"),
            (z, "-Xmx160m", "0"),
            (z, "-Xmx256m", "4194304"),
        ]);
    }
    for (collector, heap, kept) in runs {
        let program = Program::new(feature, "Reserve")
            .options("alloc=sampled")
            .jvm(&[
                heap,
                collector,
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
            ]);
        program.run()?.printed(&format!("{kept}\n"), 0)?;
    }
    Ok(())
}

/// If threads are sampled, the reserve is made when a gigabyte of the heap is no longer free.
#[test]
fn kept_when_needed() -> Result<()> {
    let runs = [
        ("-Xmx64m", "wait", "1048552\n"),
        ("-Xmx1200m", "fill", "0\n1048552\n"),
    ];
    for (heap, argument, printed) in runs {
        let program = Program::new(17, "Reserve")
            .only_options("timing=sampled,include=none")
            .jvm(&[
                heap,
                "-XX:+UseSerialGC",
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
            ])
            .args(&[argument]);
        program.run()?.printed(printed, 0)?;
    }
    Ok(())
}
