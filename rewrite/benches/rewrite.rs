//! Measures the rewriter: megabytes of class files per second, in one thread, with everything in
//! memory.
//!
//!     cargo bench -p loadhook-rewrite -- [DIRECTORY]
//!
//! Without DIRECTORY, the classes are in the directory that `LOADHOOK_BENCH_CORPUS` names, or else
//! those of JDK 17's `java.base`. Every method gets entry, exit and `caught` probes and a catch-any
//! handler. Further passes insert a probe that only counts calls. In the same run, ASM (Debian's
//! libasm-java) on JDK 17 inserts entry, exit and `caught` probes into the same methods. The output of the last
//! pass of both is verified. The last line is `RESULT rewrite_entry_exit_handler_median_mb_s=… …`.
//! A megabyte is 1,000,000 bytes of input.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use loadhook_rewrite::{ClassFile, Everything, Options, Outcome, Rewriter};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{corpus, process, verify};

/// Number of passes. Half of them run before ASM and half after it, so a machine that slows down
/// affects both.
const PASSES: usize = 40;

const ASM_PASSES: &str = "60";

const ASM_JAR: &str = "/usr/share/java/asm.jar";

fn main() -> Result<()> {
    let folder = match std::env::args().nth(1).filter(|arg| arg != "--bench") {
        Some(folder) => PathBuf::from(folder),
        None => match std::env::var_os("LOADHOOK_BENCH_CORPUS") {
            Some(folder) => PathBuf::from(folder),
            None => corpus::jdk_classes(17)?.join("java.base"),
        },
    };
    let paths = corpus::walk(&folder)?;
    let classes: Vec<Vec<u8>> = paths.iter().map(fs::read).collect::<Result<_, _>>()?;
    let bytes: usize = classes.iter().map(Vec::len).sum();
    println!("{} classes, {bytes} bytes", classes.len());

    let mut bench = Bench::new(&classes);
    let (timing, counts) = (Everything::timing(0), Everything::counts(0));
    let first = bench.pass(&classes, &timing)?;
    let (mut times, mut count_times) = (Vec::new(), Vec::new());
    for _ in 0..PASSES {
        count_times.push(bench.pass(&classes, &counts)?);
        times.push(bench.pass(&classes, &timing)?);
    }
    let asm = Asm::run(&folder, &bench.left_alone(&classes)?)?;
    for _ in 0..PASSES {
        count_times.push(bench.pass(&classes, &counts)?);
        times.push(bench.pass(&classes, &timing)?);
    }
    times.sort_by(f64::total_cmp);
    count_times.sort_by(f64::total_cmp);
    let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
    let median = rate(times[times.len() / 2]);

    let ours = tempfile::tempdir()?;
    bench.write_last_pass(&paths, &folder, ours.path())?;
    for (who, tree) in [("ours", ours.path()), ("ASM's", asm.out.path())] {
        let report = verify::verify_tree(tree, &folder)?;
        report.require_clean().with_context(|| who.to_owned())?;
        println!("{who}: {} classes verified", report.verified);
    }
    println!(
        "RESULT rewrite_entry_exit_handler_median_mb_s={median:.0} best_mb_s={:.0} \
         first_pass_s={first:.4} asm_median_mb_s={:.0} ratio={:.2} count_median_mb_s={:.0}",
        rate(times[0]),
        asm.median,
        median / asm.median,
        rate(count_times[count_times.len() / 2])
    );
    Ok(())
}

/// Loadhook's side of the comparison: one rewriter and one output buffer, which all passes use for
/// all classes.
struct Bench {
    rewriter: Rewriter,
    output: Vec<u8>,
    /// The end of each class in `output`; `None` where it is unchanged.
    ends: Vec<Option<usize>>,
}

