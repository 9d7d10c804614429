//! `loadhook heap PID -o FILE`: dumps the heap of a process, by the JVM's own dumper or by the agent.

mod agent_walk;
mod target;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loadhook_text::{bytes, printable};

use self::agent_walk::AgentWalk;
use self::target::DumpTarget;
use crate::jvm::Jvm;
use crate::output::say;
use crate::signals;

/// Maximum time until a JVM begins to answer. It cannot answer during a garbage collection.
const PATIENCE: Duration = Duration::from_secs(30);

/// The component that makes a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// The JVM's own heap dumper
    Dumper,
    /// The loadhook agent, which is loaded into the process and walks the heap by JVM TI
    Jvmti,
}

/// Arguments for a dump.
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Write to this file: the heap of a process, in HPROF's binary format, or the report on a dump
    /// file. Missing folders are created
    #[arg(short, long, value_name = "FILE", help_heading = "Options")]
    pub(super) output: Option<PathBuf>,

    /// Component that makes the dump (default: dumper)
    #[arg(long, value_enum, value_name = "HOW")]
    via: Option<Via>,

    /// With --via jvmti: maximum memory that the walk may take in the process, for
    /// example 512m or 2g (default: half of the free memory)
    #[arg(long, value_name = "BYTES", value_parser = agent_walk::size)]
    max_memory: Option<u64>,
}

impl DumpArgs {
    /// Returns whether an option is given that applies only to processes.
    pub(super) fn is_of_a_process(&self) -> bool {
        self.via.is_some() || self.max_memory.is_some()
    }
}

/// Dumps the heap of a process. With `all`, unreachable objects are dumped, too.
pub(crate) fn dump(pid: u32, args: &DumpArgs, all: bool) -> Result<ExitCode> {
    let Some(output) = &args.output else {
        bail!(
            "{pid} is a process id. Give -o FILE for the dump. For a file named {pid}, write ./{pid}"
        );
    };
    let by_walk = args.via == Some(Via::Jvmti);
    if by_walk && all {
        bail!(
            "--all does not work with --via jvmti, which finds reachable objects only; leave out one of them"
        );
    }
    if !by_walk && args.max_memory.is_some() {
        bail!(
            "--max-memory limits only the walk of --via jvmti; add --via jvmti, or leave out --max-memory"
        );
    }
    let jvm = Jvm::of(pid)?;
    // Signals are caught from here on, so that an interrupted dump leaves no folder or file behind.
    let signal = signals::noted()?;
    let target = DumpTarget::new(&jvm, output)?;
    let named = || output.display().to_string();
    let walk = by_walk.then(|| AgentWalk::new(&jvm, &target, args.max_memory));
    let mut walk = walk.transpose().with_context(named)?;
    let progress = progress();
    let which = if all { "-all" } else { "-live" };
    let words = match &walk {
        Some(walk) => walk.words().map(OsStr::to_owned),
        None => [
            OsStr::new("dumpheap"),
            target.as_seen.as_os_str(),
            OsStr::new(which),
            OsStr::new(""),
        ]
        .map(OsStr::to_owned),
    };
    let answer = jvm.execute(words.each_ref().map(|word| &**word), PATIENCE, || {
        if let Some(walk) = &mut walk {
            progress.suspend(|| walk.announce(&target));
        }
        progress.set_message(bytes(target.written()));
        progress.tick();
        signal.code().is_none()
    });
    progress.finish_and_clear();
    let answer = answer.with_context(named)?;
    if let Some(code) = signal.code() {
        say!(
            "loadhook: interrupted; the JVM may go on with its dump for a while, but leaves no file"
        );
        return Ok(ExitCode::from(code));
    }
    let size = answer
        .context("the dump was not requested")
        .and_then(|answer| {
            if let Some(walk) = &mut walk {
                walk.check(&target, &answer)?;
            }
            target.put(&answer)
        })
        .with_context(named)?;
    say!(
        "heap dump: {} ({})",
        printable(&crate::report::shown(output)),
        bytes(size)
    );
    Ok(ExitCode::SUCCESS)
}

/// Makes the bar that shows on a terminal how many bytes are written.
fn progress() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "{spinner} {msg} written, {elapsed}";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
    bar
}
