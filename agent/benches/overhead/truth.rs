//! Cost and truth of several ways to time a program.
//!
//! For each operation a row shows two numbers. The *cost* is the operation's time under the profiler divided by its time
//! in the plain program, both after the warm-up. The *truth* is the time of a call that the profile states, divided by
//! the time of a call in the plain program. Both are means over the whole run, since a profile has the warm-up, too.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use loadhook_profile::format::{Format, Options, pprof};

use crate::support::{Bench, Variant, async_profiler, corpus, median};

/// Options for flat counts and samples of all methods of the program.
const SAMPLED: Variant = Variant::Agent("timing=sampled");
/// Options for samples alone; no class is rewritten.
const SAMPLES: Variant = Variant::Agent("timing=sampled,include=none");
/// Options for as many samples as async-profiler takes, by the same clock.
const PRECISE: Variant = Variant::Agent("timing=sampled,include=none,clock-source=perf");
const ADAPTIVE: Variant = Variant::Agent("timing=adaptive,all=true");

/// Prints the rows that `is_wanted` accepts.
pub(crate) fn run(bench: &Bench, features: &[u32], is_wanted: &dyn Fn(&str) -> bool) -> Result<()> {
    for &feature in features {
        println!("JDK {feature}");
        if is_wanted("fib") {
            fib(bench, feature)?;
        }
        if is_wanted("json") {
            let methods = ["parse", "print", "sums"];
            operations(bench, feature, "Json", &methods, &["60"])?;
        }
        if is_wanted("json-other") {
            let methods = ["parse", "print", "sums"];
            operations(bench, feature, "Json", &methods, &["60", "other"])?;
        }
        if is_wanted("shapes") {
            operations(bench, feature, "Shapes", &["step"], &["30"])?;
        }
        if is_wanted("shapes-other") {
            operations(bench, feature, "Shapes", &["step"], &["30", "other"])?;
        }
        if is_wanted("javac") {
            javac(bench, feature)?;
        }
        if is_wanted("hello") {
            hello(bench, feature)?;
        }
        if is_wanted("share") {
            share(bench, feature)?;
        }
        if is_wanted("distance") {
            distance(bench, feature)?;
        }
    }
    Ok(())
}

/// Returns the number of turns of a row.
fn turns(usual: usize) -> usize {
    let wanted = std::env::var("LOADHOOK_BENCH_TURNS");
    wanted
        .ok()
        .and_then(|turns| turns.parse().ok())
        .unwrap_or(usual)
}

/// Adds the other profilers to the variants: JFR's method timing of `traced`, where the JDK has it, and async-profiler.
fn with_peers(variants: &mut Vec<Variant>, feature: u32, traced: Option<&str>) {
    variants.push(Variant::JfrSampling);
    if let Some(traced) = traced.filter(|_| feature >= 25) {
        variants.push(Variant::Jfr(traced.to_owned()));
    }
    if async_profiler().is_some() {
        variants.push(Variant::AsyncProfiler("event=cpu,interval=1ms"));
    }
}

/// `fib`: prints the nanoseconds that a call takes, on one thread and on each of two.
fn fib(bench: &Bench, feature: u32) -> Result<()> {
    let mut variants = vec![
        Variant::Plain,
        SAMPLED,
        ADAPTIVE,
        Variant::Agent("timing=exact,all=true"),
    ];
    with_peers(&mut variants, feature, Some("Fib::fib"));
    if async_profiler().is_some() {
        variants.push(Variant::AsyncProfiler("event=Fib.fib"));
    }
    println!(
        "  fib: ns per call, ns added; two threads: relative to the plain program's own scaling"
    );
    let mut found = vec![[Vec::new(), Vec::new()]; variants.len()];
    for _ in 0..turns(5) {
        for (found, variant) in found.iter_mut().zip(&variants) {
            let mut java = bench.java(feature, variant, "Fib")?;
            // async-profiler's trace of a method takes microseconds a call.
            let is_trace = matches!(variant, Variant::AsyncProfiler("event=Fib.fib"));
            let numbers = bench.numbers(java.arg(if is_trace { "1" } else { "60" }))?;
            for (found, number) in found.iter_mut().zip(numbers) {
                found.push(number);
            }
        }
    }
    let medians: Vec<[f64; 2]> = found
        .iter_mut()
        .map(|of| of.each_mut().map(|values| median(values)))
        .collect();
    let [alone, both] = medians[0];
    for ([one, two], variant) in medians.iter().zip(&variants) {
        println!(
            "  {:<50}{one:>9.2}{:>+9.2}{:>7.2}",
            variant.name(),
            one - alone,
            two / one / (both / alone)
        );
    }
    Ok(())
}

