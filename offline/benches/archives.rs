//! Measures the seconds that rewriting an archive takes, from file to file.
//!
//!     scripts/corpora.sh
//!     cargo bench -p loadhook-offline [-- ARCHIVE…]
//!
//! The same run also measures a jar transformer on top of ASM (Debian's libasm-java), in a new JVM
//! (cold) and a second time in the same JVM (warm), and the JDK's `jar`, which unpacks and packs
//! again. All of them pack at level 6, and every method gets probes. The measurements alternate;
//! each result is the median of five. The last lines of the output are one `RESULT` line per
//! archive.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use loadhook_offline::{Detail, Offline, Plan, Progress, Tracker};
use loadhook_settings::Filter;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{paths, process};

const TURNS: usize = 5;
const ASM_JAR: &str = "/usr/share/java/asm.jar";

fn main() -> Result<()> {
    let mut archives: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .map(PathBuf::from)
        .collect();
    if archives.is_empty() {
        let corpora = paths::target().join("corpora");
        archives.push(corpora.join("closure-compiler/compiler.jar"));
        archives.push(corpora.join("tomcat/tomcat10-embed-core.jar"));
    }
    let bench = Bench::new()?;
    for archive in archives {
        ensure!(
            archive.is_file(),
            "{} not found: run scripts/corpora.sh",
            archive.display()
        );
        bench.archive(&archive)?;
    }
    Ok(())
}

struct Bench {
    folder: tempfile::TempDir,
    jdk: Jdk,
}

impl Bench {
    fn new() -> Result<Bench> {
        ensure!(
            Path::new(ASM_JAR).is_file(),
            "{ASM_JAR} not found: install libasm-java"
        );
        let folder = tempfile::tempdir()?;
        let jdk = Jdk::find(17)?;
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut javac = jdk.javac()?;
        javac.args(["-cp", ASM_JAR, "-d"]).arg(folder.path()).args([
            here.join("benches/AsmJar.java"),
            here.join("../rewrite/benches/asm/AsmBench.java"),
        ]);
        process::output(&mut javac)?;
        Ok(Bench { folder, jdk })
    }

    fn archive(&self, archive: &Path) -> Result<()> {
        let name = archive
            .file_name()
            .context("the path has no file name")?
            .to_string_lossy();
        let mut seconds = [const { Vec::new() }; 5];
        for _ in 0..TURNS {
            let [cold, warm] = self.asm(archive)?;
            let all = [
                self.ours(archive, 1)?,
                self.ours(archive, 2)?,
                cold,
                warm,
                self.jar(archive)?,
            ];
            for (seconds, one) in seconds.iter_mut().zip(all) {
                seconds.push(one);
            }
        }
        let [one, two, cold, warm, jar] = seconds.map(|mut seconds| {
            seconds.sort_by(f64::total_cmp);
            seconds[TURNS / 2]
        });
        println!(
            "RESULT archive={name} one_core_s={one:.3} two_cores_s={two:.3} asm_cold_s={cold:.3} \
             asm_warm_s={warm:.3} jar_s={jar:.3} asm_cold_ratio={:.2} asm_warm_ratio={:.2} \
             jar_ratio={:.2} two_cores_ratio={:.2}",
            cold / one,
            warm / one,
            jar / one,
            one / two
        );
        Ok(())
    }

    fn ours(&self, archive: &Path, threads: usize) -> Result<f64> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        let mut plan = Plan::new(Filter::new());
        plan.selection.all = true;
        plan.tracker = Tracker::None;
        let progress = Progress::default();
        let out = self.folder.path().join("ours.jar");
        let start = Instant::now();
        pool.install(|| {
            Offline::new(&plan, Detail::default(), &progress).archive_file(
                "in",
                archive,
                Some(&out),
            )
        })?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Runs the transformer on ASM twice in one JVM, and returns the seconds of each run. The start
    /// of the JVM is not part of the time.
    fn asm(&self, archive: &Path) -> Result<[f64; 2]> {
        let mut java = self.jdk.java();
        let out = self.folder.path().join("asm.jar");
        java.arg("-cp")
            .arg(format!("{ASM_JAR}:{}", self.folder.path().display()))
            .arg("AsmJar");
        let output = process::output(java.args([archive, &out, archive, &out]))?;
        let seconds: Vec<f64> = output.lines().map(str::parse).collect::<Result<_, _>>()?;
        seconds
            .try_into()
            .ok()
            .context("the program did not print two numbers")
    }

    fn jar(&self, archive: &Path) -> Result<f64> {
        let unpacked = tempfile::tempdir_in(self.folder.path())?;
        let start = Instant::now();
        let run = |command: &mut Command| process::output(command.current_dir(unpacked.path()));
        run(self.jdk.tool("jar")?.arg("xf").arg(archive))?;
        run(self.jdk.tool("jar")?.args(["cf", "../packed.jar", "."]))?;
        Ok(start.elapsed().as_secs_f64())
    }
}
