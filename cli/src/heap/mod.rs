//! `loadhook heap`: what a heap holds.

mod dump;
mod whole;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

/// Arguments of `loadhook heap`.
#[derive(Debug, Args)]
pub(crate) struct HeapArgs {
    /// The process whose heap to dump
    #[arg(value_name = "PID")]
    target: String,

    #[command(flatten)]
    dump: dump::DumpArgs,
}

/// Runs the command.
pub(crate) fn run(args: &HeapArgs) -> Result<ExitCode> {
    match process(&args.target) {
        Some(pid) => dump::dump(pid, &args.dump),
        None => bail!("{}: not a process id", args.target),
    }
}

/// What is all digits is a process.
fn process(target: &str) -> Option<u32> {
    let is_number = target.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| target.parse().ok()).flatten()
}
