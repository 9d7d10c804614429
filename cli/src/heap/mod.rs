//! `loadhook heap`: dumps the heap of a process, and shows heap dumps.

mod created_dirs;
mod dump;
mod memory;
mod options;
mod render;
mod report;
mod source;
mod views;

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Error, Result, anyhow, bail};
use clap::Args;
use loadhook_heap::ErrorKind;

use self::render::text::shown;
use crate::report::word;

/// Arguments of `loadhook heap`.
#[derive(Debug, Args)]
pub(crate) struct HeapArgs {
    /// A heap dump file to show (it may be gzipped), or the id of a process to dump
    #[arg(value_name = "FILE|PID")]
    target: PathBuf,

    #[command(flatten, next_help_heading = "Options for a dump file")]
    report: options::ReportArgs,

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
            shown(&args.target)
        ),
        None => {
            let output = args.dump.output.as_deref();
            let outcome = report::run(&args.target, report, output);
            outcome.map_err(|error| {
                if !is_no_dump(&error) {
                    return error;
                }
                if !is_profile(&args.target) {
                    return anyhow!("{error:#}; loadhook heap PID -o FILE dumps a running JVM");
                }
                anyhow!(
                    "{}: a profile, not a heap dump; to show it: loadhook report {}",
                    shown(&args.target),
                    word(&args.target)
                )
            })?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Maximum size in bytes of a file that is tried as a profile. Profiles are compressed, so none is
/// as large.
const LARGEST_PROFILE: u64 = 1 << 28;

/// Returns whether a file could not be read because it is no dump.
fn is_no_dump(error: &Error) -> bool {
    let error = error.downcast_ref::<loadhook_heap::Error>();
    error.is_some_and(|error| matches!(error.kind, ErrorKind::NotADump | ErrorKind::Empty))
}

/// Returns whether a file is a profile.
fn is_profile(file: &Path) -> bool {
    let small = |file: Metadata| file.len() <= LARGEST_PROFILE;
    file.metadata().is_ok_and(small) && crate::report::read(file).is_ok()
}

/// Returns the process id, if the target has only digits. `./1234` is a file.
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
