//! `loadhook attach`: loads the agent into a running JVM, and shows the agent's profile after the agent has left.

mod args;
mod room;
mod watch;

use std::process::ExitCode;

use anyhow::{Result, bail};
use loadhook_settings::{AgentOptions, ProbeBudget};

pub(crate) use self::args::{AttachArgs, INCLUDE};
pub(crate) use self::watch::{Ended, Watch};
use crate::agent_path::agent_path;
use crate::jvm::Jvm;
use crate::output::say;
use crate::signals::Noted;
use crate::{recording, signals};

/// Watches a process until its agent has left, and shows the profile.
pub(crate) fn run(mut args: AttachArgs) -> Result<ExitCode> {
    let pid = args.pid;
    args.recording.choice.default_to_samples();
    let options = args.agent_options()?;
    let library = agent_path()?;
    let output = args.output()?;
    let jvm = Jvm::of(pid)?;
    jvm.check_loads_agents()?;
    args.recording.choice.warn(&options);
    // Signals are caught from here on, so that nothing stays behind in /tmp of the process.
    let stop = signals::noted()?;
    let Some(mut watch) = Watch::begin(&jvm, &library, options, room::ATTACH, &stop)? else {
        return Ok(ExitCode::from(stop.code().unwrap_or(1)));
    };
    let ended = watch.until_end(&stop)?;
    match ended {
        Ended::Left => {}
        Ended::WithProcess => say!("loadhook: process {pid} has ended"),
        Ended::Interrupted(code) => {
            say!("loadhook: interrupted; the agent will leave process {pid} by itself");
            return Ok(ExitCode::from(code));
        }
    }
    if !watch.take_profile(&output)? {
        let reason = match ended {
            Ended::WithProcess => "it was killed; --snapshot-every keeps the last snapshot",
            _ => "the agent could not write it",
        };
        bail!("no profile of process {pid}: {reason}");
    }
    recording::show(&args.recording, &[output], None);
    Ok(ExitCode::SUCCESS)
}

/// Runs `work` while an agent is attached that changes no class by itself. The agent takes samples,
/// because only an agent that takes samples may begin without a class to change. If this command is
/// killed, the agent leaves by itself. Returns `None` if a signal comes before the agent is
/// attached. Without a `budget` the agent has its default budget. `command` is the subcommand that is
/// running.
pub(crate) fn during<T>(
    jvm: &Jvm,
    budget: Option<ProbeBudget>,
    command: &str,
    stop: &Noted,
    work: impl FnOnce() -> Result<T>,
) -> Result<Option<T>> {
    let options = AgentOptions {
        include_none: true,
        control: true,
        budget,
        ..AgentOptions::default()
    };
    let library = agent_path()?;
    jvm.check_loads_agents()?;
    // The user has not asked for a profile, so the agent's profile is not read.
    let Some(mut watch) = Watch::begin(jvm, &library, options, command, stop)? else {
        return Ok(None);
    };
    let done = work();
    let left = watch.leave();
    let done = done?;
    if !left? {
        let pid = jvm.pid();
        say!("loadhook: process {pid} does not answer; the agent will leave it by itself");
    }
    Ok(Some(done))
}
