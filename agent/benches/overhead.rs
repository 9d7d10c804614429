//! Overhead of the agent: the time of a program under the agent as a ratio to the plain program. JFR's method timing (JDK
//! 25) is measured in the same run.
//!
//!     scripts/corpora.sh                       # the sources that javac compiles
//!     cargo bench -p loadhook-agent            # all rows
//!     cargo bench -p loadhook-agent -- javac   # tiny, alloc, sampled, javac, hello, virtual: some
//!     cargo bench -p loadhook-agent -- hello 17   # on one JDK
//!
//! The variants of a row run by turns, so that a slow phase of the machine slows down all of them. A row shows the
//! medians over the turns; for `tiny` and `alloc`, it shows the best.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use tempfile::TempDir;

/// The ways of running a program that are compared with the plain program.
#[derive(Clone, Debug)]
enum Variant {
    Plain,
    /// Options of Loadhook's agent.
    Agent(&'static str),
    /// Methods or classes that JFR times.
    Jfr(String),
    /// JFR samples allocations.
    JfrAllocations,
}

impl Variant {
    fn name(&self) -> &str {
        match self {
            Variant::Plain => "plain",
            Variant::Agent("") => "nothing set",
            Variant::Agent(options) => options,
            Variant::Jfr(_) => "JFR method timing",
            Variant::JfrAllocations => "JFR ObjectAllocationSample",
        }
    }
}

fn main() -> Result<()> {
    let (features, rows): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .partition(|arg| arg.parse::<u32>().is_ok());
    let is_among =
        |names: &[String], name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let is_wanted = |row: &str| is_among(&rows, row);
    let bench = Bench::new()?;
    for feature in [17, 25] {
        if !is_among(&features, &feature.to_string()) {
            continue;
        }
        println!("JDK {feature}");
        if is_wanted("tiny") {
            bench.tiny(feature)?;
        }
        if is_wanted("alloc") {
            bench.alloc(feature)?;
        }
        if is_wanted("hello") {
            bench.hello(feature)?;
        }
        if is_wanted("javac") {
            bench.javac(feature)?;
        }
        if is_wanted("sampled") {
            bench.sampled(feature)?;
        }
    }
    if is_wanted("virtual") && is_among(&features, "25") {
        println!("JDK 25");
        bench.virtual_threads()?;
    }
    Ok(())
}

struct Bench {
    agent: PathBuf,
    scratch: TempDir,
}

impl Bench {
    fn new() -> Result<Self> {
        let bench = std::env::current_exe()?;
        let agent = bench.with_file_name("libloadhook_agent.so");
        ensure!(agent.is_file(), "{} was not built", agent.display());
        let scratch = TempDir::new()?;
        let mut javac = Jdk::find(17)?.javac()?;
        javac.args(["--release", "11", "-d"]).arg(scratch.path());
        for name in [
            "Best", "Tiny", "Alloc", "Churn", "Hello", "Javac", "Virtual",
        ] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/java");
            javac.arg(folder.join(format!("{name}.java")));
        }
        process::output(&mut javac)?;
        Ok(Bench { agent, scratch })
    }

    /// A command that runs `main` on a JDK.
    fn java(&self, feature: u32, variant: &Variant, main: &str) -> Result<Command> {
        let mut java = Jdk::find(feature)?.java();
        match variant {
            Variant::Plain | Variant::JfrAllocations => {}
            Variant::Agent(options) => {
                let profile = self.scratch.path().join("profile.pb.gz");
                java.arg(format!(
                    "-agentpath:{}=quiet=true,file={},{options}",
                    self.agent.display(),
                    profile.display()
                ));
            }
            Variant::Jfr(filter) => {
                let file = self.scratch.path().join("recording.jfr");
                java.arg("-Xlog:disable").arg(format!(
                    "-XX:StartFlightRecording:filename={},method-timing={filter}",
                    file.display()
                ));
            }
        }
        if let Variant::JfrAllocations = variant {
            let file = self.scratch.path().join("recording.jfr");
            java.arg("-Xlog:disable").arg(format!(
                "-XX:StartFlightRecording:filename={},settings=none,+jdk.ObjectAllocationSample#enabled=true,+jdk.ObjectAllocationSample#throttle=1000/s",
                file.display()
            ));
        }
        java.arg("-cp").arg(self.scratch.path()).arg(main);
        Ok(java)
    }

    /// The numbers that a program prints after `RESULT`.
    fn numbers(&self, command: &mut Command) -> Result<Vec<f64>> {
        let output = process::output(command)?;
        let line = output.lines().find_map(|line| line.strip_prefix("RESULT "));
        let numbers = line.with_context(|| format!("no result: {output}"))?;
        numbers
            .split_whitespace()
            .map(|number| Ok(number.parse()?))
            .collect()
    }

    fn tiny(&self, feature: u32) -> Result<()> {
        let mut variants = vec![
            Variant::Plain,
            Variant::Agent("include=Tiny::tiny,all=true,timing=count"),
            Variant::Agent("include=Tiny::tiny,all=true,timing=adaptive"),
            Variant::Agent("include=Tiny::tiny,all=true,timing=exact"),
        ];
        if feature >= 25 {
            variants.push(Variant::Jfr("Tiny::tiny".to_owned()));
        }
        println!("  tiny method: ns a call; two threads: of the plain program's own scaling");
        self.on_two_threads(feature, &variants, "Tiny", |_| "30")
    }

