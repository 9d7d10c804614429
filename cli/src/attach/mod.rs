//! `loadhook attach`: loads the agent into a running JVM, and shows its profile when it has left.

mod args;
mod room;
mod watch;

use std::process::ExitCode;

use anyhow::{Result, bail};
use loadhook_settings::attach::Refusal;
use loadhook_text::printable;

pub(crate) use self::args::AttachArgs;
use self::room::Room;
use self::watch::{Ended, PATIENCE, Watch};
use crate::agent_path::{AGENT, agent_path};
use crate::jvm::{Answer, Jvm};
use crate::output::say;
use crate::{recording, signals};

/// Watches a process until its agent has left, and shows the profile.
pub(crate) fn run(mut args: AttachArgs) -> Result<ExitCode> {
    let pid = args.pid;
    args.recording.default_to_samples();
    let mut options = args.agent_options()?;
    let library = agent_path()?;
    let output = args.output()?;
    let jvm = Jvm::of(pid)?;
    jvm.check_loads_agents()?;
    args.recording.warn(&options);
    // Signals are caught from here on, so that nothing stays behind in /tmp of the process.
    let stop = signals::noted()?;
    let room = Room::new(&jvm, &library)?;
    room.fill(&mut options)?;
    announce(&jvm);
    let mut watch = Watch::new(&jvm, &room, &output);
    let order = options.to_string();
    let answer = jvm.execute(room.order(&order), PATIENCE, || {
        watch.read();
        // Once the agent watches, the JVM answers soon. So a signal then does not end this wait, but later ends the
        // watching as usual.
        watch.is_attached || stop.code().is_none()
    });
    watch.read();
    // A process that ends as soon as the agent watches may not answer any more.
    if !watch.is_attached {
        let Some(answer) = answer? else {
            say!(
                "loadhook: interrupted; if process {pid} loads the agent after this, the agent leaves at once"
            );
            return Ok(ExitCode::from(stop.code().unwrap_or(1)));
        };
        check(&answer, watch.error.as_deref(), pid)?;
    }
    let ended = watch.until_end(&stop)?;
    match ended {
        Ended::Left => {}
        Ended::WithProcess => say!("loadhook: process {pid} has ended"),
        Ended::Interrupted(code) => {
            say!("loadhook: interrupted; the agent will leave process {pid} by itself");
            return Ok(ExitCode::from(code));
        }
    }
    if !watch.take_profile()? {
        let reason = match ended {
            Ended::WithProcess => "it was killed; --snapshot-every keeps the last snapshot",
            _ => "the agent could not write it",
        };
        bail!("no profile of process {pid}: {reason}");
    }
    recording::show(&args.recording, &[output], None);
    Ok(ExitCode::SUCCESS)
}

/// Announces the warning that the JVM prints, from JDK 21 on, when it first loads an agent while it runs.
fn announce(jvm: &Jvm) {
    let data = jvm.performance_data();
    let version = data.and_then(|data| data.text("java.property.java.version"));
    let feature = version.as_deref().and_then(|version| {
        let end = version.find(|char: char| !char.is_ascii_digit());
        version[..end.unwrap_or(version.len())].parse::<u32>().ok()
    });
    if let Some(feature @ 21..) = feature
        && jvm.loaded(AGENT).is_none()
    {
        say!(
            "loadhook: JDK {feature} prints a warning about a dynamically loaded agent on the standard error of process {}",
            jvm.pid()
        );
    }
}

/// Fails if the agent is not loaded, or does not watch.
fn check(answer: &Answer, error: Option<&str>, pid: u32) -> Result<()> {
    let code = match answer.returned() {
        Some(0) => return Ok(()),
        Some(code) => code,
        None => bail!(
            "the JVM of process {pid} does not load the agent: {}",
            printable(&answer.one_line())
        ),
    };
    if Refusal::of(code) == Some(Refusal::Watched) {
        bail!(
            "process {pid} is watched by Loadhook already, by loadhook run or by another loadhook attach; wait until that has ended"
        );
    }
    match error {
        Some(error) => bail!("process {pid} is not watched: {}", printable(error)),
        None => bail!(
            "process {pid} is not watched: the agent cannot begin; the standard error of the process may have the reason"
        ),
    }
}