/// Prints cost and truth of each operation of a program. Calls on the main thread cost less than calls on other
/// threads.
fn operations(
    bench: &Bench,
    feature: u32,
    main: &str,
    methods: &[&str],
    arguments: &[&str],
) -> Result<()> {
    let mut variants = vec![Variant::Plain, SAMPLES, SAMPLED, ADAPTIVE];
    let traced = format!("{main}::{}", methods[0]);
    with_peers(&mut variants, feature, Some(&traced));
    println!(
        "  {main} {}: {}: cost and truth",
        arguments.join(" "),
        methods.join(", ")
    );
    let mut costs = vec![vec![Vec::new(); methods.len()]; variants.len()];
    let mut truths = costs.clone();
    for _ in 0..turns(5) {
        let mut plain = Vec::new();
        for (at, variant) in variants.iter().enumerate() {
            let mut java = bench.java(feature, variant, main)?;
            let numbers = bench.numbers(java.args(arguments))?;
            let steady = &numbers[..methods.len()];
            if plain.is_empty() {
                plain.clone_from(&numbers);
            }
            let (plain_steady, plain_over_all) = plain.split_at(methods.len());
            let stated = match variant {
                Variant::Agent(_) => Methods::read(&bench.profile())?,
                _ => Methods::default(),
            };
            for (n, method) in methods.iter().enumerate() {
                costs[at][n].push(steady[n] / plain_steady[n]);
                if let Some(nanos) = stated.mean(main, method) {
                    truths[at][n].push(nanos / plain_over_all[n]);
                }
            }
        }
    }
    for (at, variant) in variants.iter().enumerate() {
        print!("  {:<50}", variant.name());
        for n in 0..methods.len() {
            print!("{:>8.2}", median(&mut costs[at][n]));
            if truths[at][n].is_empty() {
                print!("{:>7}", "-");
            } else {
                print!("{:>7.2}", median(&mut truths[at][n]));
            }
        }
        println!();
    }
    Ok(())
}

/// Prints the cost for javac in its steady state.
fn javac(bench: &Bench, feature: u32) -> Result<()> {
    let sources = corpus("bcel")?;
    let mut variants = vec![
        Variant::Plain,
        SAMPLES,
        Variant::Agent("timing=sampled,include=com.sun.tools.javac.**"),
        Variant::Agent("timing=adaptive,include=com.sun.tools.javac.**"),
    ];
    with_peers(&mut variants, feature, None);
    println!("  javac: ms per compilation, cost");
    let mut millis = vec![Vec::new(); variants.len()];
    for _ in 0..turns(3) {
        for (millis, variant) in millis.iter_mut().zip(&variants) {
            let mut java = bench.java(feature, variant, "Javac")?;
            java.arg("java.xml").arg(&sources).args(["12", "5"]);
            millis.extend(bench.numbers(&mut java)?);
        }
    }
    let medians: Vec<f64> = millis.iter_mut().map(|values| median(values)).collect();
    for (millis, variant) in medians.iter().zip(&variants) {
        println!(
            "  {:<62}{millis:>9.0}{:>7.2}",
            variant.name(),
            millis / medians[0]
        );
    }
    Ok(())
}

