//! `loadhook heap`: dumps of the heap, taken and read.

mod diff;
mod dump;
mod duplicates;
mod json;
mod kept;
mod memory;
mod objects;
mod page;
mod path;
mod place;
mod report;
mod source;
mod table;
mod threads;
mod walk;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Error, Result, anyhow, bail};
use clap::Args;
use loadhook_heap::ErrorKind;

use crate::report::word;

/// Arguments of `loadhook heap`.
#[derive(Debug, Args)]
pub(crate) struct HeapArgs {
    /// A heap dump file to show (it may be gzipped), or the id of a process to dump
    #[arg(value_name = "FILE|PID")]
    target: PathBuf,

    #[command(flatten, next_help_heading = "Options for a dump file")]
    report: report::ReportArgs,

    #[command(flatten, next_help_heading = "Options for a process")]
    dump: dump::DumpArgs,
}

/// Runs the command.
pub(crate) fn run(args: &HeapArgs) -> Result<ExitCode> {
    let report = &args.report;
    match process(&args.target)? {
        Some(pid) if report.is_given() => {
            bail!(
                "{pid} is a process id, and these options are for dump files. Dump it first: loadhook heap {pid} -o FILE. For a file named {pid}, write ./{pid}"
            )
        }
        Some(pid) => dump::dump(pid, &args.dump, report.all),
        None if args.dump.is_of_a_process() => bail!(
            "{}: --via and --max-memory are for dumping a process; give a process id instead of a file",
            report::shown(&args.target)
        ),
        None => {
            let output = args.dump.output.as_deref();
            let outcome = report::run(&args.target, report, output);
            outcome.map_err(|error| match is_profile(&args.target, &error) {
                true => anyhow!(
                    "{}: a profile, not a heap dump; to show it: loadhook report {}",
                    report::shown(&args.target),
                    word(&args.target)
                ),
                false => error,
            })?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What is larger, packed as they are, is none.
const LARGEST_PROFILE: u64 = 1 << 28;

/// Whether it could not be read as a dump because it is a profile.
fn is_profile(file: &Path, error: &Error) -> bool {
    let error = error.downcast_ref::<loadhook_heap::Error>();
    error.is_some_and(|error| matches!(error.kind, ErrorKind::NotADump))
        && file
            .metadata()
            .is_ok_and(|file| file.len() <= LARGEST_PROFILE)
        && crate::report::read(file).is_ok()
}

/// What is all digits is a process; `./1234` is a file.
fn process(target: &Path) -> Result<Option<u32>> {
    let text = target
        .to_str()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let process = |text: &str| match text.parse() {
        Ok(process) => Ok(process),
        Err(_) => bail!("{text}: not a process id"),
    };
    text.map(process).transpose()
}
