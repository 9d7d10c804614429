//! Starting the user's command with the agent in its JVM.

use std::env;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::output::say;

/// The agent's file name.
const AGENT: &str = "libloadhook_agent.so";

/// Options with which a VM stops when an agent is loaded.
const REFUSED: &[&str] = &[
    "-XX:ArchiveClassesAtExit",
    "-XX:AOTMode=create",
    "-XX:AOTMode=record",
    "-XX:AOTCacheOutput",
    "-Xshare:dump",
];

/// The agent's library: beside this program, or in `../lib`.
pub(crate) fn agent_path() -> Result<PathBuf> {
    let program = env::current_exe().context("where is this program?")?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join(AGENT), folder.join("../lib").join(AGENT)];
    match places.iter().find(|place| place.is_file()) {
        Some(found) => Ok(found.canonicalize()?),
        None => bail!(
            "{AGENT} lies neither in {} nor in {}",
            folder.display(),
            folder.join("../lib").display()
        ),
    }
}

/// `loadhook agent-path`.
pub(crate) fn print_agent_path() -> Result<()> {
    writeln!(std::io::stdout(), "{}", agent_path()?.display())?;
    Ok(())
}

/// A command, and what to load into its JVM.
pub(crate) struct Launch<'a> {
    pub(crate) command: &'a [String],
    pub(crate) agent: &'a Path,
    pub(crate) options: &'a str,
}

impl Launch<'_> {
    /// Runs the command to its end: its exit code, or 128 and the signal.
    pub(crate) fn run(&self) -> Result<u8> {
        let Some((program, arguments)) = self.command.split_first() else {
            bail!("no command");
        };
        if let Some(refused) = arguments
            .iter()
            .find(|argument| REFUSED.iter().any(|option| argument.starts_with(option)))
        {
            bail!("{refused}: the JVM takes no agent with this option");
        }
        let option = format!("-agentpath:{}={}", self.agent.display(), self.options);
        let mut command = Command::new(program);
        if is_java(program) {
            command.arg(option).args(arguments);
        } else {
            let mut tool_options = env::var("JAVA_TOOL_OPTIONS").unwrap_or_default();
            if !tool_options.is_empty() {
                tool_options.push(' ');
            }
            tool_options.push_str(&quoted(&option));
            command
                .args(arguments)
                .env("JAVA_TOOL_OPTIONS", tool_options);
            say!(
                "loadhook: {program} is not java: the agent goes by JAVA_TOOL_OPTIONS into every JVM it starts"
            );
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        signals::hand_on(child.id())?;
        let status = child.wait()?;
        let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

/// Whether a command is the Java launcher itself.
fn is_java(program: &str) -> bool {
    Path::new(program)
        .file_name()
        .is_some_and(|name| name == "java")
}

/// `JAVA_TOOL_OPTIONS` is split at blanks outside quotes.
fn quoted(option: &str) -> String {
    match option.contains(char::is_whitespace) {
        true if option.contains('"') => format!("'{option}'"),
        true => format!("\"{option}\""),
        false => option.to_owned(),
    }
}

/// Signals go to the child, and we outlive it to show the table.
mod signals {
    use std::thread;

    use anyhow::{Context, Result};
    use rustix::process::{Pid, Signal, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;

    pub(super) fn hand_on(child: u32) -> Result<()> {
        let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]).context("signals")?;
        let child = i32::try_from(child).ok().and_then(Pid::from_raw);
        thread::spawn(move || {
            for signal in &mut signals {
                let handed_on = match signal {
                    SIGTERM => Some(Signal::TERM),
                    SIGHUP => Some(Signal::HUP),
                    // The terminal sends the others to the child too.
                    _ => None,
                };
                if let (Some(child), Some(signal)) = (child, handed_on) {
                    // A child that is gone needs no signal.
                    let _ = kill_process(child, signal);
                }
            }
        });
        Ok(())
    }
}