impl Bench {
    fn new(classes: &[Vec<u8>]) -> Self {
        let bytes: usize = classes.iter().map(Vec::len).sum();
        Bench {
            rewriter: Rewriter::new(Options::default()),
            // The buffer is written once, so that the first pass does not include page faults.
            output: vec![1; 2 * bytes],
            ends: Vec::with_capacity(classes.len()),
        }
    }

    fn pass(&mut self, classes: &[Vec<u8>], probes: &Everything) -> Result<f64> {
        let mut selector = probes.clone();
        self.ends.clear();
        let mut rest = self.output.as_mut_slice();
        let mut end = 0;
        let start = Instant::now();
        for class in classes {
            let outcome = self.rewriter.rewrite(class, &mut selector, |len| {
                let (class, left) = std::mem::take(&mut rest).split_at_mut_checked(len)?;
                rest = left;
                end += len;
                Some(class)
            })?;
            self.ends.push(match outcome {
                Outcome::Rewritten(_) => Some(end),
                Outcome::Unchanged => None,
            });
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Returns the methods that get no probe, as lines `class method descriptor`. ASM must leave
    /// these methods out, too.
    fn left_alone(&mut self, classes: &[Vec<u8>]) -> Result<String> {
        let mut lines = String::new();
        for class in classes {
            self.rewriter
                .rewrite(class, &mut Everything::timing(0), |len| Some(vec![0; len]))?;
            let parsed = ClassFile::parse(class)?;
            for left in &self.rewriter.report().left_alone {
                let member = parsed.methods().nth(left.method.into());
                let member = member.context("no such method")?;
                writeln!(
                    lines,
                    "{} {} {}",
                    String::from_utf8_lossy(parsed.name()),
                    String::from_utf8_lossy(member.name()),
                    String::from_utf8_lossy(member.descriptor())
                )?;
            }
        }
        Ok(lines)
    }

    fn write_last_pass(&self, paths: &[PathBuf], from: &Path, to: &Path) -> Result<()> {
        let mut start = 0;
        for (path, end) in paths.iter().zip(&self.ends) {
            let target = to.join(path.strip_prefix(from)?);
            fs::create_dir_all(target.parent().context("the path has no parent folder")?)?;
            match *end {
                Some(end) => {
                    fs::write(target, &self.output[start..end])?;
                    start = end;
                }
                None => drop(fs::copy(path, target)?),
            }
        }
        Ok(())
    }
}

/// ASM's side of the comparison.
struct Asm {
    median: f64,
    out: tempfile::TempDir,
}

impl Asm {
    fn run(folder: &Path, leave: &str) -> Result<Asm> {
        if !Path::new(ASM_JAR).is_file() {
            bail!("{ASM_JAR} not found: install libasm-java");
        }
        let jdk = Jdk::find(17)?;
        let work = tempfile::tempdir()?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/asm/AsmBench.java");
        let mut javac = jdk.javac()?;
        javac
            .args(["-cp", ASM_JAR, "-d"])
            .arg(work.path())
            .arg(source);
        process::output(&mut javac)?;
        let leave_file = work.path().join("leave");
        fs::write(&leave_file, leave)?;
        let out = tempfile::tempdir()?;
        let mut java = jdk.java();
        java.args(["-XX:+UseSerialGC", "-Xmx4g", "-Xmn2g", "-cp"])
            .arg(format!("{ASM_JAR}:{}", work.path().display()))
            .arg("AsmBench")
            .arg(folder)
            .arg(ASM_PASSES)
            .arg("--out")
            .arg(out.path())
            .arg("--leave")
            .arg(leave_file);
        let output = process::output(&mut java)?;
        let result = output.lines().last().unwrap_or_default();
        println!("{result}");
        let median = result
            .split_whitespace()
            .find_map(|word| word.strip_prefix("asm_median_mb_s="))
            .with_context(|| format!("AsmBench ended with {result}"))?;
        let median: f64 = median.parse()?;
        ensure!(median > 0.0);
        Ok(Asm { median, out })
    }
}
