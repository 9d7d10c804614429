//! The JDK's own classes, including those loaded before the agent. All are instrumented, and the
//! JDK still works.

use anyhow::{Context, Result, ensure};
use loadhook_profile::Timing;

mod support;
use support::{Program, edges, from_anywhere};

on_each_jdk!(the_whole_jdk some_of_it all_allocations);

const PRINTED: &str = "\
10000
5000
10
40000
n0 n1 n2 n3 n4 n5 n6
1000
[3, 2, 1] 1.50|x
";

/// Calls from the program into the JDK.
const CALLS: [(&str, u64); 6] = [
    ("queue > java.util.ArrayDeque.addLast", 11_000),
    ("constructors > java.util.BitSet.<init>", 10_000),
    (
        "locked > java.util.concurrent.locks.ReentrantLock.lock",
        40_000,
    ),
    (
        "locked > java.util.concurrent.locks.ReentrantLock.unlock",
        40_000,
    ),
    ("lambda$threads$0 > locked", 40_000),
    ("overflows > deeper", 10),
];

fn the_whole_jdk(feature: u32) -> Result<()> {
    for (jvm, options) in [
        ("-Xverify:all", "include=**"),
        ("-Xint", "include=**"),
        ("-XX:TieredStopAtLevel=1", "include=**"),
        ("-Xverify:all", "include=**,timing=sampled"),
        ("-Xint", "include=**,timing=sampled"),
    ] {
        let program = Program::new(feature, "JavaBase")
            .options(options)
            .jvm(&[jvm]);
        let run = program.run()?;
        let stdout = String::from_utf8_lossy(&run.output.stdout);
        ensure!(stdout == PRINTED, "{}: {:?}", run.name, run.output);
        ensure!(
            run.output.status.success(),
            "{}: {:?}",
            run.name,
            run.output
        );
        let found = edges(&run.profile, "JavaBase");
        if run.profile.header.timing == Timing::Sampled {
            // These numbers include the JDK's own calls of its methods.
            for callee in ["locked", "main"] {
                let found = found.get(&from_anywhere(callee)).copied();
                let calls = if callee == "main" { 1 } else { 40_000 };
                ensure!(found == Some(calls), "{}: {callee} {found:?}", run.name);
            }
            continue;
        }
        for (edge, calls) in CALLS {
            // If a stack overflow ends a recursion, its calls are counted at the node of the first
            // call.
            let found = found.get(edge).copied().unwrap_or_default();
            let right = if edge.ends_with("deeper") {
                found >= calls
            } else {
                found == calls
            };
            ensure!(
                right,
                "{}: {edge}: {calls} expected, {found} found",
                run.name
            );
        }
    }
    Ok(())
}

/// All allocations of the JDK are counted, and the program still works. Half of the 10,000 bit sets
/// throw because of their size.
fn all_allocations(feature: u32) -> Result<()> {
    for options in ["", "alloc-context=true", "timing=adaptive"] {
        let program = Program::new(feature, "JavaBase")
            .options(&format!("include=**,alloc=exact,{options}"))
            .jvm(&["-Xcheck:jni"]);
        let run = program.run()?;
        let stdout = String::from_utf8_lossy(&run.output.stdout);
        ensure!(stdout == PRINTED, "{}: {:?}", run.name, run.output);
        let allocations = run
            .profile
            .allocations
            .as_ref()
            .context("the profile has no allocations")?;
        let bit_sets = allocations
            .sites
            .iter()
            .filter(|site| &*site.type_name == "java.util.BitSet");
        let words = allocations.sites.iter().filter(|site| {
            let frame = site.frame.map(|frame| allocations.frames[frame as usize]);
            let method = frame.map(|frame| &run.profile.methods[frame.method as usize]);
            let is_of = |class: &str| method.is_some_and(|method| &*method.class == class);
            &*site.type_name == "long[]" && is_of("java.util.BitSet")
        });
        let objects: f64 = bit_sets.map(|site| site.allocated.objects).sum();
        let words: f64 = words.map(|site| site.allocated.objects).sum();
        ensure!(
            objects >= 10_000.0 && words >= 5_000.0,
            "{}: {objects} {words}",
            run.name
        );
    }
    Ok(())
}

/// Only `java.util` is instrumented: its methods appear in the profile, the program's methods do
/// not.
fn some_of_it(feature: u32) -> Result<()> {
    let options = "include=java.util.*";
    let run = Program::new(feature, "JavaBase").options(options).run()?;
    let stdout = String::from_utf8_lossy(&run.output.stdout);
    ensure!(stdout == PRINTED, "{}: {:?}", run.name, run.output);
    for method in &run.profile.methods {
        let package = method.class.rsplit_once('.').map(|(package, _)| package);
        ensure!(package == Some("java.util"), "{}: {method:?}", run.name);
    }
    let queued: u64 = edges(&run.profile, "JavaBase")
        .iter()
        .filter(|(edge, _)| edge.ends_with("> java.util.BitSet.<init>"))
        .map(|(_, calls)| calls)
        .sum();
    ensure!(
        queued >= 10_000,
        "{}: at least 10,000 bit sets expected, {queued} counted",
        run.name
    );
    Ok(())
}