/// Prints the milliseconds of hello world from start to end.
fn hello(bench: &Bench, feature: u32) -> Result<()> {
    let mut variants = vec![
        Variant::Plain,
        SAMPLES,
        Variant::Agent("timing=sampled,include=Hello"),
        Variant::Agent("timing=adaptive,include=Hello,all=true"),
    ];
    with_peers(&mut variants, feature, Some("Hello::main"));
    let mut millis = vec![Vec::new(); variants.len()];
    for _ in 0..turns(21) {
        for (millis, variant) in millis.iter_mut().zip(&variants) {
            let mut java = bench.java(feature, variant, "Hello")?;
            let start = Instant::now();
            let status = java.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            ensure!(status.success(), "{java:?}: {status}");
            millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    println!("  hello world: ms, ms added");
    let medians: Vec<f64> = millis.iter_mut().map(|values| median(values)).collect();
    for (millis, variant) in medians.iter().zip(&variants) {
        println!(
            "  {:<50}{millis:>9.1}{:>+9.1}",
            variant.name(),
            millis - medians[0]
        );
    }
    Ok(())
}

/// Prints the processor time of a process that samples itself, as a ratio to the plain process: the
/// median of 20 turns.
fn share(bench: &Bench, feature: u32) -> Result<()> {
    let mut variants = vec![Variant::Plain, SAMPLES];
    if async_profiler().is_some() {
        variants.push(Variant::AsyncProfiler("event=cpu,interval=1ms"));
    }
    println!("  processor time of a whole process: seconds, cost");
    let mut seconds = vec![Vec::new(); variants.len()];
    for _ in 0..turns(20) {
        for (seconds, variant) in seconds.iter_mut().zip(&variants) {
            let mut java = bench.java(feature, variant, "Json")?;
            seconds.push(processor_time(java.arg("15"))?);
        }
    }
    let medians: Vec<f64> = seconds.iter_mut().map(|values| median(values)).collect();
    for (seconds, variant) in medians.iter().zip(&variants) {
        println!(
            "  {:<50}{seconds:>9.2}{:>8.3}",
            variant.name(),
            seconds / medians[0]
        );
    }
    Ok(())
}

/// Runs a command and returns the processor time that its process took, in seconds.
fn processor_time(command: &mut Command) -> Result<f64> {
    let before = children_ticks()?;
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "{command:?}: {status}");
    // The kernel counts in hundredths of a second.
    Ok((children_ticks()? - before) as f64 / 100.0)
}

/// Returns the user and system time of the ended child processes: fields 16 and 17 of `/proc/self/stat`.
fn children_ticks() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name of the process, in brackets, can contain blanks.
    let (_, fields) = stat.rsplit_once(')').context("no name in the stat file")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Ok(fields[13].parse::<u64>()? + fields[14].parse::<u64>()?)
}

