//! Starts the programs of the benches under the agent, or under another profiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use tempfile::TempDir;

/// A way to run a benchmarked program: without a profiler, or under one.
#[derive(Clone, Debug)]
pub(crate) enum Variant {
    Plain,
    /// Options of Loadhook's agent.
    Agent(&'static str),
    /// Methods or classes that JFR times.
    Jfr(String),
    /// JFR samples allocations.
    JfrAllocations,
    /// JFR samples stacks at its default rate.
    JfrSampling,
    /// Options of async-profiler, whose library the environment variable `LOADHOOK_ASYNC_PROFILER` names.
    AsyncProfiler(&'static str),
}

impl Variant {
    pub(crate) fn name(&self) -> String {
        match self {
            Variant::Plain => "plain".to_owned(),
            Variant::Agent("") => "nothing set".to_owned(),
            Variant::Agent(options) => (*options).to_owned(),
            Variant::Jfr(_) => "JFR method timing".to_owned(),
            Variant::JfrAllocations => "JFR ObjectAllocationSample".to_owned(),
            Variant::JfrSampling => "JFR sampling".to_owned(),
            Variant::AsyncProfiler(options) => format!("async-profiler {options}"),
        }
    }
}

/// Returns the library of async-profiler that is measured beside the agent, if the user names one.
pub(crate) fn async_profiler() -> Option<PathBuf> {
    std::env::var_os("LOADHOOK_ASYNC_PROFILER").map(PathBuf::from)
}

/// The agent and the compiled programs.
pub(crate) struct Bench {
    agent: PathBuf,
    pub(crate) scratch: TempDir,
}

impl Bench {
    /// Compiles the programs of `benches/java`.
    pub(crate) fn new() -> Result<Self> {
        let bench = std::env::current_exe()?;
        let agent = bench.with_file_name("libloadhook_agent.so");
        ensure!(agent.is_file(), "{} was not built", agent.display());
        let scratch = TempDir::new()?;
        let mut javac = Jdk::find(17)?.javac()?;
        javac.args(["--release", "11", "-d"]).arg(scratch.path());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/java");
        for source in std::fs::read_dir(folder)? {
            javac.arg(source?.path());
        }
        process::output(&mut javac)?;
        Ok(Bench { agent, scratch })
    }

    /// Returns the file of the profile that a program under [`Variant::Agent`] writes.
    pub(crate) fn profile(&self) -> PathBuf {
        self.scratch.path().join("profile.pb.gz")
    }

    /// Returns the file of the stacks that a program under [`Variant::AsyncProfiler`] writes.
    pub(crate) fn stacks(&self) -> PathBuf {
        self.scratch.path().join("stacks.collapsed")
    }

    /// Returns a command that runs `main` on a JDK.
    pub(crate) fn java(&self, feature: u32, variant: &Variant, main: &str) -> Result<Command> {
        let mut java = Jdk::find(feature)?.java();
        let recording = self.scratch.path().join("recording.jfr");
        let recording = recording.display();
        match variant {
            Variant::Plain => {}
            Variant::Agent(options) => {
                java.arg(format!(
                    "-agentpath:{}=quiet=true,file={},{options}",
                    self.agent.display(),
                    self.profile().display()
                ));
            }
            Variant::Jfr(filter) => {
                java.arg("-Xlog:disable").arg(format!(
                    "-XX:StartFlightRecording:filename={recording},method-timing={filter}"
                ));
            }
            Variant::JfrAllocations => {
                java.arg("-Xlog:disable").arg(format!(
                    "-XX:StartFlightRecording:filename={recording},settings=none,+jdk.ObjectAllocationSample#enabled=true,+jdk.ObjectAllocationSample#throttle=1000/s"
                ));
            }
            Variant::JfrSampling => {
                java.arg("-Xlog:disable").arg(format!(
                    "-XX:StartFlightRecording:filename={recording},settings=profile"
                ));
            }
            Variant::AsyncProfiler(options) => {
                let library = async_profiler().context("LOADHOOK_ASYNC_PROFILER is not set")?;
                java.arg(format!(
                    "-agentpath:{}=start,{options},collapsed,file={}",
                    library.display(),
                    self.stacks().display()
                ));
            }
        }
        java.arg("-cp").arg(self.scratch.path()).arg(main);
        Ok(java)
    }

    /// Runs a program, and returns the numbers that it prints after `RESULT`.
    pub(crate) fn numbers(&self, command: &mut Command) -> Result<Vec<f64>> {
        let output = process::output(command)?;
        let line = output.lines().find_map(|line| line.strip_prefix("RESULT "));
        let numbers = line.with_context(|| format!("no result: {output}"))?;
        numbers
            .split_whitespace()
            .map(|number| Ok(number.parse()?))
            .collect()
    }
}

/// Sorts some values, and returns their median.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns a file or folder that `scripts/corpora.sh` fetches.
pub(crate) fn corpus(name: &str) -> Result<PathBuf> {
    let bench = std::env::current_exe()?;
    let target = bench
        .ancestors()
        .nth(3)
        .context("the benchmark is in no target folder")?;
    let corpus = target.join("corpora").join(name);
    ensure!(
        corpus.exists(),
        "{} is missing: scripts/corpora.sh fetches it",
        corpus.display()
    );
    Ok(corpus)
}
