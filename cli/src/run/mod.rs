//! `loadhook run`: runs a program under the agent, and shows its profile at the
//! end.

mod args;
mod hprof;
mod java_options;
mod launch;
mod manifest;
mod outcome;
mod overwritten;
mod target;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

pub(crate) use self::args::RunArgs;
pub(crate) use self::java_options::OPTIONS_WITH_VALUE;
use self::launch::{Ended, Launch};
use self::manifest::Manifest;
use self::target::Target;
use crate::agent_path::{agent_path, utf8};
use crate::output::{check_writable, is_same, say};
use crate::report;

/// Runs the command. Its exit code is that of `loadhook run`.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    if let Some(options) = &args.hprof {
        return hprof::run(options, &args.command);
    }
    let mut options = args.agent_options()?;
    let agent = agent_path()?;
    let target = Target::new(&args.output, launch::is_java(&args.command))?;
    check_writable(&target.file).context("--output")?;
    for path in target.whole.iter().chain(&args.html) {
        check_writable(path)?;
    }
    for (option, output) in [("-o", Some(&args.output)), ("--html", args.html.as_ref())] {
        if let Some(output) = output {
            overwritten::refuse(option, output, &args.command)?;
        }
    }
    if let Some(html) = &args.html
        && is_same(html, target.whole.as_ref().unwrap_or(&target.file))
    {
        bail!(
            "{}: the profile and the page cannot be the same file; give -o or --html another name",
            html.display()
        );
    }
    args.warn(&options);
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
    outcome::show(args, &noted.agents, target.whole.as_deref());
    outcome::name_others(&noted.trackers);
    Ok(ExitCode::from(status))
}