/// Prints the distance of our self times from those of async-profiler, and, for comparison, the distance of two runs of
/// async-profiler from each other. The distance is half the sum of the differences between the methods' shares. The 40
/// methods with the largest shares are compared.
fn distance(bench: &Bench, feature: u32) -> Result<()> {
    if async_profiler().is_none() {
        println!("  distance: LOADHOOK_ASYNC_PROFILER is not set");
        return Ok(());
    }
    let sources = corpus("bcel")?;
    let closure = |variant: &Variant| -> Result<Command> {
        let mut java = bench.java(feature, variant, "-jar")?;
        java.arg(corpus("closure-compiler/compiler.jar")?)
            .arg("--js")
            .arg(corpus("jquery/jquery.js")?)
            .args(["--env=CUSTOM", "--js_output_file"])
            .arg(bench.scratch.path().join("small.js"));
        Ok(java)
    };
    let compiler = |variant: &Variant| -> Result<Command> {
        let mut java = bench.java(feature, variant, "Javac")?;
        java.arg("java.xml").arg(&sources).args(["8", "4"]);
        Ok(java)
    };
    println!(
        "  distance from async-profiler's first run, 40 top methods: ours, its own second run"
    );
    type Start<'a> = &'a dyn Fn(&Variant) -> Result<Command>;
    let programs: [(&str, Start<'_>); 2] =
        [("javac", &compiler), ("the Closure compiler", &closure)];
    let peer = Variant::AsyncProfiler("event=cpu,interval=1ms,threads");
    for (name, command) in programs {
        let mut ours = Vec::new();
        let mut its_own = Vec::new();
        for _ in 0..turns(3) {
            let stacks = || -> Result<HashMap<String, f64>> {
                run_quietly(&mut command(&peer)?)?;
                self_times_of_stacks(&fs::read_to_string(bench.stacks())?)
            };
            let first = stacks()?;
            let second = stacks()?;
            run_quietly(&mut command(&PRECISE)?)?;
            let sampled = Methods::read(&bench.profile())?.self_times();
            its_own.push(variation(&first, &second));
            ours.push(variation(&first, &sampled));
        }
        println!(
            "  {name:<50}{:>9.3}{:>9.3}",
            median(&mut ours),
            median(&mut its_own)
        );
    }
    Ok(())
}

fn run_quietly(command: &mut Command) -> Result<()> {
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Returns the numbers of samples by innermost Java method, `package.Class.method`, from lines `outermost;…;innermost
/// count`.
fn self_times_of_stacks(lines: &str) -> Result<HashMap<String, f64>> {
    let mut times = HashMap::new();
    for line in lines.lines() {
        let (stack, count) = line.rsplit_once(' ').context("a line without count")?;
        let innermost = stack.rsplit(';').next().unwrap_or(stack);
        // Names of native code have no dot. The exceptions are some names of the kernel, and names with a version.
        let java = innermost
            .rsplit_once('.')
            .filter(|(class, method)| !class.contains('@') && !method.ends_with("_[k]"));
        if let Some((class, method)) = java {
            let name = format!("{}.{method}", class.replace('/', "."));
            *times.entry(name).or_insert(0.0) += count.parse::<f64>()?;
        }
    }
    Ok(times)
}

/// Returns the total variation distance of two distributions over the 40 top entries of the first distribution.
fn variation(first: &HashMap<String, f64>, second: &HashMap<String, f64>) -> f64 {
    let mut top: Vec<(&String, f64)> = first.iter().map(|(name, time)| (name, *time)).collect();
    top.sort_by(|one, other| other.1.total_cmp(&one.1));
    top.truncate(40);
    let of = |times: &HashMap<String, f64>, name: &String| times.get(name).copied().unwrap_or(0.0);
    let sums =
        [first, second].map(|times| top.iter().map(|(name, _)| of(times, name)).sum::<f64>());
    let differences = top
        .iter()
        .map(|(name, _)| (of(first, name) / sums[0] - of(second, name) / sums[1]).abs());
    differences.sum::<f64>() / 2.0
}

/// The methods of a profile, as its JSON has them.
#[derive(Default)]
struct Methods(Vec<serde_json::Value>);

impl Methods {
    fn read(file: &Path) -> Result<Methods> {
        let profile = pprof::read(&fs::read(file)?)?;
        let mut json = Vec::new();
        Format::Json.write(&profile, &Options::default(), &mut json)?;
        let mut json: serde_json::Value = serde_json::from_slice(&json)?;
        let methods = json["methods"]
            .as_array_mut()
            .context("the JSON has no methods")?;
        Ok(Methods(std::mem::take(methods)))
    }

    /// Returns the mean time of a call in nanoseconds.
    fn mean(&self, class: &str, name: &str) -> Option<f64> {
        let method = self
            .0
            .iter()
            .find(|method| method["class"] == class && method["method"] == name)?;
        let calls = method["calls"].as_f64().filter(|calls| *calls > 0.0)?;
        Some(method["total_ns"].as_f64()? / calls)
    }

    fn self_times(&self) -> HashMap<String, f64> {
        let mut times = HashMap::new();
        for method in &self.0 {
            let (Some(class), Some(name)) = (method["class"].as_str(), method["method"].as_str())
            else {
                continue;
            };
            *times.entry(format!("{class}.{name}")).or_insert(0.0) +=
                method["self_ns"].as_f64().unwrap_or(0.0);
        }
        times
    }
}
