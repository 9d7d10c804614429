//! The cost of probes: the time of a program under the agent as a ratio to the plain program.

use std::fs;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::support::{Bench, Variant, corpus, median};

/// Prints the rows that `is_wanted` accepts.
pub(crate) fn run(bench: &Bench, features: &[u32], is_wanted: &dyn Fn(&str) -> bool) -> Result<()> {
    for &feature in features {
        println!("JDK {feature}");
        if is_wanted("tiny") {
            tiny(bench, feature)?;
        }
        if is_wanted("alloc") {
            alloc(bench, feature)?;
        }
        if is_wanted("hello") {
            hello(bench, feature)?;
        }
        if is_wanted("javac") {
            javac(bench, feature)?;
        }
        if is_wanted("sampled") {
            sampled(bench, feature)?;
        }
    }
    if is_wanted("virtual") && features.contains(&25) {
        println!("JDK 25");
        virtual_threads(bench)?;
    }
    Ok(())
}

fn tiny(bench: &Bench, feature: u32) -> Result<()> {
    let mut variants = vec![
        Variant::Plain,
        Variant::Agent("include=Tiny::tiny,all=true,timing=count"),
        Variant::Agent("include=Tiny::tiny,all=true,timing=adaptive"),
        Variant::Agent("include=Tiny::tiny,all=true,timing=exact"),
    ];
    if feature >= 25 {
        variants.push(Variant::Jfr("Tiny::tiny".to_owned()));
    }
    println!(
        "  tiny method: ns per call; two threads: relative to the plain program's own scaling"
    );
    on_two_threads(bench, feature, &variants, "Tiny", |_| "30")
}

fn alloc(bench: &Bench, feature: u32) -> Result<()> {
    let variants = [
        Variant::Plain,
        Variant::Agent("include=Alloc,alloc=exact,timing=none"),
        Variant::Agent("include=Alloc,alloc=exact,alloc-context=true"),
        Variant::Agent("include=Alloc,alloc=exact,timing=adaptive"),
        // Like HPROF's heap=sites, it tags each object and records its stack.
        Variant::Agent("alloc=live=exact,timing=none"),
        Variant::JfrAllocations,
    ];
    println!("  allocations: ns each; two threads: relative to the plain program's own scaling");
    let rounds = |variant: &Variant| match variant {
        // In this mode an operation takes a thousand times as long, so fewer rounds suffice.
        Variant::Agent("alloc=live=exact,timing=none") => "30",
        _ => "3000",
    };
    on_two_threads(bench, feature, &variants, "Alloc", rounds)
}

/// Prints the best times of a program on one thread and on each of two threads.
fn on_two_threads(
    bench: &Bench,
    feature: u32,
    variants: &[Variant],
    main: &str,
    rounds: fn(&Variant) -> &'static str,
) -> Result<()> {
    let mut best = vec![[f64::MAX; 2]; variants.len()];
    for _ in 0..3 {
        for (best, variant) in best.iter_mut().zip(variants) {
            let mut java = bench.java(feature, variant, main)?;
            let found = bench.numbers(java.arg(rounds(variant)))?;
            for (best, found) in best.iter_mut().zip(found) {
                *best = best.min(found);
            }
        }
    }
    let [alone, both] = best[0];
    for ([one, two], variant) in best.iter().zip(variants) {
        println!(
            "  {:<60}{one:>8.2}{:>+8.2}{:>8.2}",
            variant.name(),
            one - alone,
            two / one / (both / alone)
        );
    }
    Ok(())
}

