//! `loadhook heap PID -o FILE`: the virtual machine's own dumper.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::place::Place;
use crate::attach::Jvm;
use crate::output::say;
use crate::signals;

/// Arguments for a dump.
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Where to: of a process its heap, in HPROF's binary format; of a dump
    /// what else is printed
    #[arg(short, long, value_name = "FILE", help_heading = "Options")]
    pub(super) output: Option<PathBuf>,

    /// Dump what no longer is reachable too; without, the virtual machine
    /// collects first
    #[arg(long)]
    pub(super) all: bool,
}

/// Dumps the heap of a process.
pub(crate) fn dump(pid: u32, args: &DumpArgs) -> Result<ExitCode> {
    let Some(output) = &args.output else {
        bail!(
            "{pid} is a process id: where shall its heap go? -o FILE (a file of that name is ./{pid})"
        );
    };
    let jvm = Jvm::of(pid)?;
    // Before there is anything to take away again.
    let signal = signals::noted()?;
    let place = Place::new(&jvm, output)?;
    let progress = progress();
    let which = if args.all { "-all" } else { "-live" };
    let words = [
        OsStr::new("dumpheap"),
        place.as_seen.as_os_str(),
        OsStr::new(which),
        OsStr::new(""),
    ];
    let answer = jvm.order(words, || {
        progress.set_position(place.written());
        progress.tick();
        signal.code().is_none()
    });
    progress.finish_and_clear();
    let answer = answer.with_context(|| output.display().to_string())?;
    if let Some(code) = signal.code() {
        say!(
            "loadhook: given up; the virtual machine may go on with its dump for a while, and nothing of it stays"
        );
        return Ok(ExitCode::from(code));
    }
    let size = answer
        .context("given up")
        .and_then(|answer| place.put(&answer))
        .with_context(|| output.display().to_string())?;
    say!(
        "heap dump: {} ({})",
        crate::report::shown(output),
        HumanBytes(size)
    );
    Ok(ExitCode::SUCCESS)
}

/// On a terminal, how much is written.
fn progress() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "{spinner} {bytes} written, {elapsed}";
    bar.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
    bar
}
