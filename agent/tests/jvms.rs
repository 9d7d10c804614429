//! Runs one program on JVMs with different collectors, compilers and checks.

use anyhow::{Context, Result, ensure};
use loadhook_profile::{GcPauses, Method};

mod support;
use support::{Program, edges};

on_each_jdk!(settings pauses);
on_jdks!(compiled_methods: on_11 11, on_17 17, on_25 25);

const SETTINGS: &[&[&str]] = &[
    &["-Xcheck:jni", "-XX:+UseSerialGC"],
    &["-Xverify:all", "-XX:+UseParallelGC"],
    &["-Xint", "-XX:+UseG1GC"],
    &["-XX:TieredStopAtLevel=1", "-Xmn2m", "-XX:+UseG1GC"],
    &["-XX:-TieredCompilation", "-Xverify:all", "-Xcheck:jni"],
    &["-Xcomp", "-XX:+UseSerialGC"],
];

/// The JVM prints the same text with and without the agent, including warnings of its checks, and
/// the profile has the same calls.
fn settings(feature: u32) -> Result<()> {
    let zgc: &[&str] = match feature {
        // ZGC is experimental before JDK 15.
        11 => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
        _ => &["-XX:+UseZGC"],
    };
    for &jvm in SETTINGS.iter().chain([&zgc]) {
        let program = Program::new(feature, "RandomCalls")
            .options("include=RandomCalls$Methods*")
            .jvm(jvm)
            .args(&["7", "3", "3000"]);
        let plain = program.plain()?;
        let run = program.run()?;
        ensure!(
            run.output == plain,
            "{}: {plain:?} expected: {:?}",
            run.name,
            run.output
        );
        let printed = String::from_utf8_lossy(&plain.stdout);
        let counted = support::counted(&printed)?;
        run.same_calls(&counted, &edges(&run.profile, "RandomCalls"))?
            .sound(3)?;
    }
    Ok(())
}

/// The profile has the pauses of the garbage collector by their causes.
fn pauses(feature: u32) -> Result<()> {
    let collectors: &[&str] = match feature {
        11 => &["Serial", "G1"],
        17 => &["Parallel", "Z"],
        21 => &["G1", "Z"],
        _ => &["Serial", "Parallel", "G1", "Z"],
    };
    for collector in collectors {
        let choice = format!("-XX:+Use{collector}GC");
        let run = Program::new(feature, "Collected")
            .only_options("gc=true,include=none")
            .jvm(&[&choice, "-Xmx64m"])
            .run()?;
        let pauses = run.profile.gc_pauses.as_deref();
        let pauses = pauses.with_context(|| format!("{}: no pauses", run.name))?;
        let count = |is_it: &dyn Fn(&GcPauses) -> bool| -> u64 {
            let some = pauses.iter().filter(|some| is_it(some));
            some.map(|some| some.pauses).sum()
        };
        let asked = count(&|some| some.cause == "System.gc()");
        let all = count(&|_| true);
        let known = String::from_utf8_lossy(&run.output.stdout)
            .trim()
            .parse::<u64>()?;
        match *collector {
            "Serial" => ensure!((asked, all) == (3, known), "{}: {pauses:?}", run.name),
            // JDK 11 to 21 count a collection by request twice: the young generation, then the whole heap.
            "Parallel" => ensure!(
                asked == 3 && (known == all || known == all + asked),
                "{}: {known} {pauses:?}",
                run.name
            ),
            // Pauses of G1's concurrent cycle are no collections by the count of some JDKs.
            "G1" => ensure!(asked == 3 && all >= known, "{}: {pauses:?}", run.name),
            // A collection of ZGC has at least three pauses.
            _ => ensure!(asked >= 9 && all > asked, "{}: {pauses:?}", run.name),
        }
        ensure!(
            pauses.iter().all(|some| !some.cause.is_empty()
                && !some.collector.is_empty()
                && some.longest_ns > 0
                && some.longest_ns <= some.total_ns),
            "{}: {pauses:?}",
            run.name
        );
    }
    Ok(())
}

/// The profile has the compiled methods, each with the methods that the JIT compiler has inlined into it.
fn compiled_methods(feature: u32) -> Result<()> {
    let run = Program::new(feature, "Inlined")
        .only_options("jit=true,include=none")
        .jvm(&["-XX:-BackgroundCompilation", "-XX:-TieredCompilation"])
        .run()?;
    let code = run.profile.jit.as_ref();
    let code = code.with_context(|| format!("{}: nothing is compiled", run.name))?;
    let methods = &run.profile.methods;
    let named = |name: &str| {
        let is_it = |method: &Method| &*method.class == "Inlined" && &*method.name == name;
        methods.iter().position(is_it).map(|at| at as u32)
    };
    let hot = named("hot").context("hot is not compiled")?;
    let mut compiled = code.methods.iter().filter(|of| of.method == hot);
    let of_hot = compiled.next().context("hot is not compiled")?;
    ensure!(
        of_hot.compilations >= 1 && of_hot.size > 0 && of_hot.code_bytes >= of_hot.size,
        "{}: {of_hot:?}",
        run.name
    );
    let inlined = code.inlined.iter().filter(|of| of.into == hot);
    let inlined: Vec<_> = inlined.map(|of| (Some(of.method), of.depth)).collect();
    let expected = [(named("inner"), 1), (named("innermost"), 2)];
    ensure!(inlined == expected, "{}: {inlined:?}", run.name);
    Ok(())
}