fn hello(bench: &Bench, feature: u32) -> Result<()> {
    let mut variants = vec![
        Variant::Plain,
        Variant::Agent("include=nothing.matches.This,timing=adaptive"),
        Variant::Agent("include=Hello,all=true,timing=adaptive"),
    ];
    if feature >= 25 {
        variants.push(Variant::Jfr("Hello::main".to_owned()));
    }
    let mut millis = vec![Vec::new(); variants.len()];
    for _ in 0..25 {
        for (millis, variant) in millis.iter_mut().zip(&variants) {
            let mut java = bench.java(feature, variant, "Hello")?;
            let start = Instant::now();
            let status = java.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            ensure!(status.success(), "{java:?}: {status}");
            millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    println!("  hello world: ms, start to end");
    print_medians(&variants, &mut millis);
    Ok(())
}

fn javac(bench: &Bench, feature: u32) -> Result<()> {
    let sources = corpus("bcel")?;
    let mut variants = vec![
        Variant::Plain,
        Variant::Agent("include=com.sun.tools.javac.**,timing=count"),
        Variant::Agent("include=com.sun.tools.javac.**,timing=adaptive"),
        Variant::Agent("include=com.sun.tools.javac.**,all=true,timing=count"),
        Variant::Agent("include=com.sun.tools.javac.**,all=true,timing=adaptive"),
    ];
    if feature >= 25 {
        variants.push(Variant::Jfr(javac_classes(feature)?.join(";")));
    }
    let mut millis = vec![Vec::new(); variants.len()];
    for _ in 0..3 {
        for (millis, variant) in millis.iter_mut().zip(&variants) {
            let mut java = bench.java(feature, variant, "Javac")?;
            // One compilation under JFR takes as long as several under Loadhook.
            let compiles = match variant {
                Variant::Jfr(_) => ["2", "1"],
                _ => ["7", "3"],
            };
            java.arg("java.xml").arg(&sources).args(compiles);
            millis.extend(bench.numbers(&mut java)?);
        }
    }
    println!("  javac in steady state: ms per compilation of a part of java.xml");
    print_medians(&variants, &mut millis);
    Ok(())
}

fn sampled(bench: &Bench, feature: u32) -> Result<()> {
    let variants = [
        Variant::Plain,
        Variant::Agent("alloc=sampled,timing=none"),
        Variant::Agent("alloc=live,timing=none"),
        Variant::JfrAllocations,
    ];
    let mut nanos = vec![Vec::new(); variants.len()];
    for _ in 0..7 {
        for (nanos, variant) in nanos.iter_mut().zip(&variants) {
            let mut java = bench.java(feature, variant, "Churn")?;
            nanos.extend(bench.numbers(java.arg("200000"))?);
        }
    }
    println!("  sampled allocations: ns per round of about 2.5 KB");
    print_medians(&variants, &mut nanos);
    Ok(())
}

fn virtual_threads(bench: &Bench) -> Result<()> {
    let variants = [Variant::Plain, Variant::Agent("all=true,timing=adaptive")];
    println!(
        "  virtual threads: bytes each of 100,000 live ones; ns each of 10 million; bytes that the heap grew by meanwhile"
    );
    for variant in &variants {
        let mut java = bench.java(25, variant, "Virtual")?;
        java.args(["100000", "10000000"]);
        let numbers = bench.numbers(&mut java)?;
        println!(
            "  {:<60}{:>8.0}{:>8.0}{:>12.0}",
            variant.name(),
            numbers[0],
            numbers[1],
            numbers[2]
        );
    }
    Ok(())
}

fn print_medians(variants: &[Variant], values: &mut [Vec<f64>]) {
    let medians: Vec<f64> = values.iter_mut().map(|values| median(values)).collect();
    for (median, variant) in medians.iter().zip(variants) {
        println!(
            "  {:<60}{median:>8.1}{:>+8.1}{:>7.2} x",
            variant.name(),
            median - medians[0],
            median / medians[0]
        );
    }
}

/// Returns the names of the classes that `com.sun.tools.javac.**` matches, since JFR has no
/// wildcards.
fn javac_classes(feature: u32) -> Result<Vec<String>> {
    let module = loadhook_testkit::corpus::jdk_classes(feature)?.join("jdk.compiler");
    let mut names = Vec::new();
    for file in loadhook_testkit::corpus::walk(&module.join("com/sun/tools/javac"))? {
        let name = file.strip_prefix(&module)?.with_extension("");
        names.push(name.to_string_lossy().replace('/', "."));
    }
    ensure!(
        !names.is_empty() && fs::exists(&module)?,
        "no class of javac was found in the classes of JDK {feature}"
    );
    Ok(names)
}