    fn alloc(&self, feature: u32) -> Result<()> {
        let variants = [
            Variant::Plain,
            Variant::Agent("include=Alloc,alloc=exact"),
            Variant::Agent("include=Alloc,alloc=exact,alloc-context=true"),
            Variant::Agent("include=Alloc,alloc=exact,timing=adaptive"),
            // Like HPROF's heap=sites, it tags each object and records its stack.
            Variant::Agent("alloc=live=exact"),
            Variant::JfrAllocations,
        ];
        println!("  allocations: ns each; two threads: of the plain program's own scaling");
        let rounds = |variant: &Variant| match variant {
            // One operation takes a thousand times as long.
            Variant::Agent("alloc=live=exact") => "30",
            _ => "3000",
        };
        self.on_two_threads(feature, &variants, "Alloc", rounds)
    }

    /// The best times of a program on one thread and on each of two threads.
    fn on_two_threads(
        &self,
        feature: u32,
        variants: &[Variant],
        main: &str,
        rounds: fn(&Variant) -> &'static str,
    ) -> Result<()> {
        let mut best = vec![[f64::MAX; 2]; variants.len()];
        for _ in 0..3 {
            for (best, variant) in best.iter_mut().zip(variants) {
                let mut java = self.java(feature, variant, main)?;
                let found = self.numbers(java.arg(rounds(variant)))?;
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

    fn hello(&self, feature: u32) -> Result<()> {
        let mut variants = vec![
            Variant::Plain,
            Variant::Agent("include=nothing.matches.This"),
            Variant::Agent("include=Hello,all=true"),
        ];
        if feature >= 25 {
            variants.push(Variant::Jfr("Hello::main".to_owned()));
        }
        let mut millis = vec![Vec::new(); variants.len()];
        for _ in 0..25 {
            for (millis, variant) in millis.iter_mut().zip(&variants) {
                let mut java = self.java(feature, variant, "Hello")?;
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

    fn javac(&self, feature: u32) -> Result<()> {
        let sources = sources()?;
        let mut variants = vec![
            Variant::Plain,
            Variant::Agent("include=com.sun.tools.javac.**,timing=count"),
            Variant::Agent("include=com.sun.tools.javac.**"),
            Variant::Agent("include=com.sun.tools.javac.**,all=true,timing=count"),
            Variant::Agent("include=com.sun.tools.javac.**,all=true"),
        ];
        if feature >= 25 {
            variants.push(Variant::Jfr(javac_classes(feature)?.join(";")));
        }
        let mut millis = vec![Vec::new(); variants.len()];
        for _ in 0..3 {
            for (millis, variant) in millis.iter_mut().zip(&variants) {
                let mut java = self.java(feature, variant, "Javac")?;
                // One compilation under JFR takes as long as several under Loadhook.
                let compiles = match variant {
                    Variant::Jfr(_) => ["2", "1"],
                    _ => ["7", "3"],
                };
                java.arg("java.xml").arg(&sources).args(compiles);
                millis.extend(self.numbers(&mut java)?);
            }
        }
        println!("  javac in steady state: ms a compile of a part of java.xml");
        print_medians(&variants, &mut millis);
        Ok(())
    }

    fn sampled(&self, feature: u32) -> Result<()> {
        let variants = [
            Variant::Plain,
            Variant::Agent("alloc=sampled"),
            Variant::Agent("alloc=live"),
            Variant::JfrAllocations,
        ];
        let mut nanos = vec![Vec::new(); variants.len()];
        for _ in 0..7 {
            for (nanos, variant) in nanos.iter_mut().zip(&variants) {
                let mut java = self.java(feature, variant, "Churn")?;
                nanos.extend(self.numbers(java.arg("200000"))?);
            }
        }
        println!("  sampled allocations: ns a round of some 2.5 KB");
        print_medians(&variants, &mut nanos);
        Ok(())
    }

    fn virtual_threads(&self) -> Result<()> {
        let variants = [Variant::Plain, Variant::Agent("all=true")];
        println!(
            "  virtual threads: bytes each of 100,000 live ones; ns each of 10 million; bytes that the heap grew by meanwhile"
        );
        for variant in &variants {
            let mut java = self.java(25, variant, "Virtual")?;
            java.args(["100000", "10000000"]);
            let numbers = self.numbers(&mut java)?;
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
}

fn print_medians(variants: &[Variant], values: &mut [Vec<f64>]) {
    let medians: Vec<f64> = values
        .iter_mut()
        .map(|values| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
        .collect();
    for (median, variant) in medians.iter().zip(variants) {
        println!(
            "  {:<60}{median:>8.1}{:>+8.1}{:>7.2} x",
            variant.name(),
            median - medians[0],
            median / medians[0]
        );
    }
}

/// The sources that `scripts/corpora.sh` fetches.
fn sources() -> Result<PathBuf> {
    let target = helpers_target()?;
    let sources = target.join("corpora/bcel");
    ensure!(
        sources.is_dir(),
        "{} is missing: scripts/corpora.sh fetches it",
        sources.display()
    );
    Ok(sources)
}

fn helpers_target() -> Result<PathBuf> {
    let bench = std::env::current_exe()?;
    let target = bench.ancestors().nth(3).context("no target folder")?;
    Ok(target.to_owned())
}

/// The names of the classes that `com.sun.tools.javac.**` matches, since JFR has no wildcards.
fn javac_classes(feature: u32) -> Result<Vec<String>> {
    let module = loadhook_testkit::corpus::jdk_classes(feature)?.join("jdk.compiler");
    let mut names = Vec::new();
    for file in loadhook_testkit::corpus::walk(&module.join("com/sun/tools/javac"))? {
        let name = file.strip_prefix(&module)?.with_extension("");
        names.push(name.to_string_lossy().replace('/', "."));
    }
    ensure!(!names.is_empty() && fs::exists(&module)?, "no javac");
    Ok(names)
}
