//! `loadhook run`: runs a program under the agent, and shows its profile at the
//! end.

mod args;
mod hprof;
mod java_options;
mod jvmpi;
mod launch;
mod manifest;
mod overwritten;
mod target;

use std::process::ExitCode;

use anyhow::{Context, Result};

pub(crate) use self::args::RunArgs;
pub(crate) use self::java_options::OPTIONS_WITH_VALUE;
use self::launch::{Ended, Launch};
use self::manifest::Manifest;
use self::target::Target;
use crate::agent_path::{agent_path, utf8};
use crate::output::{check_writable, say};
use crate::{recording, report};

/// Runs the command, and returns the command's exit code.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    if let Some(options) = &args.hprof {
        return hprof::run(options, &args.command);
    }
    if let Some(profiler) = &args.jvmpi {
        return jvmpi::run(profiler, args.virtual_threads, &args.command);
    }
    let recording = &args.recording;
    let mut options = recording.complete(recording.choice.agent_options()?)?;
    options.control = args.control;
    let agent = agent_path()?;
    let target = Target::new(&recording.output, launch::is_java(&args.command))?;
    check_writable(&target.file).context("--output")?;
    if let Some(whole) = &target.whole {
        check_writable(whole)?;
    }
    recording.check_page(target.whole.as_ref().unwrap_or(&target.file))?;
    for (option, output) in [
        ("-o", Some(&recording.output)),
        ("--html", recording.html.as_ref()),
    ] {
        if let Some(output) = output {
            overwritten::refuse(option, output, &args.command)?;
        }
    }
    recording.choice.warn(&options);
    let scratch = tempfile::tempdir()
        .context("cannot make a temporary folder (set TMPDIR to a folder with room)")?;
    let manifest = Manifest::create(scratch.path().join("profiles"))?;
    options.file = utf8(&target.file)?.to_owned();
    options.manifest = Some(utf8(&manifest.path)?.to_owned());
    let launch = Launch {
        command: &args.command,
        agent: &agent,
        options: &options.to_string(),
    };
    let status = match launch.run()? {
        Ended::With(status) => status,
        Ended::NotStarted(status) | Ended::Elsewhere(status) => return Ok(ExitCode::from(status)),
    };
    let noted = manifest.read()?;
    if noted.was_removed {
        say!(
            "loadhook: the list of profiles was removed while the program ran; profiles that are not shown here are named {}",
            report::shown(&target.file).replace("%p", "PID")
        );
        if noted.agents.is_empty() {
            return Ok(ExitCode::from(status));
        }
    }
    recording::show(recording, &noted.agents, target.whole.as_deref());
    recording::name_others(&noted.trackers);
    Ok(ExitCode::from(status))
}
