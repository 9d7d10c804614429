//! `loadhook run --jvmpi`: a profiler written for JVMPI, for a command that starts a JVM.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::launch::{Ended, Launch};
use crate::agent_path::{layer_path, utf8};

/// Runs the command with the profiler, which sees virtual threads as threads if `virtual_threads` is true. Returns the
/// exit code of the command.
pub(super) fn run(profiler: &str, virtual_threads: bool, command: &[OsString]) -> Result<ExitCode> {
    let (library, options) = profiler.split_once('=').unwrap_or((profiler, ""));
    // The command may change its folder before it starts a JVM.
    let library = Path::new(library)
        .canonicalize()
        .with_context(|| format!("--jvmpi {library}: give the path of the profiler's library"))?;
    let library = utf8(&library)?;
    if library.contains(',') {
        bail!("{library}: the path must not contain a comma; rename the file or its folder");
    }
    let shown = if virtual_threads {
        "virtual=threads,"
    } else {
        ""
    };
    let launch = Launch {
        command,
        agent: &layer_path()?,
        options: &format!("lib={library},{shown}opts={options}"),
    };
    let status = match launch.run()? {
        Ended::With(status) | Ended::NotStarted(status) | Ended::Elsewhere(status) => status,
    };
    Ok(ExitCode::from(status))
}
